// The rows of the table, made from the page's data. A window of text holds few of them: the others are made as they come
// near, because a browser takes seconds to lay out some thousand rows. Text enters the page only as text.
const tableOf = (atlas) => {
  const PORTION = 100; // rows that are made together
  const NEAR = "1200px"; // how far below the window the next portion is made
  const body = document.querySelector("tbody");
  const rest = document.getElementById("rest"), count = rest.querySelector("span");
  const made = new Map();
  let wanted = [], shown = 0;

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

  function more(number) {
    const next = wanted.slice(shown, shown + number);
    for (const one of next) if (!made.has(one)) made.set(one, row(one));
    body.append(...next.map((one) => made.get(one)));
    shown += next.length;
    const left = wanted.length - shown;
    rest.hidden = !left;
    count.textContent = left.toLocaleString("en");
    // The observer tells only of changes: observed anew, it tells whether the end is near still.
    near.unobserve(rest);
    if (left) near.observe(rest);
  }

  const near = new IntersectionObserver((all) => { if (all.some((one) => one.isIntersecting)) more(PORTION); },
    { rootMargin: "0px 0px " + NEAR + " 0px" });
  addEventListener("beforeprint", () => more(Infinity));

  return {
    // Shows these rows, by their numbers.
    show(numbers) {
      wanted = numbers;
      shown = 0;
      body.replaceChildren();
      more(PORTION);
    },
  };
};
