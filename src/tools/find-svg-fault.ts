/**
 * Checks an SVG drawn by a model. Only listed elements and attributes are allowed, so scripts, styles, links and
 * external references are rejected.
 *
 * Invariant: an SVG without a fault is well-formed XML, and its rendering cost is bounded by its length and MAX_CLIPS.
 * The check reads the text once.
 */

const MAX_CHARACTERS = 200_000;
const MAX_DEPTH = 32;
/** Each clip renders its clip path again. */
const MAX_CLIPS = 100;

const ELEMENTS: ReadonlySet<string> = new Set(
  (
    "svg g defs title desc path rect circle ellipse line polyline polygon text tspan " +
    "linearGradient radialGradient stop clipPath"
  ).split(" "),
);

const ATTRIBUTES: ReadonlySet<string> = new Set(
  (
    "id role aria-label width height viewBox preserveAspectRatio version x y x1 y1 x2 y2 cx cy r rx ry fx fy dx dy d " +
    "points pathLength transform fill fill-opacity fill-rule stroke stroke-width stroke-opacity stroke-linecap " +
    "stroke-linejoin stroke-dasharray stroke-dashoffset stroke-miterlimit opacity color visibility display clip-path " +
    "clip-rule clipPathUnits offset stop-color stop-opacity gradientUnits gradientTransform spreadMethod font-family " +
    "font-size font-style font-weight letter-spacing text-anchor dominant-baseline rotate textLength lengthAdjust"
  ).split(" "),
);

/** Numbers and plain words cannot load anything. */
const PLAIN = /^[-+.,%_\p{L}\p{N}\s]*$/u;
const PAINT = /^\s*(?:#[\da-f]{3,8}|(?:rgb|hsl)a?\([-+.,%/\w\s]*\)|url\(\s*#[\w-]{1,64}\s*\)(?:\s+#?\w{1,64})?)\s*$/i;
const TRANSFORM = /^(?:[\s,]|(?:translate|scale|rotate|skewX|skewY|matrix)\s*\([-+.,\de\s]*\))*$/i;
/** Other values allowed for an attribute. */
const VALUES: ReadonlyMap<string, RegExp> = new Map([
  ["fill", PAINT],
  ["stroke", PAINT],
  ["color", PAINT],
  ["stop-color", PAINT],
  ["clip-path", /^\s*url\(\s*#[\w-]{1,64}\s*\)\s*$/i],
  ["transform", TRANSFORM],
  ["gradientTransform", TRANSFORM],
  ["font-family", /^[-+.,_'"\p{L}\p{N}\s]*$/u],
]);

const NAMESPACE = "http://www.w3.org/2000/svg";
const TAG = /<(\/?)([A-Za-z][\w-]*)/y;
/** XML has only these four whitespace characters. */
const ATTRIBUTE = /[ \t\r\n]+([A-Za-z][\w:-]*)[ \t\r\n]*=[ \t\r\n]*(?:"([^"<]*)"|'([^'<]*)')/y;
const TAG_END = /[ \t\r\n]*(\/?)>/y;
const TEXT = /[^<]+/y;
/** Other entities need a declaration or could hide something. */
const UNKNOWN_ENTITY = /&(?!(?:amp|lt|gt|quot|apos);)|\]\]>/;
/** Characters that XML does not allow. */
// oxlint-disable-next-line no-control-regex
const INVALID_CHARACTER = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/u;

/** Returns what is wrong with the SVG, in words that a model can act on, or undefined if it is valid. */
export function findSvgFault(svg: string): string | undefined {
  if (svg.length > MAX_CHARACTERS) return `it has ${svg.length} characters; at most ${MAX_CHARACTERS} are allowed`;
  if (INVALID_CHARACTER.test(svg)) return "it has characters that are not allowed in XML";
  const open: string[] = [];
  let clips = 0;
  for (let at = 0; at < svg.length;) {
    if (svg[at] !== "<") {
      const words = match(TEXT, svg, at)?.[0] ?? "";
      if (open.length === 0) return "it must begin with `<svg` and end with `</svg>`";
      const fault = findTextFault(words);
      if (fault !== undefined) return fault;
      at += words.length;
      continue;
    }
    const tag = match(TAG, svg, at);
    if (tag === null)
      return "only elements and text are allowed, not comments, declarations or processing instructions";
    const [all, slash, name = ""] = tag;
    at += all.length;
    if (at > all.length && open.length === 0) return "it must be a single `<svg>` element";
    if (!ELEMENTS.has(name)) return `the element \`${name.slice(0, 64)}\` is not allowed`;
    if ((name === "svg") !== (slash === "" ? open.length === 0 : open.length === 1))
      return "it must have exactly one `<svg>` element, at the top";
    const inside = slash === "" ? readAttributes(svg, at, name) : { end: at, names: NO_NAMES };
    if ("fault" in inside) return inside.fault;
    if (inside.names.has("clip-path")) {
      if (name === "clipPath" || open.includes("clipPath"))
        return "a `clipPath` must not have or contain a `clip-path`";
      if (++clips > MAX_CLIPS) return `it has more than ${MAX_CLIPS} clipped elements`;
    }
    const end = match(TAG_END, svg, inside.end);
    if (end === null) return `the tag \`${name}\` is not closed or has a malformed attribute`;
    at = inside.end + end[0].length;
    if (slash === "/") {
      if (open.pop() !== name || end[1] === "/") return `\`</${name}>\` has no matching start tag`;
    } else if (end[1] !== "/") open.push(name);
    if (open.length > MAX_DEPTH) return `its elements are nested deeper than ${MAX_DEPTH} levels`;
  }
  if (svg === "") return "it is empty";
  return open.length === 0 ? undefined : `the element \`${open.at(-1) ?? ""}\` is not closed`;
}

/** Adds the SVG namespace if it is missing, which browsers require. The SVG must have no fault. */
export function addSvgNamespace(svg: string): string {
  const root = readAttributes(svg, "<svg".length, "svg");
  const isNamed = "names" in root && root.names.has("xmlns");
  return isNamed ? svg : svg.replace(/^<svg/, `<svg xmlns="${NAMESPACE}"`);
}

const NO_NAMES: ReadonlySet<string> = new Set();

function readAttributes(
  text: string,
  from: number,
  element: string,
): { readonly end: number; readonly names: ReadonlySet<string> } | { readonly fault: string } {
  const names = new Set<string>();
  for (let end = from; ;) {
    const found = match(ATTRIBUTE, text, end);
    if (found === null) return { end, names };
    const [all, name = "", double, single] = found;
    const fault = findAttributeFault(element, name, double ?? single ?? "");
    if (fault !== undefined) return { fault };
    if (names.has(name)) return { fault: `the attribute \`${name}\` occurs twice` };
    names.add(name);
    end += all.length;
  }
}

function findAttributeFault(element: string, name: string, value: string): string | undefined {
  if (name === "xmlns" && element === "svg") return value === NAMESPACE ? undefined : `\`xmlns\` must be ${NAMESPACE}`;
  if (!ATTRIBUTES.has(name)) return `the attribute \`${name.slice(0, 64)}\` is not allowed`;
  if (name === "aria-label") return findTextFault(value);
  if (PLAIN.test(value) || VALUES.get(name)?.test(value) === true) return undefined;
  return `the value of \`${name}\` is not allowed; use numbers, words, colours, transforms or url(#id)`;
}

function findTextFault(words: string): string | undefined {
  return UNKNOWN_ENTITY.test(words)
    ? "write `&` as `&amp;` and `>` as `&gt;`; other entities are not allowed"
    : undefined;
}

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
