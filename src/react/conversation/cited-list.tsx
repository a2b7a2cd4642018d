/** The sources that an answer cites, below it. */
import { type ReactNode, useMemo } from "react";
import type { MessagePart, Reference } from "../../client/index.ts";
import { cutText } from "../../protocol/cut-text.ts";
import { listCitedSources } from "../text/citation.tsx";
import { sanitizeLink } from "../text/sanitize-link.ts";
import { TEXT_WORDS } from "../text/text-words.ts";
import { useUi } from "../ui/ui-context.tsx";
import { useWords } from "../ui/words.ts";

const MAX_TITLE = 120;

/** Renders nothing if the answer cites no source. */
export function CitedList({ parts }: { readonly parts: readonly MessagePart[] }): ReactNode {
  const words = useWords(TEXT_WORDS);
  const cited = useMemo(() => listCitedSources(parts), [parts]);
  if (cited.length === 0) return null;
  return (
    <div className="loom-cited" role="group" aria-label={words.sources}>
      <span className="loom-cited-title">{words.sources}</span>
      <ul>
        {cited.map((source) => (
          <li key={source.ref}>
            <CitedEntry source={source} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function CitedEntry({ source }: { readonly source: Reference }): ReactNode {
  const words = useWords(TEXT_WORDS);
  const { actions } = useUi();
  const { ref = 0, title, uri = "", firstLine, lastLine } = source;
  const content = (
    <>
      <span className="loom-source-number">{ref}</span>
      <span className="loom-cited-name">{cutText(title === "" ? uri : title, MAX_TITLE)}</span>
      {firstLine === undefined ? null : (
        <span className="loom-cited-lines">{words.lines(firstLine, lastLine ?? firstLine)}</span>
      )}
    </>
  );
  const href = sanitizeLink(uri);
  if (actions.openSource !== undefined)
    return (
      <button type="button" className="loom-cited-entry" data-cited={ref} onClick={() => actions.openSource?.(source)}>
        {content}
      </button>
    );
  return href === undefined ? (
    <span className="loom-cited-entry" data-cited={ref} tabIndex={-1}>
      {content}
    </span>
  ) : (
    <a className="loom-cited-entry" data-cited={ref} href={href} target="_blank" rel="noreferrer noopener">
      {content}
    </a>
  );
}
