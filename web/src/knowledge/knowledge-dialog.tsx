/** Knowledge base dialog: upload, search, list and delete documents. */
import { type DragEvent, type ReactNode, useEffect, useRef, useState } from "react";
import {
  Badge,
  Button,
  Dialog,
  formatBytes,
  formatNumber,
  Icon,
  IconButton,
  ProgressBar,
  useUi,
  useWords,
} from "../../../src/react/page-parts.ts";
import type { Reference } from "loom-agent/client";
import { Notices } from "../shell/notices.tsx";
import { useMay, usePage, usePageState } from "../shell/page-context.tsx";
import type { KnowledgeState, KnowledgeUpload } from "../store/knowledge.ts";
import { DocumentList, DOCUMENTS_TITLE } from "./document-list.tsx";
import { KNOWLEDGE_WORDS } from "./knowledge-words.ts";

export function KnowledgeDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const words = useWords(KNOWLEDGE_WORDS);
  const page = usePage();
  const { language } = useUi();
  const knowledge = usePageState(({ knowledge }) => knowledge);
  useEffect(() => void page.loadKnowledge(), [page]);
  const mayChange = useMay("knowledge");
  const { totals } = knowledge;
  return (
    <Dialog title={words.title} onClose={onClose} size="wide">
      <div className="page-knowledge">
        <p className="page-soft">{words.intro}</p>
        {mayChange ? <UploadArea accepts={knowledge.accepts} /> : null}
        <UploadList uploads={knowledge.uploads} />
        <KnowledgeSearch knowledge={knowledge} />
        <section aria-labelledby={DOCUMENTS_TITLE}>
          <h3 id={DOCUMENTS_TITLE} tabIndex={-1}>
            {words.documents}
            {totals === undefined || totals.documents === 0 ? null : (
              <span className="page-soft">
                {words.totals(formatNumber(totals.documents, language), formatBytes(totals.bytes, language))}
              </span>
            )}
          </h3>
          <DocumentList knowledge={knowledge} />
        </section>
      </div>
      {/* The notices of the page are behind the dialog. */}
      <Notices />
    </Dialog>
  );
}

function UploadArea({ accepts }: { readonly accepts: readonly string[] }): ReactNode {
  const words = useWords(KNOWLEDGE_WORDS);
  const page = usePage();
  const picker = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const drag = (event: DragEvent, isNow: boolean): void => {
    event.preventDefault();
    event.stopPropagation();
    setOver(isNow);
  };
  return (
    <div
      className="page-upload"
      data-over={isOver}
      onDragOver={(event) => drag(event, true)}
      onDragLeave={(event) => drag(event, false)}
      onDrop={(event) => {
        drag(event, false);
        page.addKnowledge([...event.dataTransfer.files]);
      }}
    >
      <Button icon="upload" variant="primary" onClick={() => picker.current?.click()}>
        {words.upload}
      </Button>
      <span>{words.drop}</span>
      {accepts.length === 0 ? null : <span className="page-soft">{words.accepts(accepts.join(" "))}</span>}
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        accept={accepts.join(",")}
        onChange={(event) => {
          page.addKnowledge([...(event.target.files ?? [])]);
          event.target.value = "";
        }}
      />
    </div>
  );
}

/** Uploads to the knowledge base, with progress and errors. */
function UploadList({ uploads }: { readonly uploads: readonly KnowledgeUpload[] }): ReactNode {
  const words = useWords(KNOWLEDGE_WORDS);
  if (uploads.length === 0) return null;
  return (
    <ul className="page-uploads" aria-label={words.uploads}>
      {uploads.map((upload) => (
        <li key={upload.id}>
          <span className="page-upload-name">{upload.name}</span>
          <UploadState upload={upload} />
        </li>
      ))}
    </ul>
  );
}

function UploadState({ upload }: { readonly upload: KnowledgeUpload }): ReactNode {
  const words = useWords(KNOWLEDGE_WORDS);
  const page = usePage();
  const { name, status, progress, error } = upload;
  switch (status) {
    case "waiting":
      return <Badge>{words.waiting}</Badge>;
    case "sending":
      // All bytes are sent and the server is indexing. Its progress is unknown.
      return (
        <>
          <ProgressBar value={progress < 100 ? progress : undefined} label={words.progress(name)} />
          <Badge tone="busy">{progress < 100 ? words.sending(progress) : words.reading}</Badge>
        </>
      );
    case "done":
      return <Badge tone="good">{words.done}</Badge>;
    case "failed":
      return (
        <>
          <span role="alert">
            <Badge tone="bad">{words.failed}</Badge> {error}
          </span>
          <IconButton icon="retry" label={words.uploadAgain(name)} onClick={() => page.retryKnowledge(upload.id)} />
        </>
      );
  }
}

function describeHit(hit: KnowledgeState["hits"][number]): Reference {
  const { title, document_id: uri, snippet, first_line: firstLine, last_line: lastLine } = hit;
  return { title, uri, snippet, firstLine, lastLine };
}

/** Searches the documents as an agent does. */
function KnowledgeSearch({ knowledge }: { readonly knowledge: KnowledgeState }): ReactNode {
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
