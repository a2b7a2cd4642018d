/** Knowledge base dialog: upload, search, list and delete documents. */
import { type DragEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { Button, Dialog, formatBytes, formatNumber, useUi, useWords } from "../../../src/react/page-parts.ts";
import { Notices } from "../shell/notices.tsx";
import { useMay, usePage, usePageState } from "../shell/page-context.tsx";
import type { KnowledgeState } from "../store/knowledge.ts";
import type { PageState } from "../store/page-state.ts";
import { DOCUMENTS_TITLE, DocumentList } from "./document-list.tsx";
import { KnowledgeSearch } from "./knowledge-search.tsx";
import { KNOWLEDGE_WORDS } from "./knowledge-words.ts";
import { UploadList } from "./upload-list.tsx";

const selectKnowledge = ({ knowledge }: PageState): KnowledgeState => knowledge;

export function KnowledgeDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const words = useWords(KNOWLEDGE_WORDS);
  const page = usePage();
  const { language } = useUi();
  const knowledge = usePageState(selectKnowledge);
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
