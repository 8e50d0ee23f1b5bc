// Live parts of a page. The server sends which topics changed; the page is then loaded again in the background, and
// every element with `data-live` is replaced by its new version. Without this script the page is complete, but still.

const MIN_PAUSE = 400; // milliseconds between two loads
const status = document.getElementById("live");
let source = null;
let isLoading = false;
let isAgain = false;
let timer = 0;
let last = 0;

/** Return whether a person is using a part: typing in it, or choosing something. */
function isInUse(part) {
  const active = document.activeElement;
  return part.contains(active) && /^(INPUT|TEXTAREA|SELECT)$/.test(active.tagName);
}

/** Keep what a person opened or closed. */
function keepOpen(before, after) {
  for (const old of before.querySelectorAll("details[id]")) {
    const fresh = after.querySelector(`#${CSS.escape(old.id)}`);
    if (fresh && old.dataset.touched) {
      fresh.open = old.open;
      fresh.dataset.touched = "1";
    }
  }
}

/** Give the focus back to the same link or button. */
function keepFocus(part, fresh) {
  const active = document.activeElement;
  if (!part.contains(active) || active === part) return () => {};
  const kind = active.tagName.toLowerCase();
  const position = [...part.querySelectorAll(kind)].indexOf(active);
  return () => fresh.querySelectorAll(kind)[position]?.focus({ preventScroll: true });
}

function replaceParts(page) {
  for (const part of document.querySelectorAll("[data-live][id]")) {
    const fresh = page.getElementById(part.id);
    if (!fresh || isInUse(part)) continue;
    keepOpen(part, fresh);
    if (fresh.innerHTML === part.innerHTML && fresh.className === part.className) continue;
    const focus = keepFocus(part, fresh);
    part.replaceWith(document.adoptNode(fresh));
    focus();
  }
  for (const part of page.querySelectorAll("[data-live][id]")) {
    if (!document.getElementById(part.id)) location.reload(); // a part that was not there before
  }
  document.dispatchEvent(new CustomEvent("remit:updated"));
}

async function load() {
  if (isLoading) {
    isAgain = true;
    return;
  }
  isLoading = true;
  try {
    const response = await fetch(location.href, { credentials: "same-origin", redirect: "error" });
    if (response.ok) {
      replaceParts(new DOMParser().parseFromString(await response.text(), "text/html"));
      show("");
    }
  } catch {
    show("not connected");
  } finally {
    last = Date.now();
    isLoading = false;
    if (isAgain) {
      isAgain = false;
      schedule();
    }
  }
}

function schedule() {
  if (timer) return;
  timer = setTimeout(() => {
    timer = 0;
    load();
  }, Math.max(0, last + MIN_PAUSE - Date.now()));
}

function show(text) {
  if (!status) return;
  status.textContent = text;
  status.hidden = !text;
}

function open() {
  const topics = document.body.dataset.topics;
  if (source || !topics) return;
  source = new EventSource(`/live?topics=${encodeURIComponent(topics)}`);
  source.addEventListener("changed", schedule);
  source.addEventListener("open", () => {
    document.body.dataset.connected = "1";
    show("");
  });
  source.onerror = () => show("not connected");
}

function close() {
  source?.close();
  source = null;
  delete document.body.dataset.connected;
}

// A browser has few connections to one server, so a page that is not visible gives its connection up.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    close();
  } else {
    open();
    schedule();
  }
});
addEventListener("pagehide", close);
document.addEventListener("click", (event) => {
  const summary = event.target instanceof Element && event.target.closest("summary");
  if (summary) summary.parentElement.dataset.touched = "1";
});

/** Open the details that an address leads to. */
function openTarget() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let one = target.querySelector("details") ?? target; one; one = one.parentElement) {
    if (one.tagName === "DETAILS") one.open = true;
  }
  target.scrollIntoView({ block: "center" });
}
addEventListener("hashchange", openTarget);
openTarget();

/** Write the age of each time again. */
function age(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86400)} d ${Math.floor((whole % 86400) / 3600)} h`;
}
setInterval(() => {
  for (const time of document.querySelectorAll("time[data-age]")) {
    const text = `${age((Date.now() - Date.parse(time.dateTime)) / 1000)} ago`;
    if (time.textContent !== text) time.textContent = text;
  }
}, 5000);

if (!document.hidden) open();
