/** An attachment that is loaded with `Ui.loadBlob`: an image at once, another file when the user saves it. */
import { type ReactNode, useEffect, useState } from "react";
import { saveBlob } from "../data/save-text.ts";
import { isRasterType } from "../text/sanitize-link.ts";
import { useUi } from "../ui/ui-context.tsx";
import { AttachedFile } from "./attached-file.tsx";
import { ImageItem } from "./image-item.tsx";

export interface LoadedAttachmentProps {
  readonly blobId: string;
  readonly mediaType: string;
  readonly title: string;
  readonly size: string;
}

export function LoadedAttachment({ blobId, mediaType, title, size }: LoadedAttachmentProps): ReactNode {
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
