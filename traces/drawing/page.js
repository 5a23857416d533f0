"use strict";
// The page already contains everything that can be shown; this script only chooses what is visible.
// Text of the trace enters the page only as text (textContent), never as markup.
(() => {
  const story = JSON.parse(document.getElementById("story").textContent);
  const last = story.frames.length - 1;
  const find = (id) => document.getElementById(id);
  const slider = find("slider");
  const stage = find("stage-view"), ladder = find("ladder");
  const lanes = [...document.querySelectorAll(".stage-lane")];
  const rows = [...document.querySelectorAll(".moment")];
  let current = -1;

  const make = (name, text, kind) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };

  const stepLink = (step, text) => {
    const link = make("a", text);
    link.href = "#step-" + step;
    return link;
  };

  function showStage(position) {
    story.frames[position].forEach(([name, x], lane) => {
      lanes[lane].setAttribute("href", "#" + name);
      lanes[lane].setAttribute("x", x);
    });
    for (const part of ["label", "events", "changes"]) {
      find("stage-" + part).setAttribute("href", "#" + part + "-" + position);
    }
  }

  function showFates(position) {
    const body = find("fates");
    if (!body) return;
    body.replaceChildren();
    for (const [record, words] of story.fates[position]) {
      const row = body.insertRow();
      row.insertCell().textContent = record;
      const cell = row.insertCell();
      for (const [word, since] of words) {
        const told = make("span", word + " ", story.bad.includes(word) ? "fate bad" : "fate");
        told.append(stepLink(since, "@" + since));
        cell.append(told, " ");
      }
    }
  }

  function showVariables(position) {
    const body = find("variables");
    body.replaceChildren();
    const now = story.values[position], before = position ? story.values[position - 1] : now;
    story.variables.forEach((name, place) => {
      now[place].forEach((value, part) => {
        const row = body.insertRow();
        row.insertCell().textContent = now[place].length > 1 ? name + "[" + story.indices[place][part] + "]" : name;
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

  // Scroll only up and down; the horizontal position stays.
  function bringIntoView(row) {
    const here = ladder.getBoundingClientRect(), there = row.getBoundingClientRect();
    if (there.top < here.top || there.height > here.height) ladder.scrollTop += there.top - here.top;
    else if (there.bottom > here.bottom) ladder.scrollTop += there.bottom - here.bottom;
  }

  function show(position, scroll) {
    position = Math.max(0, Math.min(last, position));
    if (position === current) return;
    if (current >= 0) rows[current].classList.remove("current");
    current = position;
    rows[position].classList.add("current");
    slider.value = position;
    slider.setAttribute("aria-valuetext", "step " + position + ": " + story.steps[position]);
    find("position").textContent = "step " + position + " of " + last;
    find("broken").textContent = story.broken[position].join(", ");
    showStage(position);
    showFates(position);
    showVariables(position);
    if (scroll) bringIntoView(rows[position]);
    document.body.dataset.step = position;
  }

  stage.addEventListener("scroll", () => { ladder.scrollLeft = stage.scrollLeft; });
  ladder.addEventListener("scroll", () => { stage.scrollLeft = ladder.scrollLeft; });
  slider.max = last;
  slider.addEventListener("input", () => show(Number(slider.value), true));
  for (const [id, to] of [["first", () => 0], ["back", () => current - 1], ["next", () => current + 1], ["last", () => last]]) {
    find(id).addEventListener("click", () => show(to(), true));
  }
  rows.forEach((row, position) => row.addEventListener("click", () => show(position, false)));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const to = {
      ArrowRight: current + 1, ArrowDown: current + 1, j: current + 1, ArrowLeft: current - 1, ArrowUp: current - 1,
      k: current - 1, Home: 0, End: last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    show(to, true);
  });
  find("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  const ofAddress = () => { const match = /^#step-(\d+)$/.exec(location.hash); return match ? Number(match[1]) : null; };
  addEventListener("hashchange", () => { const to = ofAddress(); if (to !== null) show(to, true); });
  show(ofAddress() ?? 0, true);
})();
