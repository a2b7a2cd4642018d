/** Files of the draft: thumbnails of images, names of others, and the progress of their upload. */
import type { ReactNode } from "react";
import { isRasterType } from "../text/sanitize-link.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { formatBytes } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { ProgressBar } from "../ui/indicators.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { useWords } from "../ui/words.ts";
import { COMPOSER_WORDS } from "./composer-words.ts";
import type { DraftFile, FileActions } from "./draft.ts";

export interface AttachmentChipsProps {
  readonly files: readonly DraftFile[];
  readonly actions: FileActions;
}

export function AttachmentChips({ files, actions }: AttachmentChipsProps): ReactNode {
  const words = useWords(COMPOSER_WORDS);
  if (files.length === 0) return null;
  return (
    <ul className="loom-chips" aria-label={words.attachments}>
      {files.map((file) => (
        <AttachmentChip key={file.id} file={file} actions={actions} />
      ))}
    </ul>
  );
}

function AttachmentChip({ file, actions }: { readonly file: DraftFile; readonly actions: FileActions }): ReactNode {
  const words = useWords(COMPOSER_WORDS);
  const ui = useUi();
  const { id, name, bytes, mediaType, progress, blob, error } = file;
  const stored = blob === undefined ? undefined : ui.blobUrl?.(blob.blob_id);
  const thumbnail = isRasterType(mediaType) ? (file.preview ?? stored) : undefined;
  return (
    <li className="loom-chip" data-failed={error !== undefined}>
      {thumbnail !== undefined && error === undefined ? (
        <img className="loom-chip-image" src={thumbnail} alt="" decoding="async" />
      ) : (
        <Icon name={error === undefined ? (mediaType.startsWith("image/") ? "image" : "file") : "alert"} />
      )}
      <span className="loom-chip-text">
        <span className="loom-chip-name" title={name}>
          {name}
        </span>
        <span className="loom-chip-more" role={error === undefined ? undefined : "alert"}>
          {error ?? formatBytes(bytes, ui.language)}
        </span>
        {blob === undefined && error === undefined ? (
          <ProgressBar value={progress} label={words.uploading(name)} />
        ) : null}
      </span>
      {file.pasted !== undefined ? (
        <Button title={words.undoPaste} onClick={() => actions.undoPaste(id)}>
          {words.undo}
        </Button>
      ) : null}
      {error === undefined ? null : (
        <IconButton icon="retry" label={words.uploadAgain(name)} onClick={() => actions.retryAttachment(id)} />
      )}
      <IconButton icon="close" label={words.remove(name)} onClick={() => actions.removeAttachment(id)} />
    </li>
  );
}
