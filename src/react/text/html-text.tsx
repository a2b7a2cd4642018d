/** An answer in HTML. Without a DOM parser, as on a server, the source is shown as text. */
import { memo, type ReactNode, useState } from "react";
import { useWords } from "../ui/words.ts";
import { buildHtmlElements } from "./html-elements.tsx";
import { parseInert } from "./parse-inert.ts";
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
