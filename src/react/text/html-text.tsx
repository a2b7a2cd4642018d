/** An answer in HTML. Without a DOM parser, as on a server, the source is shown as text. */
import { memo, type ReactNode, useState } from "react";
import { useWords } from "../ui/words.ts";
import { buildHtmlElements } from "./html-elements.tsx";
import { RestText } from "./plain-text.tsx";
import { TEXT_WORDS } from "./text-words.ts";

export interface HtmlTextProps {
  readonly text: string;
  readonly isComplete: boolean;
}

/** Longer texts are parsed again only after growing by `GROWTH`. */
const SHORT = 4000;
const GROWTH = 1 / 4;

export function HtmlText({ text, isComplete }: HtmlTextProps): ReactNode {
  const [before, setParsed] = useState("");
  const isDue =
    isComplete || text.length <= SHORT || !text.startsWith(before) || text.length >= before.length * (1 + GROWTH);
  const parsed = isDue ? text : before;
  if (parsed !== before) setParsed(parsed);
  const rest = text.slice(parsed.length);
  return (
    <div className="loom-text" dir="auto">
      <HtmlFragment html={parsed} />
      {rest === "" ? null : <RestText text={rest} clean={stripTags} />}
    </div>
  );
}

/** Renders HTML of any length, also as a block within Markdown. */
export const HtmlFragment = memo(function HtmlFragment({ html }: { readonly html: string }): ReactNode {
  const words = useWords(TEXT_WORDS);
  const root = parseInert(html);
  if (root === undefined) return <span className="loom-text-plain">{html}</span>;
  const { nodes, isCut } = buildHtmlElements(root);
  return (
    <>
      {nodes}
      {isCut ? <p className="loom-text-cut">{words.cut}</p> : null}
    </>
  );
});

/** A preview until the next parse. The result is rendered as text, so it need not be safe HTML. */
function stripTags(html: string): string {
  return html.replaceAll(/<[^<>]{0,2000}>?/g, "");
}

/**
 * Parses HTML into an inert document: nothing in it runs or loads. Only its tree is read; no node enters the page.
 *
 * This is the only user of the Trusted Types policy `loom`.
 */
interface HtmlPolicy {
  createHTML(html: string): unknown;
}

interface HtmlPolicyFactory {
  createPolicy(name: string, rules: { createHTML(html: string): string }): HtmlPolicy;
}

let policy: HtmlPolicy | undefined;

function getPolicy(): HtmlPolicy {
  const { trustedTypes } = globalThis as { trustedTypes?: HtmlPolicyFactory };
  // Safe because the document is inert, not because of the text.
  policy ??= trustedTypes?.createPolicy("loom", { createHTML: (html) => html }) ?? { createHTML: (html) => html };
  return policy;
}

/** Returns undefined without a DOM parser, as on a server, or if the page's policy forbids it. */
function parseInert(html: string): Element | undefined {
  if (typeof DOMParser === "undefined") return undefined;
  try {
    return new DOMParser().parseFromString(getPolicy().createHTML(disableStyles(html)) as string, "text/html").body;
  } catch {
    return undefined;
  }
}

/**
 * Renames styles and base tags. They would be dropped anyway, but browsers report them as policy violations even in an
 * inert document.
 */
function disableStyles(html: string): string {
  if (!/style|<base/i.test(html)) return html;
  return html
    .replaceAll(/<base(?=[\s/>])/gi, "<link")
    .replaceAll(/<(\/?)style(?=[\s/>])/gi, "<$1template")
    .replaceAll(/<[a-z][^<>]*>/gi, (tag) => tag.replaceAll(/(?<=[\s"'/])style(?=\s*=)/gi, "data-style"));
}
