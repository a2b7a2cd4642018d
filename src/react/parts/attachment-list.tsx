/** The attachments of a message: images as thumbnails, other files by name and size. */
import type { ReactNode } from "react";
import type { MessageView } from "../../client/index.ts";
import { isRasterType } from "../text/sanitize-link.ts";
import { formatBytes, formatNumber } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
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
        return (
          // The list never changes, and the same file may occur twice.
          <li key={index}>
            {address !== undefined && isRasterType(media_type) ? (
              <ImageItem url={address} alt={title} isTrusted size="thumbnail" />
            ) : (
              <AttachedFile title={title} size={formatBytes(bytes, ui.language)} address={address} />
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

interface AttachedFileProps {
  readonly title: string;
  readonly size: string;
  readonly address: string | undefined;
}

function AttachedFile({ title, size, address }: AttachedFileProps): ReactNode {
  const content = (
    <>
      <Icon name="file" />
      <span className="loom-attachment-name">{title}</span>
      <span className="loom-attachment-size">{size}</span>
    </>
  );
  return address === undefined ? (
    <span className="loom-attachment">{content}</span>
  ) : (
    <a className="loom-attachment" href={address} download={title}>
      {content}
    </a>
  );
}
