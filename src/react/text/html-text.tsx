/** An answer in HTML. Where there is no parser, as on a server, it is shown as the text it is. */
import { memo, type ReactNode, useRef } from "react";
import { useWords } from "../ui/words.ts";
import { buildHtmlElements } from "./html-elements.tsx";
import { parseInert } from "./parse-inert.ts";
import { RestText } from "./plain-text.tsx";
import { TEXT_WORDS } from "./text-words.ts";

export interface HtmlTextProps {
  readonly text: string;
  readonly isComplete: boolean;
}

/** Up to this long it is parsed again with every change; a longer one when it grew by a part of itself. */
const SHORT = 4000;
const GROWTH = 1 / 4;

export function HtmlText({ text, isComplete }: HtmlTextProps): ReactNode {
  const parsed = useRef("");
  const isDue =
    isComplete ||
    text.length <= SHORT ||
    !text.startsWith(parsed.current) ||
    text.length >= parsed.current.length * (1 + GROWTH);
  // A cache: what was parsed last is kept, whichever render did it.
  if (isDue) parsed.current = text;
  const rest = text.slice(parsed.current.length);
  return (
    <div className="loom-text" dir="auto">
      <HtmlFragment html={parsed.current} />
      {rest === "" ? null : <RestText text={rest} clean={stripTags} />}
    </div>
  );
}

/** HTML of any length, also as a block within Markdown. */
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

/** Only for looks until it is parsed: it is text whatever is in it. */
function stripTags(html: string): string {
  return html.replaceAll(/<[^<>]{0,2000}>?/g, "");
}
