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
