/** List of the documents in the knowledge base. */
import { memo, type ReactNode, useRef, useState } from "react";
import {
  Button,
  formatBytes,
  formatNumber,
  formatTime,
  Icon,
  IconButton,
  Spinner,
  useUi,
  useWords,
} from "../../../src/react/page-parts.ts";
import { useMay, usePage } from "../shell/page-context.tsx";
import type { KnowledgeDocument, KnowledgeState } from "../store/knowledge.ts";
import { KNOWLEDGE_WORDS } from "./knowledge-words.ts";

/** ID of the heading above the list. */
export const DOCUMENTS_TITLE = "page-documents-title";

export function DocumentList({ knowledge }: { readonly knowledge: KnowledgeState }): ReactNode {
  const words = useWords(KNOWLEDGE_WORDS);
  const page = usePage();
  const { documents, status, error, next } = knowledge;
  if (status === "failed")
    return (
      <div role="alert" className="page-documents-note">
        <p>{words.failedList(error ?? "")}</p>
        <Button icon="retry" onClick={() => void page.loadKnowledge()}>
          {words.again}
        </Button>
      </div>
    );
  if (documents.length === 0)
    return <p className="page-documents-note">{status === "ready" ? words.none : <Spinner />}</p>;
  return (
    <>
      <ul className="page-documents">
        {documents.map((document) => (
          <DocumentItem key={document.document_id} document={document} />
        ))}
      </ul>
      {next === undefined ? null : <Button onClick={() => void page.loadMoreKnowledge()}>{words.more}</Button>}
    </>
  );
}

const DocumentItem = memo(function DocumentItem({ document }: { readonly document: KnowledgeDocument }): ReactNode {
  const words = useWords(KNOWLEDGE_WORDS);
  const page = usePage();
  const { language } = useUi();
  const mayChange = useMay("knowledge");
  const [isAsking, setAsking] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const keep = (): void => {
    setAsking(false);
    requestAnimationFrame(() => button.current?.focus());
  };
  const remove = async (): Promise<void> => {
    await page.deleteKnowledge(id);
    // The focused button was removed with its document.
    window.document.getElementById(DOCUMENTS_TITLE)?.focus();
  };
  const { document_id: id, name, title, bytes, passages, indexed_at: indexedAt } = document;
  return (
    <li>
      <Icon name="file" />
      <span className="page-document-text">
        <button
          type="button"
          className="page-document-open"
          title={id}
          aria-label={words.open(title)}
          onClick={() => page.dispatch({ type: "source/opened", source: { title, uri: id } })}
        >
          {title}
        </button>
        <span className="page-soft">
          {[
            ...(title === name ? [] : [name]),
            formatBytes(bytes, language),
            words.passages(formatNumber(passages, language)),
            formatTime(indexedAt, language),
          ].join(" · ")}
        </span>
      </span>
      {!mayChange ? null : isAsking ? (
        <span className="page-document-question" role="group" aria-label={words.really(title)}>
          <Button variant="danger" autoFocus onClick={() => void remove()}>
            {words.yes}
          </Button>
          <Button onClick={keep}>{words.no}</Button>
        </span>
      ) : (
        <IconButton ref={button} icon="remove" label={words.remove(title)} onClick={() => setAsking(true)} />
      )}
    </li>
  );
});
