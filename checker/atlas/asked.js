// What an address asks for, among the options of a filter. A filter has the values of its setting, numbered; an address has
// its text, or another spelling of it, or one release of several that share an option.
const askedFor = (() => {
  const SAME = { acks: { "-1": "all" }, "": { true: "on", false: "off" } };
  const LONGEST = 40; // characters of a value that no option has

  const plain = (text) => text.trim().toLowerCase().replace(/(?<=\d)\s*[-\u2013]\s*(?=\d)/g, " \u2013 ");
  const numbers = (text) => text.split(".").map(Number);

  function compare(a, b) {
    const place = [...a, ...b].findIndex((_, at) => (a[at] || 0) !== (b[at] || 0));
    return place < 0 ? 0 : (a[place] || 0) - (b[place] || 0);
  }

  // The ranges of releases in the text of an option: "3.3 – 3.5 KRaft; 2.5 – 3.5 ZooKeeper" has two.
  const rangesOf = (text) => plain(text).split(/[;,]/).flatMap((part) => {
    const found = /^\s*(\d[\d.]*)(?: \u2013 (\d[\d.]*))?\s*([a-z]*)$/.exec(part);
    return found ? [{ first: numbers(found[1]), last: numbers(found[2] || found[1]), mode: found[3] }] : [];
  });

  // 3.9.1 is a release of "3.7 – 3.9", and 2.8.2 is one of "2.8.1 – 3.0", not of "2.8".
  function isIn(release, range, starts) {
    if (compare(release, range.first) < 0) return false;
    if (compare(release, range.last) <= 0) return true;
    return compare(release.slice(0, range.last.length), range.last) === 0
      && !starts.some((one) => compare(one, range.last) > 0 && compare(one, release) <= 0);
  }

  // The options that have a release: with its mode if one is asked for, in every mode otherwise.
  function withRelease(text, options) {
    const found = /^(\d+(?:\.\d+)+)\s*([a-z]*)$/.exec(plain(text));
    if (!found) return [];
    const release = numbers(found[1]), mode = found[2];
    const ranges = options.map((option) => rangesOf(option.textContent));
    const starts = ranges.flat().map((one) => one.first);
    const having = (fits) => options.filter((_, at) => ranges[at].some((one) => fits(one.mode) && isIn(release, one, starts)));
    if (!mode) return having(() => true);
    const same = having((one) => one === mode);
    return same.length ? same : having((one) => one === "");
  }

  // Chooses the option of a filter that the text in the address names; without a text, the first option, which filters
  // nothing. A text that no single option names becomes an option, whose mask has a bit for each option that contains the
  // release, or no bit.
  function choose(select, text) {
    for (const one of [...select.options]) if (one.dataset.mask !== undefined) one.remove();
    const [any, ...options] = select.options;
    if (text === null) return (any.selected = true);
    const other = (SAME[select.name] || {})[plain(text)] || SAME[""][plain(text)];
    const same = [...select.options].find((one) => [plain(text), other].includes(plain(one.textContent)));
    if (same) return (same.selected = true);
    const found = select.name === "kafka" ? withRelease(text, options) : [];
    if (found.length === 1) return (found[0].selected = true);
    const added = document.createElement("option");
    added.textContent = text.length > LONGEST ? text.slice(0, LONGEST) + "\u2026" : text;
    added.dataset.mask = found.reduce((mask, one) => mask | (1 << one.value), 0);
    added.value = "asked";
    select.append(added);
    added.selected = true;
  }

  // The values of a filter that are wanted, as bits: all of them, one, or those of an option that was added.
  function mask(select) {
    const [one] = select.selectedOptions;
    if (one.dataset.mask !== undefined) return Number(one.dataset.mask);
    return one.value === "" ? -1 : 1 << one.value;
  }

  return { choose, mask };
})();
