/** Searches the documents as an agent does. */
import type { ReactNode } from "react";
import type { Reference } from "loom-agent/client";
import { Icon, useWords } from "../../../src/react/page-parts.ts";
import { usePage } from "../shell/page-context.tsx";
import type { KnowledgeState } from "../store/knowledge.ts";
import { KNOWLEDGE_WORDS } from "./knowledge-words.ts";

function describeHit(hit: KnowledgeState["hits"][number]): Reference {
  const { title, document_id: uri, snippet, first_line: firstLine, last_line: lastLine } = hit;
  return { title, uri, snippet, firstLine, lastLine };
}

export function KnowledgeSearch({ knowledge }: { readonly knowledge: KnowledgeState }): ReactNode {
  const words = useWords(KNOWLEDGE_WORDS);
  const page = usePage();
  const { query, hits, searching } = knowledge;
  const status = { idle: "", loading: "", failed: words.searchFailed, ready: describe(hits.length) }[searching];
  function describe(count: number): string {
    return count === 0 ? words.notFound : words.found(count);
  }
  return (
    <section aria-label={words.search}>
      <div className="page-search" role="search">
        <Icon name="search" />
        <input
          type="search"
          className="page-field"
          value={query}
          placeholder={words.search}
          aria-label={words.search}
          maxLength={500}
          onChange={(event) => page.searchKnowledge(event.target.value)}
        />
      </div>
      <p className="page-soft" role="status">
        {status}
      </p>
      <ol className="page-hits">
        {hits.map((hit) => (
          // One long line may have several hits.
          <li key={`${hit.document_id}:${hit.first_line}:${hit.snippet}`}>
            <span className="page-hit-title">
              <button
                type="button"
                className="page-document-open"
                aria-label={words.open(hit.title)}
                onClick={() => page.dispatch({ type: "source/opened", source: describeHit(hit) })}
              >
                {hit.title}
              </button>{" "}
              <span className="page-soft">{words.lines(hit.first_line, hit.last_line)}</span>
            </span>
            <span className="page-hit-text">{hit.snippet}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
