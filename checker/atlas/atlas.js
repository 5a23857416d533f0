// Shows the rows that agree with the filters; the filters are part of the address. Text enters the page only as text.
addEventListener("DOMContentLoaded", () => {
  const atlas = JSON.parse(document.getElementById("atlas").textContent);
  const find = (id) => document.getElementById(id);
  const form = find("filters"), shown = find("shown"), told = find("told"), unknown = find("unknown");
  const selects = atlas.settings.map((name) => form.elements[name]), order = form.elements.order;
  const answers = [...form.querySelectorAll("input")];
  const narrow = matchMedia("(max-width:899px)");
  const table = tableOf(atlas);

  // ---------------------------------------------------------------------------------------------------------- the rows

  // A lower bit is an earlier value: the place of a row by its settings is that of its first values.
  const firsts = atlas.rows.map(([, masks]) => masks.map((mask) => mask & -mask));
  const numbers = atlas.rows.map((_, number) => number);
  const bySettings = [...numbers].sort((a, b) => {
    const place = firsts[a].findIndex((first, at) => first !== firsts[b][at]);
    return place < 0 ? a - b : firsts[a][place] - firsts[b][place];
  });

  // A row is wanted if one of its cases is. Its values alone do not say so: they are those of its cases together, and a
  // min.insync.replicas above the replicas is no case.
  function wantedBy(masks) {
    const cases = atlas.cases.filter((one) => one.every((mask, place) => (mask & masks[place]) !== 0));
    return (values) => cases.some((one) => one.every((mask, place) => (mask & values[place] & masks[place]) !== 0));
  }

  function show() {
    const isWanted = wantedBy(selects.map(askedFor.mask));
    const kinds = new Set(answers.filter((one) => one.checked).map((one) => one.name));
    const found = (order.value ? bySettings : numbers).filter((number) => {
      const [answer, masks] = atlas.rows[number];
      return kinds.has(atlas.answers[answer][0]) && isWanted(masks);
    });
    table.show(found);
    shown.textContent = found.length.toLocaleString("en") + " of " + numbers.length.toLocaleString("en") + " rows";
    for (const one of [...selects, order]) one.classList.toggle("set", one.value !== "");
    tell(found.length);
  }

  // ---------------------------------------------------------------------------------------------- messages to the reader

  const titleOf = (select) => select.parentNode.querySelector("span").textContent;

  function tell(count) {
    const lines = selects.filter((one) => askedFor.mask(one) === 0).map((one) => {
      const offered = [...one.options].slice(1).filter((option) => option.dataset.mask === undefined);
      return titleOf(one) + " " + one.selectedOptions[0].textContent + " is not in this table. It has: "
        + offered.map((option) => option.textContent).join(", ") + ".";
    });
    if (!count) lines.push("No row fits these filters.");
    find("reasons").textContent = lines.join(" ");
    told.hidden = !lines.length;
  }

  // Names in the address that the table does not have make no difference to the rows. A message lists them until the reader
  // chooses something.
  function tellUnknown(names) {
    unknown.hidden = !names.length;
    unknown.textContent = names.length
      ? "Left out, because this table has no such filter: " + names.join(", ") + ". It has: "
        + [...selects, order].map((one) => one.name).join(", ") + ", without."
      : "";
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
    for (const one of selects) askedFor.choose(one, words.get(one.name));
    const sorted = [...order.options].find((one) => one.textContent === words.get("order"));
    order.value = sorted ? sorted.value : "";
    const without = (words.get("without") || "").split(",");
    for (const one of answers) one.checked = !without.includes(one.name);
    if (text === "") for (const [name, value] of Object.entries(atlas.start)) form.elements[name].value = value;
    const known = ["all", "without", "order", ...atlas.settings];
    tellUnknown([...words.keys()].filter((name) => !known.includes(name)));
    show();
  }

  function all() {
    for (const one of selects) askedFor.choose(one, null);
    for (const one of answers) one.checked = true;
    changed();
  }

  function changed() {
    tellUnknown([]);
    show();
    write();
  }

  form.addEventListener("change", changed);
  form.addEventListener("submit", (event) => event.preventDefault());
  find("all").addEventListener("click", all);
  find("clear").addEventListener("click", () => {
    all();
    find("all").focus();
  });
  addEventListener("hashchange", read);

  form.hidden = false;
  const details = form.querySelector("details");
  const fold = () => { details.open = !narrow.matches; };
  narrow.addEventListener("change", fold);
  fold();
  // What stays above the rows: a row that has the focus must not lie under it.
  const head = document.querySelector("thead");
  const stays = new ResizeObserver(() => {
    const style = document.documentElement.style;
    style.setProperty("--bar", form.offsetHeight + "px");
    style.setProperty("--head", head.offsetHeight + "px");
  });
  stays.observe(form);
  stays.observe(head);
  read();
});
