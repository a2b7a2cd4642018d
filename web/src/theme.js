// Before anything is drawn: the theme and the language that were chosen, so that the page does not flash. Loaded by
// itself, and not bundled; `keepUp` of create-page.ts goes on from here.
try {
  const kept = localStorage.getItem("loom.settings") ?? "";
  const [, theme] = /"theme":"(light|dark)"/.exec(kept) ?? [];
  if (theme !== undefined) document.documentElement.dataset.theme = theme;
  if (kept.includes('"language":"zh"')) document.documentElement.lang = "zh-CN";
} catch {
  // The browser keeps nothing for this page.
}
