/**
 * Judges an SVG that a model has drawn: shapes, colours and words, and nothing that runs, loads or points outside. It
 * goes by what is allowed, so what nobody has thought of is refused. It reads no other form of image.
 *
 * Invariant: the text is gone through once, and a text without a fault is well-formed XML.
 */

export const MAX_SVG_CHARACTERS = 200_000;
const MAX_DEPTH = 32;

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

const NAMESPACE = "http://www.w3.org/2000/svg";
const TAG = /<(\/?)([A-Za-z][\w-]*)/y;
const ATTRIBUTE = /\s+([A-Za-z][\w:-]*)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')/y;
const TAG_END = /\s*(\/?)>/y;
const TEXT = /[^<]+/y;
/** `&` is for these alone: what others stand for is said elsewhere, or hides something. */
const STRANGE_ENTITY = /&(?!(?:amp|lt|gt|quot|apos);)|\]\]>/;
/** Characters XML has no place for. */
// oxlint-disable-next-line no-control-regex
const STRANGE_CHARACTER = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/u;
/** Whatever is loaded, run or pointed at; a colour made in this picture may be named. */
const REACHES_OUT =
  /url\s*\((?!\s*#[\w-]{1,64}\s*\))|(?:javascript|vbscript|data|https?|file)\s*:|@import|expression\s*\(/i;

/** What is wrong with it, in words a model can act on; undefined where nothing is. */
export function findSvgFault(svg: string, maxCharacters: number = MAX_SVG_CHARACTERS): string | undefined {
  if (svg.length > maxCharacters) return `it has ${svg.length} characters, and may have ${maxCharacters}`;
  if (STRANGE_CHARACTER.test(svg)) return "it has characters that XML does not know";
  const text = svg.trim();
  const open: string[] = [];
  for (let at = 0; at < text.length;) {
    if (text[at] !== "<") {
      const words = match(TEXT, text, at)?.[0] ?? "";
      if (open.length === 0) return "it must begin with `<svg` and end with `</svg>`";
      const fault = findTextFault(words);
      if (fault !== undefined) return fault;
      at += words.length;
      continue;
    }
    const tag = match(TAG, text, at);
    if (tag === null) return "it has something other than elements, such as a comment or `<!`";
    const [all, slash, name = ""] = tag;
    at += all.length;
    if (at > all.length && open.length === 0) return "it must be one `<svg>` and nothing else";
    if (!ELEMENTS.has(name)) return `the element \`${name.slice(0, 64)}\` is not allowed`;
    if ((name === "svg") !== (slash === "" ? open.length === 0 : open.length === 1))
      return "one `<svg>` must be around all of it, and no other inside";
    const inside = slash === "" ? readAttributes(text, at, name) : { end: at };
    if ("fault" in inside) return inside.fault;
    const end = match(TAG_END, text, inside.end);
    if (end === null) return `the element \`${name}\` is not closed, or an attribute of it is not well-formed`;
    at = inside.end + end[0].length;
    if (slash === "/") {
      if (open.pop() !== name || end[1] === "/") return `\`</${name}>\` closes nothing`;
    } else if (end[1] !== "/") open.push(name);
    if (open.length > MAX_DEPTH) return `its elements are nested deeper than ${MAX_DEPTH}`;
  }
  if (text === "") return "it is empty";
  return open.length === 0 ? undefined : `the element \`${open.at(-1) ?? ""}\` is not closed`;
}

function readAttributes(
  text: string,
  from: number,
  element: string,
): { readonly end: number } | { readonly fault: string } {
  const names = new Set<string>();
  for (let end = from; ;) {
    const found = match(ATTRIBUTE, text, end);
    if (found === null) return { end };
    const [all, name = "", double, single] = found;
    const fault = findAttributeFault(element, name, double ?? single ?? "");
    if (fault !== undefined) return { fault };
    if (names.has(name)) return { fault: `the attribute \`${name}\` is there twice` };
    names.add(name);
    end += all.length;
  }
}

function findAttributeFault(element: string, name: string, value: string): string | undefined {
  if (name === "xmlns" && element === "svg") return value === NAMESPACE ? undefined : `\`xmlns\` is ${NAMESPACE}`;
  if (!ATTRIBUTES.has(name)) return `the attribute \`${name.slice(0, 64)}\` is not allowed`;
  if (name === "aria-label") return findTextFault(value);
  // Either could hide a word that is looked for below; no number or colour needs one.
  if (/[&\\]/.test(value)) return `\`&\` and \`\\\` are not allowed in \`${name}\``;
  return REACHES_OUT.test(value) ? `\`${name}\` points outside the picture` : undefined;
}

function findTextFault(words: string): string | undefined {
  return STRANGE_ENTITY.test(words)
    ? "`&` is written `&amp;`, and `>` is `&gt;`; other entities are not known"
    : undefined;
}

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
