// The page of a walk works without this script, but for the picture of the state. Text of the model enters the page
// only as text (textContent), never as markup.
addEventListener("DOMContentLoaded", () => {
  const story = JSON.parse(document.getElementById("story").textContent);
  const find = (id) => document.getElementById(id);
  const { make, card, variables } = drawn;

  if (story.titles) {
    find("state-title").replaceChildren(make("span", "number", "Step " + story.place + ": "), story.words);
    find("lanes").replaceChildren(
      ...story.titles.map((title, lane) => card(title, story.now[lane], story.before[lane])),
    );
    if (story.broken.length) find("broken").textContent = "✗ false here: " + story.broken.join(", ");
    variables(find("variables"), story.variables, story.indices, story.values[1], story.values[0]);
    // In a wide window the walk has a scroll bar of its own; elsewhere it stands last, and the page stays at its top.
    const ladder = find("ladder"), current = ladder.querySelector(".current");
    if (current && ladder.scrollHeight > ladder.clientHeight) {
      ladder.scrollTop = current.offsetTop + current.offsetHeight - ladder.clientHeight;
    }
  }

  const filter = find("filter");
  const options = [...document.querySelectorAll("#options li")].filter((one) => one.querySelector("button"));
  function narrow() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const one of options) {
      const text = one.querySelector("button").textContent.toLowerCase();
      one.hidden = !words.every((word) => text.includes(word));
      shown += !one.hidden;
    }
    find("nothing").hidden = shown > 0;
  }
  if (filter) filter.addEventListener("input", narrow);

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.target === filter) {
      if (event.key === "Escape") { filter.value = ""; narrow(); filter.blur(); }
      return;
    }
    if (event.key === "/" && filter) { event.preventDefault(); filter.focus(); }
    const wanted = { ArrowLeft: "back", ArrowRight: "forward", s: "save" }[event.key];
    if (wanted && !event.repeat) find(wanted).click();
  });
});
