export function mount(root: HTMLElement | null) {
  if (root === null) {
    throw new Error("no root");
  }
  root.dataset.ready = "yes";
}
