/** Citations in an answer: small numbered buttons that open the cited passage. */
import { createContext, type ReactNode, use, useMemo } from "react";
import type { MessagePart, Reference } from "../../client/index.ts";
import type { ReferencesPart } from "../../client/view.ts";
import { useUi } from "../ui/ui-context.tsx";
import { useWords } from "../ui/words.ts";
import { type CitationMark, findCitations } from "./find-citations.ts";
import { TEXT_WORDS } from "./text-words.ts";

/** Sources by the number that cites them. */
export type CitedSources = ReadonlyMap<number, Reference>;

interface CitationScope {
  readonly sources: CitedSources;
  readonly hrefOf?: ((ref: number) => string) | undefined;
}

const NO_SOURCES: CitedSources = new Map();
const CitationContext = createContext<CitationScope>({ sources: NO_SOURCES });

export interface CitationProviderProps {
  readonly sources: CitedSources;
  /** Makes citations links, for a document without scripts. Default: they are buttons. */
  readonly hrefOf?: (ref: number) => string;
  readonly children: ReactNode;
}

/** Provides the sources that texts inside may cite. Numbers of other sources stay text. */
export function CitationProvider({ sources, hrefOf, children }: CitationProviderProps): ReactNode {
  const scope = useMemo((): CitationScope => ({ sources, hrefOf }), [sources, hrefOf]);
  return <CitationContext value={scope}>{children}</CitationContext>;
}

/** Renders a citation; as text if one of its sources is unknown. */
export function Citation({ mark }: { readonly mark: CitationMark }): ReactNode {
  const { sources, hrefOf } = use(CitationContext);
  const cited = mark.refs.flatMap((ref) => sources.get(ref) ?? []);
  if (cited.length < mark.refs.length) return mark.raw;
  return cited.map((source, index) => {
    const ref = mark.refs[index] ?? 0;
    return hrefOf === undefined ? (
      <CitationButton key={index} citedRef={ref} source={source} />
    ) : (
      <a key={index} href={hrefOf(ref)}>
        [{ref}]
      </a>
    );
  });
}

function CitationButton({ citedRef, source }: { readonly citedRef: number; readonly source: Reference }): ReactNode {
  const words = useWords(TEXT_WORDS);
  const { actions } = useUi();
  const label = words.source(citedRef, source.title);
  return (
    <button
      type="button"
      className="loom-citation"
      title={source.title}
      aria-label={label}
      onClick={({ currentTarget }) =>
        actions.openSource === undefined ? showEntry(currentTarget, citedRef) : actions.openSource(source)
      }
    >
      {citedRef}
    </button>
  );
}

/** Moves to the source in the list below the answer. */
function showEntry(from: Element, ref: number): void {
  const entry = from.closest(".loom-message")?.querySelector<HTMLElement>(`[data-cited="${ref}"]`);
  entry?.scrollIntoView({ block: "nearest" });
  entry?.focus({ preventScroll: true });
}

/**
 * Returns a function that finds the sources of a message. It returns the same map as long as the sources are the same, so
 * that a token does not render citations again.
 */
export function createSourceFinder(): (parts: readonly MessagePart[]) => CitedSources {
  let known: readonly ReferencesPart[] = [];
  let sources = NO_SOURCES;
  return (parts) => {
    const found = parts.filter((part) => part.type === "references");
    if (found.length === known.length && found.every((part, index) => part === known[index])) return sources;
    known = found;
    sources = readSources(found);
    return sources;
  };
}

/** If an interrupted run used a number again, the first source has it. */
function readSources(parts: readonly ReferencesPart[]): CitedSources {
  const sources = new Map<number, Reference>();
  for (const { sources: some } of parts)
    for (const source of some)
      if (source.ref !== undefined && !sources.has(source.ref)) sources.set(source.ref, source);
  return sources;
}

/** Returns the sources that the text of a message cites, in the order of their first citation. */
export function listCitedSources(parts: readonly MessagePart[]): readonly Reference[] {
  const sources = createSourceFinder()(parts);
  if (sources.size === 0) return [];
  const refs = parts.flatMap((part) =>
    part.type === "text" && part.format === "markdown" && part.supersededBy === undefined
      ? findCitations(part.text)
      : [],
  );
  return [...new Set(refs)].flatMap((ref) => sources.get(ref) ?? []);
}
