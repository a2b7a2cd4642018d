/**
 * Checks that an SVG contains only shapes and text. An SVG image cannot run scripts or load resources, but repeated or
 * filtered content could slow the browser down.
 */
const MAX_CHARACTERS = 300_000;
const MAX_CLIPS = 100;

/** Matches an allowed tag after each `<`. */
const ELEMENTS =
  /^\/?(?:svg|g|defs|title|desc|path|rect|circle|ellipse|line|polyline|polygon|text|tspan|linearGradient|radialGradient|stop|clipPath)[\s/>]/;

export function isPlainSvg(text: string): boolean {
  if (text.length > MAX_CHARACTERS || text.split("clip-path").length > MAX_CLIPS) return false;
  const [before = "", ...tags] = text.split("<");
  return before.trim() === "" && tags.length > 0 && tags.every((tag) => ELEMENTS.test(tag));
}
