/** The files that came with a message: images small, everything else by its name and size. */
import type { ReactNode } from "react";
import type { MessageView } from "../../client/index.ts";
import { formatBytes } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { cutHead } from "./cut-text.ts";
import { ImageItem } from "./image-item.tsx";

const WORDS = defineWords({
  en: { attachments: "Attachments", unnamed: "Unnamed file" },
  zh: { attachments: "附件", unnamed: "未命名文件" },
});

const PIXELS = /^image\/(?:png|jpeg|gif|webp|avif)$/i;
const MAX_NAME = 120;
/** A message brings twenty at most; one from elsewhere may say what it likes. */
const MAX_SHOWN = 50;

export interface AttachmentListProps {
  readonly attachments: NonNullable<MessageView["attachments"]>;
}

export function AttachmentList({ attachments }: AttachmentListProps): ReactNode {
  const words = useWords(WORDS);
  const ui = useUi();
  if (attachments.length === 0) return null;
  return (
    <ul className="loom-attachments" aria-label={words.attachments}>
      {attachments.slice(0, MAX_SHOWN).map(({ blob_id, name, media_type, bytes }, index) => {
        const title = name === undefined || name === "" ? words.unnamed : cutHead(name, MAX_NAME);
        const address = ui.blobUrl?.(blob_id);
        return (
          // The same file may be there twice, and the list never changes.
          <li key={index}>
            {address !== undefined && PIXELS.test(media_type) ? (
              <ImageItem url={address} alt={title} size="thumbnail" />
            ) : (
              <AttachedFile title={title} size={formatBytes(bytes, ui.language)} address={address} />
            )}
          </li>
        );
      })}
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
