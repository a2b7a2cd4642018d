/**
 * Whether a drawing in SVG is made of shapes and words alone. As an image it can run and load nothing anyway; but what
 * repeats itself, or is filtered or clipped without end, would take the browser's time.
 */
const MAX_CHARACTERS = 300_000;
const MAX_CLIPS = 100;

/** Each `<` begins or ends one of these. */
const ELEMENTS =
  /^\/?(?:svg|g|defs|title|desc|path|rect|circle|ellipse|line|polyline|polygon|text|tspan|linearGradient|radialGradient|stop|clipPath)[\s/>]/;

export function isPlainSvg(text: string): boolean {
  if (text.length > MAX_CHARACTERS || text.split("clip-path").length > MAX_CLIPS) return false;
  const [before = "", ...tags] = text.split("<");
  return before.trim() === "" && tags.length > 0 && tags.every((tag) => ELEMENTS.test(tag));
}
