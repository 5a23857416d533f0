"use strict";
// Shows the rows that agree with the filters; the filters are part of the address. Text enters the page only as text.
(() => {
  const atlas = JSON.parse(document.getElementById("atlas").textContent);
  const form = document.getElementById("filters"), shown = document.getElementById("shown");
  const body = document.querySelector("tbody");
  const selects = atlas.settings.map((name) => form.elements[name]), order = form.elements.order;
  const answers = [...form.querySelectorAll("input")];
  const narrow = matchMedia("(max-width:899px)");
  const made = new Map();

  // ---------------------------------------------------------------------------------------------------------- the rows

  const make = (name, kind, ...content) => {
    const one = document.createElement(name);
    if (kind) one.className = kind;
    one.append(...content);
    return one;
  };

  function link(text, address, title) {
    const one = make("a", "", text);
    one.href = address;
    if (title) one.title = title;
    return one;
  }

  const links = (numbers) => numbers.flatMap((number) => [" ", link(...atlas.marks[number])]);

  function cell([kind, text, address, marks, remark, beside]) {
    const one = make("td", kind, address ? link(text, address) : text, ...links(marks));
    if (remark || beside.length) one.append(make("small", "", remark, ...links(beside)));
    return one;
  }

  function row(number) {
    const [answer, , texts, cells] = atlas.rows[number], [, label, colour] = atlas.answers[answer];
    const head = make("th", "", label);
    head.scope = "row";
    head.className = colour;
    return make("tr", "", head, ...texts.map((text) => make("td", "s", atlas.texts[text])),
      ...cells.map((one) => cell(atlas.cells[one])));
  }

  // A lower bit is an earlier value: the place of a row by its settings is that of its first values.
  const firsts = atlas.rows.map(([, masks]) => masks.map((mask) => mask & -mask));
  const numbers = atlas.rows.map((_, number) => number);
  const bySettings = [...numbers].sort((a, b) => {
    const place = firsts[a].findIndex((first, at) => first !== firsts[b][at]);
    return place < 0 ? a - b : firsts[a][place] - firsts[b][place];
  });

  function show() {
    const wanted = selects.map((one) => (one.value === "" ? -1 : 1 << one.value));
    const kinds = new Set(answers.filter((one) => one.checked).map((one) => one.name));
    const found = (order.value ? bySettings : numbers).filter((number) => {
      const [answer, masks] = atlas.rows[number];
      return kinds.has(atlas.answers[answer][0]) && masks.every((mask, place) => (mask & wanted[place]) !== 0);
    });
    for (const number of found) if (!made.has(number)) made.set(number, row(number));
    body.replaceChildren(...found.map((number) => made.get(number)));
    shown.textContent = found.length.toLocaleString("en") + " of " + numbers.length.toLocaleString("en") + " rows";
    for (const one of [...selects, order]) one.classList.toggle("set", one.value !== "");
  }

  // ------------------------------------------------------------------------------------------------------- the address

  function write() {
    const words = new URLSearchParams();
    for (const one of [...selects, order]) {
      if (one.value !== "") words.set(one.name, one.selectedOptions[0].textContent);
    }
    const without = answers.filter((one) => !one.checked).map((one) => one.name);
    if (without.length) words.set("without", without.join(","));
    history.replaceState(null, "", "#" + (words.toString() || "all"));
  }

  function read() {
    const text = location.hash.slice(1), words = new URLSearchParams(text);
    for (const one of [...selects, order]) {
      const wanted = words.get(one.name);
      const found = [...one.options].find((option) => option.textContent === wanted);
      one.value = found ? found.value : "";
    }
    const without = (words.get("without") || "").split(",");
    for (const one of answers) one.checked = !without.includes(one.name);
    if (text === "") for (const [name, value] of Object.entries(atlas.start)) form.elements[name].value = value;
    show();
  }

  form.addEventListener("change", () => { show(); write(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("all").addEventListener("click", () => {
    for (const one of selects) one.value = "";
    for (const one of answers) one.checked = true;
    show();
    write();
  });
  addEventListener("hashchange", read);

  form.hidden = false;
  const details = form.querySelector("details");
  const fold = () => { details.open = !narrow.matches; };
  narrow.addEventListener("change", fold);
  fold();
  new ResizeObserver(() => {
    document.documentElement.style.setProperty("--bar", form.offsetHeight + "px");
  }).observe(form);
  read();
})();
