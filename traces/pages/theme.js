"use strict";
// Light or dark, as the reader chose on this page or on an earlier one; without a choice, as the system prefers. This script
// runs in the head of a page, so that the page is never seen in the other colours first; those of a kind of page follow it,
// and wait for the body. Where a browser keeps nothing, as
// in a private window, a choice is that of one page.
(() => {
  const KEY = "isrcheck.theme", THEMES = ["light", "dark"];
  const root = document.documentElement;

  function storage(use) {
    try {
      return use(localStorage);
    } catch {
      return null; // refused, or full
    }
  }

  function recall() {
    const kept = storage((all) => all.getItem(KEY));
    if (THEMES.includes(kept)) root.dataset.theme = kept;
  }

  function choose() {
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    const chosen = (root.dataset.theme || system) === "dark" ? "light" : "dark";
    root.dataset.theme = chosen;
    storage((all) => all.setItem(KEY, chosen));
  }

  recall();
  // A page to which the reader goes back may be as it was left, before a choice on another page.
  addEventListener("pageshow", recall);
  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    button.addEventListener("click", choose);
    button.hidden = false;
  });
})();
