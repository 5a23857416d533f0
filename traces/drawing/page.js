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
