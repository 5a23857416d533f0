// Filters the partitions of a history by name, and goes from one marked row to the next.
addEventListener("DOMContentLoaded", () => {
  const find = (id) => document.getElementById(id);
  const form = find("filters"), name = find("name"), notable = find("notable");
  const partitions = [...document.querySelectorAll("main > details")];

  function show() {
    const wanted = name.value.trim().toLowerCase();
    let shown = 0;
    for (const one of partitions) {
      const fits = one.dataset.name.toLowerCase().includes(wanted) && (!notable.checked || "notable" in one.dataset);
      one.hidden = !fits;
      shown += fits;
    }
    find("shown").textContent = shown.toLocaleString("en") + " of " + partitions.length.toLocaleString("en")
      + (partitions.length === 1 ? " partition" : " partitions");
  }

  // The marked rows of the shown partitions, also of those that are folded: to go to a row unfolds its partition.
  function go(step) {
    const rows = partitions.filter((one) => !one.hidden)
      .flatMap((one) => [...one.querySelectorAll("th[tabindex]")]);
    if (!rows.length) return;
    const at = rows.indexOf(document.activeElement);
    const next = rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : (at + step + rows.length) % rows.length];
    next.closest("details").open = true;
    next.focus();
    next.scrollIntoView({block: "center", inline: "nearest"});
  }

  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target === name) return;
    if (event.key === "/") name.focus();
    else if (event.key === "n") go(1);
    else if (event.key === "p") go(-1);
    else return;
    event.preventDefault();
  });
  form.hidden = false;
  show();
});
