/**
 * Renders LaTeX as MathML. The tree built by temml is converted to React elements through allowlists of tags,
 * attributes and styles; no text is parsed as markup. Loaded on demand because of its size.
 */
import { createElement, type ReactNode, useMemo } from "react";
import temml from "temml";
import type { MathProps } from "loom-agent/react";

const TAGS: ReadonlySet<string> = new Set(
  (
    "math mrow mi mn mo ms mspace mtext mfrac msqrt mroot mstyle merror mpadded mphantom menclose msub msup msubsup munder " +
    "mover munderover mmultiscripts mprescripts none mtable mtr mtd semantics"
  ).split(" "),
);

/** MathML attribute names. None takes a URL or code. */
const ATTRIBUTES: ReadonlySet<string> = new Set(
  (
    "accent accentunder columnalign columnlines columnspacing depth dir display displaystyle fence form height largeop " +
    "linethickness lspace mathvariant maxsize minsize movablelimits notation rowlines rowspacing rspace scriptlevel separator " +
    "stretchy symmetric voffset width columnspan rowspan"
  ).split(" "),
);

const STYLES: ReadonlySet<string> = new Set(
  "color paddingLeft paddingRight paddingTop paddingBottom marginLeft marginRight textAlign borderTop borderBottom borderLeft borderRight".split(
    " ",
  ),
);
const VALUE = /^[\w #.,%()-]{1,60}$/;

/** Deeper formulas are shown as source. */
const MAX_DEPTH = 200;

/** Tree built by temml: elements, fragments without a type, and texts. */
interface MathNode {
  readonly type?: string;
  readonly text?: string;
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly classes?: readonly string[];
  readonly style?: Readonly<Record<string, unknown>>;
  readonly children?: readonly MathNode[];
}

// The types of temml describe the module, not its default export.
const { __renderToMathMLTree: buildTree } = temml as unknown as {
  readonly __renderToMathMLTree: (source: string, options: temml.Options) => MathNode;
};

/** Shows the source if it is not valid LaTeX. */
export function Formula({ source, isBlock }: MathProps): ReactNode {
  return useMemo(() => {
    try {
      return buildFormula(source, isBlock);
    } catch {
      return <code className="loom-math-source">{source}</code>;
    }
  }, [source, isBlock]);
}

/** Throws if the source is not valid LaTeX. */
export function buildFormula(source: string, isBlock: boolean): ReactNode {
  const options = { displayMode: isBlock, throwOnError: true, trust: false, maxExpand: 500 };
  return buildNode(buildTree(source, options), 0, 0);
}

function buildNode(node: MathNode, key: number, depth: number): ReactNode {
  if (depth > MAX_DEPTH) throw new RangeError("nested too deeply");
  if (typeof node.text === "string" && node.children === undefined) return node.text;
  const children = (node.children ?? []).map((child, index) => buildNode(child, index, depth + 1));
  if (node.type === undefined || !TAGS.has(node.type)) return children;
  const properties: Record<string, unknown> = { key };
  for (const [name, value] of Object.entries(node.attributes ?? {})) {
    if (ATTRIBUTES.has(name) && isPlain(value)) properties[name] = String(value);
  }
  const style = Object.entries(node.style ?? {}).filter(([name, value]) => STYLES.has(name) && isPlain(value));
  if (style.length > 0) properties["style"] = Object.fromEntries(style);
  const classes = (node.classes ?? []).filter((name) => /^tml-[\w-]{1,40}$/.test(name));
  if (classes.length > 0) properties["className"] = classes.join(" ");
  return createElement(node.type, properties, children.length === 0 ? undefined : children);
}

function isPlain(value: unknown): boolean {
  return typeof value === "number" || typeof value === "boolean" || (typeof value === "string" && VALUE.test(value));
}
