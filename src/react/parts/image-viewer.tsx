/** One image above the page: as large as there is room for, or larger and moved about. */
import { type KeyboardEvent, type ReactNode, useRef, useState } from "react";
import { judgeLink } from "../text/judge-link.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { formatNumber } from "../ui/format.ts";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";

const WORDS = defineWords({
  en: {
    zoomIn: "Larger",
    zoomOut: "Smaller",
    fit: "Fit",
    original: "Open the original",
    area: "Image; the keys + and − change its size, 0 fits it",
  },
  zh: {
    zoomIn: "放大",
    zoomOut: "缩小",
    fit: "适应窗口",
    original: "打开原图",
    area: "图片；按 + 和 − 键缩放，按 0 键适应窗口",
  },
});

const STEP = 1.5;
const LEAST = 0.1;
const MOST = 8;

export interface ImageViewerProps {
  /** As the sender wrote it. */
  readonly url: string;
  /** Where it is fetched from. */
  readonly source: string;
  readonly name: string;
  readonly onClose: () => void;
}

export function ImageViewer({ url, source, name, onClose }: ImageViewerProps): ReactNode {
  const words = useWords(WORDS);
  const { language } = useUi();
  /** Undefined: it fits. */
  const [scale, setScale] = useState<number>();
  const image = useRef<HTMLImageElement>(null);
  // The address in it may be that of another site, which a link leads to and the page never asks.
  const link = judgeLink(url) ?? (source.startsWith("data:") ? undefined : source);
  const zoom = (factor: number): void => {
    const before = scale ?? measureFit(image.current);
    setScale(Math.min(MOST, Math.max(LEAST, before * factor)));
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
          <IconButton icon="minus" label={words.zoomOut} onClick={() => zoom(1 / STEP)} />
          <IconButton icon="add" label={words.zoomIn} onClick={() => zoom(STEP)} />
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

/** How large an image that fits is shown, of its own size. */
function measureFit(image: HTMLImageElement | null): number {
  if (image === null || image.naturalWidth === 0) return 1;
  return Math.min(image.clientWidth / image.naturalWidth, image.clientHeight / image.naturalHeight);
}
