/**
 * Parses the computed SVG into a tree of allowed elements. Only listed tags and attributes are kept: no scripts,
 * styles, links or images.
 *
 * It parses the output of the chart library, not any XML: no comments, and only the five predefined and numeric
 * entities.
 */
export interface SvgElement {
  readonly tag: string;
  readonly attributes: { readonly [name: string]: string };
  readonly children: readonly (SvgElement | string)[];
}

const TAGS = new Set([
  "svg",
  "g",
  "path",
  "line",
  "rect",
  "circle",
  "text",
  "tspan",
  "defs",
  "clipPath",
  "linearGradient",
  "radialGradient",
  "pattern",
  "stop",
]);
const ATTRIBUTES = new Set(
  (
    "width height viewBox transform d x y x1 y1 x2 y2 dx dy r rx ry cx cy fx fy fr id offset stop-color fill fill-opacity " +
    "stroke stroke-width stroke-opacity stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin " +
    "stroke-miterlimit opacity clip-path text-anchor font-family font-size font-style font-weight font-variant " +
    "pointer-events display preserveAspectRatio gradientUnits patternUnits aria-label"
  ).split(" "),
);
/** References are allowed only within the drawing. */
const REFERENCE = /^url\([^()#]*#([\w-]+)\)$/;

/** Returns undefined if there are more than `maxElements`, or if the root is not an `svg` element. */
export function readSvg(text: string, maxElements: number): SvgElement | undefined {
  const top: OpenSvgElement["children"] = [];
  /** Open elements, outermost first. Undefined: skipped, with everything inside. */
  const open: (OpenSvgElement | undefined)[] = [];
  let elements = 0;
  for (const [, closing, tag = "", rest = "", single, content] of text.matchAll(TOKEN)) {
    const children = open.length === 0 ? top : open.at(-1)?.children;
    if (content !== undefined) children?.push(decode(content));
    else if (closing === "/") open.pop();
    else {
      const element =
        children !== undefined && TAGS.has(tag)
          ? { tag, attributes: readAttributes(tag, rest), children: [] }
          : undefined;
      if (element !== undefined && ++elements > maxElements) return undefined;
      if (element !== undefined) children?.push(element);
      if (single !== "/") open.push(element);
    }
  }
  const svg = top.find((child) => typeof child === "object");
  return svg?.tag === "svg" ? svg : undefined;
}

interface OpenSvgElement extends SvgElement {
  readonly children: (SvgElement | string)[];
}

const TOKEN = /<(\/?)([\w:-]+)((?:\s+[\w:-]+="[^"]*")*)\s*(\/?)>|([^<]+)/g;

function readAttributes(tag: string, text: string): SvgElement["attributes"] {
  const attributes: { [name: string]: string } = {};
  for (const [, name = "", raw = ""] of text.matchAll(/([\w:-]+)="([^"]*)"/g)) {
    // Labels of groups (axes and legends) repeat visible text.
    if (!ATTRIBUTES.has(name) || (name === "aria-label" && tag === "g")) continue;
    const value = decode(raw);
    if (name !== "aria-label" && /url\s*\(/i.test(value)) {
      const inside = REFERENCE.exec(value)?.[1];
      if (inside !== undefined) attributes[name] = `url(#${inside})`;
    } else attributes[name] = value;
  }
  return attributes;
}

const ENTITIES: { readonly [name: string]: string | undefined } = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function decode(text: string): string {
  return text.replaceAll(
    /&(?:#x([\da-f]{1,6})|(\w+));/gi,
    (whole, code: string | undefined, name: string | undefined) => {
      if (code === undefined) return ENTITIES[name ?? ""] ?? whole;
      const point = Number.parseInt(code, 16);
      return point <= 0x10_ff_ff ? String.fromCodePoint(point) : whole;
    },
  );
}
