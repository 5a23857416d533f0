// The page already contains the drawing; this script moves and zooms it, and shows the fields of the chosen node.
// Text from the model is inserted only as text (textContent), never as markup.
addEventListener("DOMContentLoaded", () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const graph = document.getElementById("graph"), panel = document.getElementById("panel");
  const whole = graph.getAttribute("viewBox").split(" ").map(Number);
  let box = whole.slice(), held = null, moved = false;

  const show = () => graph.setAttribute("viewBox", box.join(" "));
  const middle = () => [box[0] + box[2] / 2, box[1] + box[3] / 2];

  function zoom(factor, x, y) {
    box = [x - (x - box[0]) * factor, y - (y - box[1]) * factor, box[2] * factor, box[3] * factor];
    show();
  }

  function point(event) {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(graph.getScreenCTM().inverse());
    return [at.x, at.y];
  }

  function make(name, text, parent) {
    const made = document.createElement(name);
    if (text !== null) made.textContent = text;
    parent.append(made);
    return made;
  }

  function steps(title, found, end) {
    if (!found.length) return;
    make("h3", title, panel);
    const list = make("ul", null, panel);
    for (const edge of found) {
      make("button", edge[end] + ": " + edge[2], make("li", null, list)).onclick = () => choose(edge[end]);
    }
  }

  function choose(number) {
    const node = data.nodes[number];
    for (const kind of ["chosen", "near"]) {
      for (const one of document.querySelectorAll("." + kind)) one.classList.remove(kind);
    }
    document.querySelector(`[data-node="${number}"]`).classList.add("chosen");
    for (const one of document.querySelectorAll(`[data-from="${number}"],[data-to="${number}"]`)) {
      one.classList.add("near");
      one.parentNode.append(one);  // above the other edges
    }
    panel.replaceChildren();
    make("h2", "Node " + number + ", depth " + node.depth, panel);
    for (const note of node.notes) make("p", note, panel);
    const table = make("table", null, panel);
    for (const [name, value] of node.fields) {
      const row = make("tr", null, table);
      make("td", name, row);
      make("td", value, row);
    }
    steps("leads to", data.edges.filter(edge => edge[0] === number), 1);
    steps("comes from", data.edges.filter(edge => edge[1] === number), 0);
    panel.scrollTop = 0;
  }

  graph.addEventListener("wheel", event => {
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, ...point(event));
  }, { passive: false });
  graph.addEventListener("pointerdown", event => { held = point(event); moved = false; });
  graph.addEventListener("pointermove", event => {
    if (!held || !event.buttons) { held = null; return; }
    const at = point(event);
    if (Math.hypot(at[0] - held[0], at[1] - held[1]) > 2) moved = true;
    box[0] -= at[0] - held[0];
    box[1] -= at[1] - held[1];
    show();
  });
  graph.addEventListener("pointerup", () => { held = null; });
  document.getElementById("in").onclick = () => zoom(1 / 1.4, ...middle());
  document.getElementById("out").onclick = () => zoom(1.4, ...middle());
  document.getElementById("fit").onclick = () => { box = whole.slice(); show(); };
  for (const one of document.querySelectorAll("[data-node]")) {
    one.addEventListener("click", () => { if (!moved) choose(Number(one.dataset.node)); });
    one.addEventListener("keydown", event => { if (event.key === "Enter") choose(Number(one.dataset.node)); });
  }
});
