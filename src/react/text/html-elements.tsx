/**
 * Converts a parsed HTML tree to React elements. Allows only the tags and attributes of `html-tags.ts`, sanitizes URLs,
 * and limits size and depth. No parsed node enters the page.
 */
import { createElement, type ReactNode } from "react";
import { CodeBlock } from "./code-block.tsx";
import { classifyTag, filterAttributes, isEmptyTag } from "./html-tags.ts";
import { TextImage } from "./text-image.tsx";
import { TextLink, TextTable } from "./text-link.tsx";

/** Below this depth only text is kept. */
const MAX_DEPTH = 40;
/** Maximum number of nodes. */
const MAX_NODES = 20_000;

const HTML_NAMESPACE = "http://www.w3.org/1999/xhtml";
/** React warns about text directly inside these elements. */
const TABLE_PARTS: ReadonlySet<string> = new Set(["table", "thead", "tbody", "tfoot", "tr", "colgroup"]);

export interface HtmlElements {
  readonly nodes: readonly ReactNode[];
  /** Content beyond the limits was dropped. */
  readonly isCut: boolean;
}

export function buildHtmlElements(root: Element): HtmlElements {
  const budget = { left: MAX_NODES };
  const nodes = buildChildren(root, 0, budget);
  return { nodes, isCut: budget.left < 0 };
}

function buildChildren(parent: Element, depth: number, budget: { left: number }): ReactNode[] {
  const nodes: ReactNode[] = [];
  const isTablePart = TABLE_PARTS.has(parent.localName);
  for (let node = parent.firstChild; node !== null; node = node.nextSibling) {
    if (budget.left-- <= 0) {
      budget.left = -1;
      return nodes;
    }
    if (node.nodeType === 3) {
      const text = node.nodeValue ?? "";
      if (!isTablePart || text.trim() !== "") nodes.push(text);
    } else if (node.nodeType === 1) nodes.push(buildElement(node as Element, nodes.length, depth, budget));
  }
  return nodes;
}

function buildElement(element: Element, key: number, depth: number, budget: { left: number }): ReactNode {
  // Names mean something else in other namespaces, such as SVG.
  if (element.namespaceURI !== HTML_NAMESPACE) return null;
  const judged = classifyTag(element.localName);
  if (judged === "drop") return null;
  if (depth >= MAX_DEPTH) return <span key={key}>{element.textContent}</span>;
  const children = (): ReactNode[] => buildChildren(element, depth + 1, budget);
  if (judged === "unwrap") return <span key={key}>{children()}</span>;
  const { tag } = judged;
  const read = (name: string): string | null => element.getAttribute(name);
  switch (tag) {
    case "a":
      return (
        <TextLink key={key} href={read("href") ?? ""} title={read("title") ?? undefined}>
          {children()}
        </TextLink>
      );
    case "img":
      return <TextImage key={key} url={read("src") ?? ""} alt={read("alt") ?? ""} title={read("title") ?? undefined} />;
    case "pre":
      return <CodeBlock key={key} code={element.textContent.replace(/\n$/, "")} language={findLanguage(element)} />;
    case "table":
      return <TextTable key={key}>{children()}</TextTable>;
    default: {
      const attributes = { key, className: findHeadingClass(element.localName), ...filterAttributes(tag, read) };
      return isEmptyTag(tag) ? createElement(tag, attributes) : createElement(tag, attributes, children());
    }
  }
}

/** Keeps the size of the original level, although the rendered level may differ. */
function findHeadingClass(name: string): string | undefined {
  const rank = /^h([1-6])$/.exec(name)?.[1];
  return rank === undefined ? undefined : `loom-heading-${Math.min(Number(rank), 4)}`;
}

function findLanguage(pre: Element): string {
  return /(?:^|\s)language-([\w+#-]{1,30})/.exec(pre.querySelector("code")?.className ?? "")?.[1] ?? "";
}
