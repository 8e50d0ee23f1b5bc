(() => {
  "use strict";
  const form = document.getElementById("filters");
  if (!form) return;
  const entries = [...document.querySelectorAll("#findings [data-severity]")];
  const pages = [...document.querySelectorAll("#findings details.page")];
  const bands = [...document.querySelectorAll("#findings [data-band]")];
  const shown = document.getElementById("shown");
  const boxes = [...form.querySelectorAll("input[name=severity]")];
  const { agent, flag, q } = form.elements;
  const all = form.querySelector("[data-action=open]");

  const has = (entry, name, wanted) => !wanted || JSON.parse(entry.dataset[name]).includes(wanted);
  const text = (entry) => (entry.words ??= entry.textContent.toLowerCase());

  function apply() {
    const severities = boxes.filter((box) => box.checked).map((box) => box.value);
    const words = q.value.trim().toLowerCase();
    let number = 0;
    for (const entry of entries) {
      const fits =
        (severities.length === 0 || severities.includes(entry.dataset.severity)) &&
        has(entry, "agents", agent.value) &&
        has(entry, "flags", flag.value) &&
        (words === "" || text(entry).includes(words));
      if (entry.hidden === fits) entry.hidden = !fits;
      number += fits ? 1 : 0;
    }
    const left = new Set(entries.filter((entry) => !entry.hidden).map((entry) => entry.dataset.severity));
    for (const band of bands) band.hidden = !left.has(band.dataset.band);
    // Pages are closed until a filter leaves something in them.
    const isFiltered = number !== entries.length;
    for (const page of pages) page.open = isFiltered && page.querySelector("tbody tr:not([hidden])") !== null;
    const [some, all] = [number, entries.length].map((count) => count.toLocaleString("en"));
    shown.textContent = number === entries.length ? `All ${all} shown` : `${some} of ${all} shown`;
  }

  // The address keeps the filters, so that a filtered view can be sent to somebody else.
  function remember() {
    const wanted = new URLSearchParams();
    const severities = boxes.filter((box) => box.checked).map((box) => box.value);
    if (severities.length) wanted.set("severity", severities.join(","));
    if (agent.value) wanted.set("agent", agent.value);
    if (flag.value) wanted.set("flag", flag.value);
    if (q.value.trim()) wanted.set("q", q.value.trim());
    try {
      history.replaceState(null, "", "#" + wanted);
    } catch {
      // Some viewers forbid it; the filters work all the same.
    }
  }

  function recall() {
    const hash = location.hash.slice(1);
    if (!hash.includes("=")) return reveal(hash);
    const wanted = new URLSearchParams(hash);
    const severities = (wanted.get("severity") ?? "").split(",");
    for (const box of boxes) box.checked = severities.includes(box.value);
    agent.value = wanted.get("agent") ?? "";
    flag.value = wanted.get("flag") ?? "";
    if (agent.selectedIndex < 0) agent.selectedIndex = 0;
    if (flag.selectedIndex < 0) flag.selectedIndex = 0;
    q.value = wanted.get("q") ?? "";
    apply();
  }

  function reveal(id) {
    const entry = id && document.getElementById(id);
    const page = entry && entry.closest("details.page");
    if (page) {
      page.open = true;
      entry.hidden = false;
      entry.scrollIntoView();
    }
    const inside = entry && entry.querySelector("details");
    if (inside) {
      inside.open = true;
      entry.hidden = false;
      entry.scrollIntoView();
    }
  }

  const folds = () => [...document.querySelectorAll("details")];
  const cards = () => [...document.querySelectorAll(".card > details")];
  all.addEventListener("click", () => {
    const open = all.getAttribute("aria-pressed") !== "true";
    for (const card of cards()) card.open = open;
    all.setAttribute("aria-pressed", String(open));
    all.textContent = open ? "Close all" : "Open all";
  });

  let before = [];
  addEventListener("beforeprint", () => {
    before = folds().filter((fold) => !fold.open);
    for (const fold of before) fold.open = true;
  });
  addEventListener("afterprint", () => {
    for (const fold of before) fold.open = false;
  });

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => { apply(); remember(); });
  form.addEventListener("reset", () => setTimeout(() => { apply(); remember(); }));
  addEventListener("hashchange", recall);
  form.hidden = false;
  apply();
  recall();
})();
