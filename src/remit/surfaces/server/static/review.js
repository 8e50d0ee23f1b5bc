// Decide with the keyboard, and keep the lock of the item while its page is open.

const RENEW = 60_000; // milliseconds; the server keeps a lock for five minutes
const item = document.getElementById("item");
const note = document.getElementById("note");
let isLeaving = false;

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const isTyping = event.target instanceof Element && event.target.matches("input, textarea, select");
  if (event.key === "Escape" && isTyping) event.target.blur();
  if (isTyping) return;
  if (event.key === "n" && note) {
    event.preventDefault();
    note.focus();
    return;
  }
  const button = document.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
  if (button && !isLeaving) {
    event.preventDefault();
    button.click();
  }
});

// A decision is sent once, even if a key is pressed twice.
for (const form of document.querySelectorAll("#decide, #undo")) {
  form.addEventListener("submit", (event) => {
    if (isLeaving) event.preventDefault();
    isLeaving = true;
  });
}

function post(action) {
  return fetch(`/review/${item.dataset.item}/${action}`, { method: "POST", credentials: "same-origin", keepalive: true });
}

if (item?.dataset.locked !== undefined) {
  setInterval(async () => {
    if (!document.hidden) {
      const answer = await post("renew").catch(() => null);
      if (answer?.status === 409) location.reload();
    }
  }, RENEW);
  addEventListener("pagehide", () => {
    if (!isLeaving) post("release").catch(() => {});
  });
}
