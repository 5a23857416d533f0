"use strict";
// Light or dark, as the reader chose on this page or on an earlier one; without a choice, as the system prefers. This script
// runs in the head of a page, so that the page is never seen in the other colours first; those of a kind of page follow it,
// and wait for the body. Where a browser keeps nothing, as
// in a private window, a choice is that of one page.
(() => {
  const KEY = "isrcheck.theme", THEMES = ["light", "dark"];
  const root = document.documentElement;

  function storage(use) {
    try {
      return use(localStorage);
    } catch {
      return null; // refused, or full
    }
  }

  function recall() {
    const kept = storage((all) => all.getItem(KEY));
    if (THEMES.includes(kept)) root.dataset.theme = kept;
  }

  function choose() {
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    const chosen = (root.dataset.theme || system) === "dark" ? "light" : "dark";
    root.dataset.theme = chosen;
    storage((all) => all.setItem(KEY, chosen));
  }

  recall();
  // A page to which the reader goes back may be as it was left, before a choice on another page.
  addEventListener("pageshow", recall);
  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    button.addEventListener("click", choose);
    button.hidden = false;
  });
})();
// The lanes of a state as cards, and the table of its variables, with what the last step changed. The pages that show
// states share this script. Text enters a page only as text (textContent).
const drawn = (() => {
  const make = (name, kind, ...content) => {
    const made = document.createElement(name);
    if (kind) made.className = kind;
    made.append(...content.map(String));
    return made;
  };
  const mark = (made, isChanged) => { if (isChanged) made.classList.add("changed"); return made; };

  function log(now, before) {
    const made = make("div", "log");
    made.style.setProperty("--offsets", now.cells.length);
    now.cells.forEach((_, offset) => made.append(make("span", "offset", offset)));
    now.cells.forEach(([text, kind, epoch], offset) => {
      const old = before.cells[offset] || ["", "free", null];
      const isGone = !text && old[0] !== "";
      const cell = make("span", "cell " + kind + (epoch === null ? "" : " e" + epoch), isGone ? old[0] : text);
      if (isGone && kind !== "deleted") cell.classList.add("gone");
      made.append(mark(cell, JSON.stringify(old) !== JSON.stringify([text, kind, epoch])));
    });
    const high = now.pointers.find(([name]) => name === "HW");
    if (high) {
      const bar = make("i", "bar");
      bar.style.setProperty("--at", high[1]);
      made.append(bar);
    }
    return made;
  }

  function pointers(now, before) {
    const made = make("div", "pointers"), old = new Map(before.pointers), lines = new Map();
    made.style.setProperty("--offsets", now.cells.length);
    for (const [name, offset] of now.pointers) {
      const line = lines.get(offset) || 0;
      lines.set(offset, line + 1);
      const one = mark(make("span", "pointer", name), old.get(name) !== offset);
      one.style.setProperty("--at", offset);
      one.style.setProperty("--line-number", line);
      made.append(one);
    }
    made.style.height = 17 * Math.max(0, ...lines.values()) + "px";
    return made;
  }

  function list(now, before, kind) {
    const made = make("ul");
    for (const text of now) made.append(mark(make("li", kind, text), !before.includes(text)));
    return made;
  }

  function card(title, now, before) {
    const made = make("div", "lane" + (now.role ? " " + now.role : ""));
    made.append(make("h3", "", title));
    if (now.title) {
      // What a card is to the others, such as that of a stale leader, is its border: another broker's step can change it.
      made.append(mark(make("p", "role", now.title), now.title !== before.title));
    }
    if (now.cells.length) made.append(log(now, before), pointers(now, before));
    if (now.notes.length) made.append(list(now.notes, before.notes, ""));
    if (now.alarms.length) made.append(list(now.alarms, before.alarms, "alarm"));
    return made;
  }

  function variables(body, names, indices, now, before) {
    body.replaceChildren();
    names.forEach((name, place) => {
      now[place].forEach((value, part) => {
        const row = body.insertRow();
        row.insertCell().textContent = now[place].length > 1 ? name + "[" + indices[place][part] + "]" : name;
        const cell = row.insertCell();
        cell.textContent = value;
        if (value !== before[place][part]) {
          row.className = "changed";
          cell.textContent = before[place][part] + " → " + value;
        }
        cell.dataset.value = value;
      });
    });
  }

  return { make, card, variables };
})();
// The page contains everything that can be shown; this script shows the state after a step, and keeps the address.
// Text of the trace enters the page only as text (textContent), never as markup.
addEventListener("DOMContentLoaded", () => {
  const data = document.getElementById("story");
  if (!data) return; // another page of the same folder
  const story = JSON.parse(data.textContent);
  const last = story.frames.length - 1;
  const find = (id) => document.getElementById(id);
  const slider = find("slider"), ladder = find("ladder"), state = find("state"), play = find("play");
  const main = document.querySelector("main");
  const rows = [...document.querySelectorAll(".moment")];
  const narrow = matchMedia("(max-width:999px),(max-height:559px)");
  const PAUSE = 1600; // milliseconds for each step while the steps are played
  let current = -1, timer = 0;

  const { make, card } = drawn;

  // ----------------------------------------------------------------------------------------------- the state of a step

  function showState(position) {
    const title = find("state-title");
    title.replaceChildren(make("span", "number", "Step " + position + ": "), story.words[position]);
    find("lanes").replaceChildren(...story.titles.map((name, lane) => {
      const contents = [position, Math.max(0, position - 1)].map((at) => story.contents[story.frames[at][lane]]);
      return card(name, ...contents);
    }));
    const broken = story.broken[position];
    find("broken").textContent = broken.length ? "✗ false here: " + broken.join(", ") : "";
  }

  // --------------------------------------------------------------------------------------------------------- beside it

  function showFates(position) {
    const body = find("fates");
    if (!body) return;
    body.replaceChildren();
    for (const [record, words] of story.fates[position]) {
      const row = body.insertRow();
      row.insertCell().textContent = record;
      const cell = row.insertCell();
      for (const [word, since] of words) {
        const told = make("span", story.bad.includes(word) ? "fate bad" : "fate", word + " ");
        const link = make("a", "", "@" + since);
        link.href = "#step=" + since;
        told.append(link);
        cell.append(told, " ");
      }
    }
  }

  function showVariables(position) {
    const [now, before] = [position, Math.max(0, position - 1)].map((at) => story.values[at]);
    drawn.variables(find("variables"), story.variables, story.indices, now, before);
  }

  // ------------------------------------------------------------------------------------------------------------- steps

  // In a narrow window the state follows its step, so that both are seen together.
  function place() {
    if (narrow.matches) rows[current].append(state);
    else main.insertBefore(state, main.querySelector("aside"));
  }

  function show(position) {
    position = Math.max(0, Math.min(last, position));
    if (position === current) return;
    const isFirst = current < 0;
    if (!isFirst) {
      rows[current].classList.remove("current");
      rows[current].querySelector(".step").removeAttribute("aria-current");
    }
    current = position;
    rows[position].classList.add("current");
    rows[position].querySelector(".step").setAttribute("aria-current", "step");
    slider.value = position;
    slider.setAttribute("aria-valuetext", "step " + position + ": " + story.words[position]);
    find("position").textContent = "step " + position + " of " + last;
    showState(position);
    showFates(position);
    showVariables(position);
    place();
    document.body.dataset.step = position;
    if (!isFirst || position) rows[position].scrollIntoView({ block: narrow.matches ? "start" : "nearest" });
  }

  // The step is part of the address. A step that somebody chooses is an entry of its own for the way back; those that
  // pass by while the steps are played, a key is held or the slider is dragged, are not.
  function go(position, passes) {
    show(position);
    const address = "#step=" + current;
    if (address === location.hash) return;
    if (passes) history.replaceState(null, "", address);
    else location.hash = address;
  }

  function pause() {
    clearInterval(timer);
    timer = 0;
    play.textContent = "▶ play";
  }

  function toggle() {
    if (timer) return pause();
    if (current === last) go(0, true);
    play.textContent = "⏸ pause";
    timer = setInterval(() => {
      go(current + 1, true);
      if (current === last) pause();
    }, PAUSE);
  }

  slider.max = last;
  slider.addEventListener("input", () => { pause(); go(Number(slider.value), true); });
  for (const [id, to] of [["first", () => 0], ["back", () => current - 1], ["next", () => current + 1], ["last", () => last]]) {
    find(id).addEventListener("click", () => { pause(); go(to()); });
  }
  play.addEventListener("click", toggle);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === " ") {
      if (event.target.closest("button,a,summary")) return;
      event.preventDefault();
      return toggle();
    }
    const to = {
      ArrowRight: current + 1, ArrowDown: current + 1, j: current + 1, ArrowLeft: current - 1, ArrowUp: current - 1,
      k: current - 1, Home: 0, End: last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    pause();
    go(to, event.repeat);
  });
  narrow.addEventListener("change", place);
  const ofAddress = () => { const match = /^#step=(\d+)$/.exec(location.hash); return match ? Number(match[1]) : 0; };
  addEventListener("hashchange", () => show(ofAddress()));
  for (const link of document.querySelectorAll('a[href^="#step="]')) link.addEventListener("click", pause);
  show(ofAddress());
});
