/** Uploads to the knowledge base, with progress and errors. */
import type { ReactNode } from "react";
import { Badge, IconButton, ProgressBar, useWords } from "../../../src/react/page-parts.ts";
import { usePage } from "../shell/page-context.tsx";
import type { KnowledgeUpload } from "../store/knowledge.ts";
import { KNOWLEDGE_WORDS } from "./knowledge-words.ts";

export function UploadList({ uploads }: { readonly uploads: readonly KnowledgeUpload[] }): ReactNode {
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
