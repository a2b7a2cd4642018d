/** Sources from the knowledge base, numbered as cited in the answer. */
import { type ReactNode, useState } from "react";
import type { Reference } from "../../client/index.ts";
import type { ReferencesPart } from "../../client/view.ts";
import { Disclosure } from "../ui/disclosure.tsx";
import { formatNumber } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { useCachedState } from "../ui/ui-state-cache.tsx";
import { sanitizeLink } from "../text/sanitize-link.ts";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { ShortText } from "./log-box.tsx";
import { cutText } from "../../protocol/cut-text.ts";

const WORDS = defineWords({
  en: {
    found: (count: string, query: string) => `${count === "1" ? "1 source" : `${count} sources`} for “${query}”`,
    sources: (count: string) => (count === "1" ? "1 source" : `${count} sources`),
    none: (query: string) => `No results for “${query}”`,
    lines: (first: number, last: number) => (first === last ? `line ${first}` : `lines ${first}–${last}`),
    score: (score: string) => `score ${score}`,
    more: (count: string) => `Show ${count} more`,
    unlisted: (count: string) => `${count} more not listed`,
  },
  zh: {
    found: (count: string, query: string) => `“${query}”的 ${count} 个来源`,
    sources: (count: string) => `${count} 个来源`,
    none: (query: string) => `未找到“${query}”的相关内容`,
    lines: (first: number, last: number) => (first === last ? `第 ${first} 行` : `第 ${first}–${last} 行`),
    score: (score: string) => `相关度 ${score}`,
    more: (count: string) => `再显示 ${count} 个`,
    unlisted: (count: string) => `另有 ${count} 个来源未列出`,
  },
});

const STEP = 10;
const MAX_TITLE = 200;
const MAX_QUERY = 120;

export interface ReferencesItemProps {
  readonly part: ReferencesPart;
  /** Key of the run, as in `TurnView.key`. */
  readonly turnKey: string;
}

/** Lists the sources of an answer, collapsed by default. */
export function ReferencesItem({ part, turnKey }: ReferencesItemProps): ReactNode {
  const words = useWords(WORDS);
  const { language } = useUi();
  const [isOpen, setOpen] = useCachedState(`${turnKey}/${part.key}/open`, false);
  const [limit, setLimit] = useState(STEP);
  const { sources, docCount } = part;
  const query = part.query === undefined ? undefined : cutText(part.query, MAX_QUERY);
  const count = formatNumber(Math.max(docCount, sources.length), language);
  const title =
    query === undefined ? words.sources(count) : docCount === 0 ? words.none(query) : words.found(count, query);
  const head = (
    <>
      <Icon name="book" />
      <span className="loom-references-title">{title}</span>
    </>
  );
  if (sources.length === 0) return <p className="loom-references loom-references-bare">{head}</p>;
  const left = sources.length - limit;
  const unlisted = docCount - sources.length;
  return (
    <div className="loom-references">
      <Disclosure summary={head} isOpen={isOpen} onToggle={setOpen}>
        <ol className="loom-references-list">
          {sources.slice(0, limit).map((source, index) => (
            // Sources never change their order.
            <SourceEntry key={index} source={source} position={index + 1} />
          ))}
        </ol>
        {left > 0 ? (
          <button type="button" className="loom-more" onClick={() => setLimit(limit + STEP)}>
            {words.more(formatNumber(Math.min(STEP, left), language))}
          </button>
        ) : null}
        {unlisted > 0 ? (
          <p className="loom-references-note">{words.unlisted(formatNumber(unlisted, language))}</p>
        ) : null}
      </Disclosure>
    </div>
  );
}

function SourceEntry({ source, position }: { readonly source: Reference; readonly position: number }): ReactNode {
  const words = useWords(WORDS);
  const { actions } = useUi();
  const { uri, snippet, score, ref = position, firstLine, lastLine } = source;
  const title = cutText(source.title === "" ? (uri ?? "") : source.title, MAX_TITLE);
  const href = uri === undefined ? undefined : sanitizeLink(uri);
  const facts = [
    ...(firstLine === undefined ? [] : [words.lines(firstLine, lastLine ?? firstLine)]),
    ...(score === undefined ? [] : [words.score(score.toFixed(2))]),
  ];
  return (
    <li className="loom-source" data-ref={ref}>
      <span className="loom-source-number">{ref}</span>
      <div className="loom-source-body">
        {actions.openSource !== undefined ? (
          <button type="button" className="loom-source-title" onClick={() => actions.openSource?.(source)}>
            {title}
          </button>
        ) : href === undefined ? (
          <span className="loom-source-title">{title}</span>
        ) : (
          <a className="loom-source-title" href={href} target="_blank" rel="noreferrer noopener">
            {title}
          </a>
        )}
        {facts.length === 0 ? null : <span className="loom-source-facts">{facts.join(" · ")}</span>}
        {uri !== undefined && href === undefined && uri !== title ? (
          <span className="loom-source-facts">{cutText(uri, MAX_TITLE)}</span>
        ) : null}
        {snippet === undefined || snippet === "" ? null : (
          <p className="loom-source-snippet">
            <ShortText text={snippet} />
          </p>
        )}
      </div>
    </li>
  );
}
