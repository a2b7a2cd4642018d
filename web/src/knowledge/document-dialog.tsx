/** A document of the knowledge base, opened from the list, from a search result, or at a cited passage. */
import { type ReactNode, useEffect, useMemo, useRef } from "react";
import type { Reference } from "loom-agent/client";
import {
  Button,
  Dialog,
  formatBytes,
  HighlightedText,
  RichText,
  Spinner,
  useUi,
  useWords,
} from "../../../src/react/page-parts.ts";
import { usePage, usePageState } from "../shell/page-context.tsx";
import { findPassage, joinParts } from "./document-parts.ts";
import { KNOWLEDGE_WORDS } from "./knowledge-words.ts";
import { type DocumentControl, useDocument, useReadingPosition } from "./use-document.ts";

export interface DocumentDialogProps {
  /** The document, and the passage if one is cited. */
  readonly source: Reference;
  readonly onClose: () => void;
}

// A share link gives access to one session, not to the knowledge base.

export function DocumentDialog({ source, onClose }: DocumentDialogProps): ReactNode {
  const words = useWords(KNOWLEDGE_WORDS);
  const { language } = useUi();
  const page = usePage();
  const isDenied = usePageState(({ access }) => access.phase === "shared");
  const document = useDocument(page.api, isDenied ? undefined : source.uri, source);
  const { loaded, error } = document;
  const content = useRef<HTMLDivElement>(null);
  useReadingPosition(content, loaded);
  const { ref, firstLine, lastLine = firstLine } = source;
  const facts = [
    ...(ref === undefined ? [] : [words.source(ref)]),
    ...(loaded === undefined || loaded.about.name === source.title ? [] : [loaded.about.name]),
    ...(firstLine === undefined || lastLine === undefined ? [] : [words.lines(firstLine, lastLine)]),
    ...(loaded === undefined ? [] : [formatBytes(loaded.about.bytes, language)]),
  ];
  const isMissing = source.uri === undefined || error?.code === "unknown_document" || error?.code === "not_found";
  const reason = isDenied || error?.code === "forbidden" ? words.denied : isMissing ? words.missing : undefined;
  return (
    <Dialog title={source.title} onClose={onClose} size="wide">
      <div ref={content} className="page-document" tabIndex={-1}>
        {facts.length === 0 ? null : <p className="page-soft">{facts.join(" · ")}</p>}
        {reason !== undefined ? (
          <Unavailable source={source} reason={reason} />
        ) : (
          <DocumentContent source={source} document={document} />
        )}
      </div>
    </Dialog>
  );
}

/** The passage as the log has it. */
function Excerpt({ source }: { readonly source: Reference }): ReactNode {
  const words = useWords(KNOWLEDGE_WORDS);
  const { snippet = "" } = source;
  if (snippet === "") return null;
  return (
    <section className="page-document-excerpt" aria-label={words.passage}>
      <RichText text={snippet} format="text" isComplete />
    </section>
  );
}

function Unavailable({ source, reason }: { readonly source: Reference; readonly reason: string }): ReactNode {
  const { uri = "" } = source;
  return (
    <>
      <p role="status">{reason}</p>
      <Excerpt source={source} />
      {/^https?:\/\/[^\s<>]+$/i.test(uri) ? <RichText text={`<${uri}>`} format="markdown" isComplete /> : null}
    </>
  );
}

interface DocumentContentProps {
  readonly source: Reference;
  readonly document: DocumentControl;
}

function DocumentContent({ source, document }: DocumentContentProps): ReactNode {
  const words = useWords(KNOWLEDGE_WORDS);
  const { loaded, isIncomplete, error, isLoading, hasEarlier, hasLater } = document;
  const text = useMemo(() => joinParts(loaded?.parts ?? []), [loaded]);
  const range = useMemo(() => findPassage(loaded?.parts ?? [], source), [loaded, source]);
  const highlight = useRef<HTMLElement>(null);
  const isFound = range !== undefined;
  /** Remembered, because the passage may be gone from the page when the user reads on. */
  const wasFound = useRef(false);
  useEffect(() => {
    if (!isFound || wasFound.current) return;
    wasFound.current = true;
    highlight.current?.scrollIntoView({ block: "start" });
    highlight.current?.focus({ preventScroll: true });
  }, [isFound]);
  if (loaded === undefined)
    return error === undefined ? <Spinner /> : <Failure message={error.message} onRetry={document.retry} />;
  const isCited = source.snippet !== undefined && source.snippet !== "";
  return (
    <>
      {isCited && !isFound && !wasFound.current ? (
        <>
          <p role="status">{source.firstLine === undefined || isIncomplete ? words.passage : words.changed}</p>
          <Excerpt source={source} />
        </>
      ) : null}
      {hasEarlier ? (
        <Button aria-busy={isLoading} onClick={document.loadEarlier}>
          {words.earlier}
        </Button>
      ) : null}
      {text.trim() === "" ? (
        <p className="page-soft">{words.noText}</p>
      ) : (
        <HighlightedText
          ref={highlight}
          text={text}
          format={loaded.about.format === "markdown" ? "markdown" : "text"}
          range={range}
          label={source.ref === undefined ? words.match : words.passage}
        />
      )}
      {error === undefined ? null : <Failure message={error.message} onRetry={document.retry} />}
      {hasLater ? (
        <Button aria-busy={isLoading} onClick={document.loadLater}>
          {words.more}
        </Button>
      ) : null}
    </>
  );
}

function Failure({ message, onRetry }: { readonly message: string; readonly onRetry: () => void }): ReactNode {
  const words = useWords(KNOWLEDGE_WORDS);
  return (
    <div role="alert" className="page-documents-note">
      <p>{words.failedDocument(message)}</p>
      <Button icon="retry" onClick={onRetry}>
        {words.again}
      </Button>
    </div>
  );
}
