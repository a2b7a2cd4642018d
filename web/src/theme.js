// Applies the stored theme and language before the first paint, so that the page does not flash. Not bundled;
// `followSettings` in create-page-controller.ts takes over later.
try {
  const kept = localStorage.getItem("loom.settings") ?? "";
  const [, theme] = /"theme":"(light|dark)"/.exec(kept) ?? [];
  if (theme !== undefined) document.documentElement.dataset.theme = theme;
  if (kept.includes('"language":"zh"')) document.documentElement.lang = "zh-CN";
} catch {
  // Storage is not available.
}
