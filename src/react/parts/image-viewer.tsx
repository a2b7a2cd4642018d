/** A dialog that shows one image, fitted or zoomed. */
import { type KeyboardEvent, type ReactNode, useRef, useState } from "react";
import { sanitizeLink } from "../text/sanitize-link.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { formatNumber } from "../ui/format.ts";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";

const WORDS = defineWords({
  en: {
    zoomIn: "Zoom in",
    zoomOut: "Zoom out",
    fit: "Fit to view",
    original: "Open original",
    area: "Image. Press + or − to zoom, 0 to fit.",
  },
  zh: {
    zoomIn: "放大",
    zoomOut: "缩小",
    fit: "适应窗口",
    original: "打开原图",
    area: "图片，按 + 或 − 缩放，按 0 适应窗口",
  },
});

const STEP = 1.5;
const MIN_SCALE = 0.1;
const MAX_SCALE = 8;

export interface ImageViewerProps {
  /** URL as the sender wrote it; empty if the image has none. */
  readonly url: string;
  /** URL the image is loaded from. */
  readonly source: string;
  /** Title of the dialog, and text alternative. */
  readonly name: string;
  readonly onClose: () => void;
}

/** Shows one image in a dialog, fitted or zoomed. */
export function ImageViewer({ url, source, name, onClose }: ImageViewerProps): ReactNode {
  const words = useWords(WORDS);
  const { language } = useUi();
  /** Undefined fits the image to the window. */
  const [scale, setScale] = useState<number>();
  const image = useRef<HTMLImageElement>(null);
  // A link may lead to another site, although the page itself loads nothing from there.
  const link = sanitizeLink(url) ?? (source.startsWith("data:") ? undefined : source);
  const zoom = (factor: number): void => {
    const before = scale ?? measureFit(image.current);
    setScale(Math.min(MAX_SCALE, Math.max(MIN_SCALE, before * factor)));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=") zoom(STEP);
    else if (event.key === "-") zoom(1 / STEP);
    else if (event.key === "0") setScale(undefined);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={name} onClose={onClose} size="wide">
      <div className="loom-viewer" onKeyDown={onKeyDown}>
        <div className="loom-viewer-tools">
          <IconButton icon="zoomOut" label={words.zoomOut} onClick={() => zoom(1 / STEP)} />
          <IconButton icon="zoomIn" label={words.zoomIn} onClick={() => zoom(STEP)} />
          <Button aria-pressed={scale === undefined} onClick={() => setScale(undefined)}>
            {words.fit}
          </Button>
          <span className="loom-clock">
            {scale === undefined ? null : `${formatNumber(Math.round(scale * 100), language)} %`}
          </span>
          {link === undefined ? null : (
            <a className="loom-viewer-link" href={link} target="_blank" rel="noreferrer noopener">
              {words.original}
            </a>
          )}
        </div>
        <div
          className="loom-viewer-area"
          data-fit={scale === undefined}
          tabIndex={0}
          role="group"
          aria-label={words.area}
        >
          <img
            ref={image}
            src={source}
            alt={name}
            referrerPolicy="no-referrer"
            style={scale === undefined ? undefined : { width: (image.current?.naturalWidth ?? 0) * scale }}
          />
        </div>
      </div>
    </Dialog>
  );
}

/** Returns the scale of the fitted image relative to its natural size. */
function measureFit(image: HTMLImageElement | null): number {
  if (image === null || image.naturalWidth === 0) return 1;
  return Math.min(image.clientWidth / image.naturalWidth, image.clientHeight / image.naturalHeight);
}
