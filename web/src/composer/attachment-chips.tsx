/** Attachments of the draft, with upload progress. */
import type { ReactNode } from "react";
import { formatBytes, Icon, IconButton, ProgressBar, useUi, useWords } from "loom-agent/react";
import { usePage } from "../shell/page-context.tsx";
import type { Attachment } from "../store/composing.ts";
import { COMPOSER_WORDS } from "./composer-words.ts";

export function AttachmentChips({ files }: { readonly files: readonly Attachment[] }): ReactNode {
  const words = useWords(COMPOSER_WORDS);
  if (files.length === 0) return null;
  return (
    <ul className="page-chips" aria-label={words.attachments}>
      {files.map((file) => (
        <AttachmentChip key={file.id} file={file} />
      ))}
    </ul>
  );
}

function AttachmentChip({ file }: { readonly file: Attachment }): ReactNode {
  const words = useWords(COMPOSER_WORDS);
  const page = usePage();
  const { language } = useUi();
  const { id, name, bytes, mediaType, progress, blob, error } = file;
  return (
    <li className="page-chip" data-failed={error !== undefined}>
      <Icon name={error === undefined ? (mediaType.startsWith("image/") ? "image" : "file") : "alert"} />
      <span className="page-chip-text">
        <span className="page-chip-name" title={name}>
          {name}
        </span>
        <span className="page-chip-more" role={error === undefined ? undefined : "alert"}>
          {error ?? formatBytes(bytes, language)}
        </span>
        {blob === undefined && error === undefined ? (
          <ProgressBar value={progress} label={words.uploading(name)} />
        ) : null}
      </span>
      {error === undefined ? null : (
        <IconButton icon="retry" label={words.uploadAgain(name)} onClick={() => page.retryAttachment(id)} />
      )}
      <IconButton icon="close" label={words.remove(name)} onClick={() => page.removeAttachment(id)} />
    </li>
  );
}
