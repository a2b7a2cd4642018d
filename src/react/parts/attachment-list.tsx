/** The attachments of a message: images as thumbnails, other files by name and size. */
import { type ReactNode, useEffect, useState } from "react";
import type { MessageView } from "../../client/view.ts";
import { isRasterType } from "../text/sanitize-link.ts";
import { formatBytes, formatNumber } from "../ui/format.ts";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { ImageItem } from "./image-item.tsx";
import { cutText } from "../../protocol/cut-text.ts";
import { Icon } from "../ui/icon.tsx";
import { saveBlob } from "../data/save-text.ts";

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
        const size = formatBytes(bytes, ui.language);
        return (
          // The list never changes, and the same file may occur twice.
          <li key={index}>
            {address !== undefined && isRasterType(media_type) ? (
              <ImageItem url={address} alt={title} isTrusted size="thumbnail" />
            ) : address === undefined && ui.loadBlob !== undefined ? (
              <LoadedAttachment blobId={blob_id} mediaType={media_type} title={title} size={size} />
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

interface AttachedFileProps {
  readonly title: string;
  readonly size: string;
  readonly address?: string | undefined;
  readonly onSave?: (() => void) | undefined;
  readonly hasFailed?: boolean;
}

/** A file by its name and size: a link to it, a button that saves it, or text. */
function AttachedFile({ title, size, address, onSave, hasFailed = false }: AttachedFileProps): ReactNode {
  const content = (
    <>
      <Icon name={hasFailed ? "alert" : "file"} />
      <span className="loom-attachment-name">{title}</span>
      <span className="loom-attachment-size">{size}</span>
    </>
  );
  if (address !== undefined)
    return (
      <a className="loom-attachment" href={address} download={title}>
        {content}
      </a>
    );
  if (onSave === undefined) return <span className="loom-attachment">{content}</span>;
  return (
    <button type="button" className="loom-attachment" onClick={onSave}>
      {content}
    </button>
  );
}

interface LoadedAttachmentProps {
  readonly blobId: string;
  readonly mediaType: string;
  readonly title: string;
  readonly size: string;
}

/** An attachment that is loaded with `Ui.loadBlob`: an image at once, another file when the user saves it. */
function LoadedAttachment({ blobId, mediaType, title, size }: LoadedAttachmentProps): ReactNode {
  const ui = useUi();
  const [address, setAddress] = useState<string>();
  const [hasFailed, setFailed] = useState(false);
  const isImage = isRasterType(mediaType);
  useEffect(() => {
    if (!isImage || ui.loadBlob === undefined) return undefined;
    const controller = new AbortController();
    let url: string | undefined;
    ui.loadBlob(blobId, controller.signal).then(
      (blob) => {
        if (controller.signal.aborted) return;
        // An image type, whatever the response says: the address is of this page.
        url = URL.createObjectURL(new Blob([blob], { type: mediaType }));
        setAddress(url);
      },
      () => setFailed(!controller.signal.aborted),
    );
    return () => {
      controller.abort();
      if (url !== undefined) URL.revokeObjectURL(url);
    };
  }, [blobId, isImage, mediaType, ui]);
  const save = async (): Promise<void> => {
    const blob = await ui.loadBlob?.(blobId, new AbortController().signal).catch(() => undefined);
    setFailed(blob === undefined);
    if (blob !== undefined) saveBlob(title, blob);
  };
  if (address !== undefined) return <ImageItem url={address} alt={title} isTrusted size="thumbnail" />;
  // Has the size of the thumbnail, so that nothing moves when the image is loaded.
  if (isImage && !hasFailed)
    return (
      <span className="loom-image-thumbnail" title={title}>
        <span className="loom-image-button" role="img" aria-label={title} />
      </span>
    );
  return <AttachedFile title={title} size={size} hasFailed={hasFailed} onSave={() => void save()} />;
}
