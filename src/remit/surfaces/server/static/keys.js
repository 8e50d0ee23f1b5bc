// The keyboard: j and k move through the rows of a list, Enter opens one, / searches, ? lists the keys, and Ctrl+K opens
// a palette of pages and of the links of this page. A click on the heading of a column sorts the rows of this page.

const KEYS = [
  ["j, k", "next, previous row"],
  ["Enter", "open the row"],
  ["/", "search"],
  ["Ctrl+K", "go to a page, job or plan"],
  ["?", "this list"],
];
const MAX_CHOICES = 12;

const rows = () => [...document.querySelectorAll("main table.rows tbody tr")].filter((row) => row.querySelector("a[href]"));

/** Move the focus to the link of the next or previous row. */
function move(step) {
  const all = rows();
  if (!all.length) return;
  const current = all.findIndex((row) => row.contains(document.activeElement));
  const next = current < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, current + step));
  all[next].querySelector("a[href]").focus();
}

/** Open a dialog with a heading; it is removed when it closes, and the focus returns. */
function openDialog(title, ...content) {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-label", title);
  const heading = document.createElement("h2");
  heading.textContent = title;
  dialog.append(heading, ...content);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

function showKeys() {
  const list = document.createElement("dl");
  list.className = "keys";
  for (const button of document.querySelectorAll("button[data-key]")) {
    KEYS.some(([key]) => key === button.dataset.key) || addKey(list, button.dataset.key, button.firstChild.textContent);
  }
  for (const [key, text] of KEYS) addKey(list, key, text);
  openDialog("Keys", list);
}

function addKey(list, key, text) {
  const term = document.createElement("dt");
  const details = document.createElement("dd");
  term.append(Object.assign(document.createElement("kbd"), { textContent: key }));
  details.textContent = text.trim();
  list.append(term, details);
}

/** Return what the palette offers for some words: numbers, then pages, then links of this page. */
function choices(words) {
  const wanted = words.trim().toLowerCase();
  const number = /^(?:(job|plan)\s*)?#?(\d{1,18})$/.exec(wanted);
  const found = [];
  if (number) {
    for (const [kind, path] of [["job", "jobs"], ["plan", "plans"]]) {
      if (!number[1] || number[1] === kind) found.push({ text: `${kind} ${number[2]}`, address: `/${path}/${number[2]}` });
    }
  }
  const links = document.querySelectorAll(".bar nav a, main a[href^='/']");
  const seen = new Set(found.map((one) => one.address));
  for (const link of links) {
    // The first link of a row is named by the row's first two cells and its last one: number, agent and task.
    const row = link.closest("tr");
    const cells = row?.querySelector("a[href]") === link ? [row.cells[0], row.cells[1], [...row.cells].at(-1)] : [link];
    const text = [...new Set(cells)].map((cell) => cell.innerText).join(" ").replace(/\s+/g, " ").trim();
    const address = link.getAttribute("href");
    if (seen.has(address) || !text.toLowerCase().includes(wanted)) continue;
    seen.add(address);
    found.push({ text: text.slice(0, 120), address });
  }
  if (wanted && !number) found.push({ text: `search the jobs for “${words.trim()}”`, address: `/jobs?q=${encodeURIComponent(words.trim())}` });
  return found.slice(0, MAX_CHOICES);
}

function openPalette() {
  const input = Object.assign(document.createElement("input"), { type: "text", placeholder: "a page, job 12, plan 3, or words" });
  const list = document.createElement("ul");
  for (const [name, value] of [["role", "combobox"], ["aria-label", "Go to"], ["aria-expanded", "true"], ["aria-controls", "choices"], ["autocomplete", "off"]]) {
    input.setAttribute(name, value);
  }
  list.id = "choices";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Choices");
  let chosen = 0;
  let offered = [];
  const show = () => {
    offered = choices(input.value);
    chosen = Math.min(chosen, Math.max(0, offered.length - 1));
    list.replaceChildren(
      ...offered.map((one, position) => {
        const entry = Object.assign(document.createElement("li"), { id: `choice-${position}`, textContent: one.text });
        entry.setAttribute("role", "option");
        entry.setAttribute("aria-selected", String(position === chosen));
        entry.addEventListener("click", () => location.assign(one.address));
        return entry;
      }),
    );
    if (offered.length) input.setAttribute("aria-activedescendant", `choice-${chosen}`);
  };
  input.addEventListener("input", () => {
    chosen = 0;
    show();
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && offered[chosen]) location.assign(offered[chosen].address);
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    chosen = (chosen + (event.key === "ArrowDown" ? 1 : offered.length - 1)) % Math.max(1, offered.length);
    show();
  });
  openDialog("Go to", input, list).className = "palette";
  input.focus();
  show();
}

/** Return what a cell is sorted by: its time, its number, or its text. */
function sortKey(cell) {
  const time = cell?.querySelector("time");
  if (time) return Date.parse(time.dateTime);
  const text = cell?.textContent.trim() ?? "";
  const number = Number.parseFloat(text.replace(/[$,]/g, ""));
  return cell?.classList.contains("num") ? (Number.isNaN(number) ? -Infinity : number) : text.toLowerCase();
}

function sortBy(heading) {
  const table = heading.closest("table");
  const column = [...heading.parentElement.children].indexOf(heading);
  const isDown = heading.getAttribute("aria-sort") === "ascending";
  for (const other of heading.parentElement.children) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", isDown ? "descending" : "ascending");
  const keyed = [...table.tBodies[0].rows].map((row) => [sortKey(row.cells[column]), row]);
  keyed.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0) * (isDown ? -1 : 1));
  table.tBodies[0].append(...keyed.map(([, row]) => row));
}

/** Make a button of each heading of a list that a person may sort. */
function prepare() {
  for (const heading of document.querySelectorAll("table[data-sorts] thead th")) {
    if (heading.querySelector("button") || !heading.textContent.trim()) continue;
    const button = Object.assign(document.createElement("button"), { type: "button", className: "sort" });
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sortBy(heading));
    heading.append(button);
  }
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.repeat) return;
  if ((event.ctrlKey || event.metaKey) && event.key === "k") {
    event.preventDefault();
    if (!document.querySelector("dialog[open]")) openPalette();
    return;
  }
  const isTyping = event.target instanceof Element && event.target.matches("input, textarea, select");
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (isTyping) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const search = document.querySelector("[data-search]");
  const actions = { j: () => move(1), k: () => move(-1), "?": showKeys, "/": () => (search ? search.focus() : openPalette()) };
  if (actions[event.key]) {
    event.preventDefault();
    actions[event.key]();
  }
});
document.getElementById("palette")?.addEventListener("click", openPalette);
document.addEventListener("remit:updated", prepare);
prepare();
