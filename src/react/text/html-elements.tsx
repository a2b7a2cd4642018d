/**
 * A tree of HTML as elements of React: only tags and attributes that html-tags names, addresses by their own rules, and
 * only so much of it. It works on what parse-inert gave, and puts nothing of it into the page.
 */
import { createElement, type ReactNode } from "react";
import { CodeBlock } from "./code-block.tsx";
import { isEmptyTag, judgeAttributes, judgeTag } from "./html-tags.ts";
import { TextImage } from "./text-image.tsx";
import { TextLink } from "./text-link.tsx";
import { TextTable } from "./text-table.tsx";

/** Deeper than this only the text is kept. */
const DEEPEST = 40;
/** Nodes in all. */
const MOST = 20_000;

const HTML = "http://www.w3.org/1999/xhtml";
/** React warns of text where a table has none. */
const TABLE_PARTS: ReadonlySet<string> = new Set(["table", "thead", "tbody", "tfoot", "tr", "colgroup"]);

export interface HtmlElements {
  readonly nodes: readonly ReactNode[];
  /** There was more than may be shown. */
  readonly isCut: boolean;
}

export function buildHtmlElements(root: Element): HtmlElements {
  const budget = { left: MOST };
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
  // Another namespace may call the same name something else.
  if (element.namespaceURI !== HTML) return null;
  const judged = judgeTag(element.localName);
  if (judged === "drop") return null;
  if (depth >= DEEPEST) return <span key={key}>{element.textContent}</span>;
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
      const attributes = { key, className: findHeadingClass(element.localName), ...judgeAttributes(tag, read) };
      return isEmptyTag(tag) ? createElement(tag, attributes) : createElement(tag, attributes, children());
    }
  }
}

/** As large as it was meant, whatever its rank is here. */
function findHeadingClass(name: string): string | undefined {
  const rank = /^h([1-6])$/.exec(name)?.[1];
  return rank === undefined ? undefined : `loom-heading-${Math.min(Number(rank), 4)}`;
}

function findLanguage(pre: Element): string {
  return /(?:^|\s)language-([\w+#-]{1,30})/.exec(pre.querySelector("code")?.className ?? "")?.[1] ?? "";
}
