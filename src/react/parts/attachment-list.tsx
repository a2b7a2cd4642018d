/** The attachments of a message: images as thumbnails, other files by name and size. */
import { lazy, type ReactNode, Suspense } from "react";
import type { MessageView } from "../../client/view.ts";
import { isRasterType } from "../text/sanitize-link.ts";
import { formatBytes, formatNumber } from "../ui/format.ts";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { AttachedFile } from "./attached-file.tsx";
import { ImageItem } from "./image-item.tsx";
import { cutText } from "../../protocol/cut-text.ts";

const WORDS = defineWords({
  en: {
    attachments: "Attachments",
    unnamed: "Unnamed file",
    more: (count: string) => `${count} more not shown`,
  },
  zh: { attachments: "附件", unnamed: "未命名文件", more: (count: string) => `另有 ${count} 个未显示` },
});

const LoadedAttachment = lazy(async () => ({
  default: (await import("./loaded-attachment.tsx")).LoadedAttachment,
}));

const MAX_NAME = 120;
/** Messages sent by a user have at most 20 attachments; other senders may exceed that. */
const MAX_SHOWN = 50;

export interface AttachmentListProps {
  readonly attachments: NonNullable<MessageView["attachments"]>;
}

/** Lists the attachments of a message. Renders nothing if there are none. */
export function AttachmentList({ attachments }: AttachmentListProps): ReactNode {
  const words = useWords(WORDS);
  const ui = useUi();
  if (attachments.length === 0) return null;
  return (
    <ul className="loom-attachments" aria-label={words.attachments}>
      {attachments.slice(0, MAX_SHOWN).map(({ blob_id, name, media_type, bytes }, index) => {
        const title = name === undefined || name === "" ? words.unnamed : cutText(name, MAX_NAME);
        // A lone surrogate cannot be part of a URL.
        const address = blob_id.isWellFormed() ? ui.blobUrl?.(blob_id) : undefined;
        const size = formatBytes(bytes, ui.language);
        return (
          // The list never changes, and the same file may occur twice.
          <li key={index}>
            {address !== undefined && isRasterType(media_type) ? (
              <ImageItem url={address} alt={title} isTrusted size="thumbnail" />
            ) : address === undefined && ui.loadBlob !== undefined ? (
              <Suspense fallback={<AttachedFile title={title} size={size} />}>
                <LoadedAttachment blobId={blob_id} mediaType={media_type} title={title} size={size} />
              </Suspense>
            ) : (
              <AttachedFile title={title} size={size} address={address} />
            )}
          </li>
        );
      })}
      {attachments.length > MAX_SHOWN ? (
        <li className="loom-attachment-size">
          {words.more(formatNumber(attachments.length - MAX_SHOWN, ui.language))}
        </li>
      ) : null}
    </ul>
  );
}
