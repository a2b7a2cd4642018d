/**
 * An image of an answer, in a box of fixed size so that the layout does not shift. A click opens the viewer. A blocked
 * or broken image is one line: its description, and a link to it.
 */
import { lazy, type ReactNode, Suspense, useState } from "react";
import { Icon } from "../ui/icon.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { findImageSource } from "../text/find-image-source.ts";
import { sanitizeLink } from "../text/sanitize-link.ts";
import { cutText, shorten } from "../../protocol/cut-text.ts";

const WORDS = defineWords({
  en: {
    image: "Image",
    view: (alt: string) => `View image: ${alt}`,
    failed: "Could not be loaded",
    withheld: "Images from this address are blocked",
    retry: "Retry",
    open: "Open link",
  },
  zh: {
    image: "图片",
    view: (alt: string) => `查看图片：${alt}`,
    failed: "图片加载失败",
    withheld: "已阻止加载此地址的图片",
    retry: "重试",
    open: "打开链接",
  },
});

const ImageViewer = lazy(async () => ({ default: (await import("./image-viewer.tsx")).ImageViewer }));

const MAX_ALT = 500;
const MAX_ADDRESS = 200;

export interface ImageItemProps {
  /** URL as the sender wrote it. */
  readonly url: string;
  /** Text alternative, also used as the caption. */
  readonly alt?: string | undefined;
  /** The URL comes from the page itself, so it is loaded without `Ui.imageUrl`. Default: false. */
  readonly isTrusted?: boolean;
  /** `thumbnail` is small and has no visible caption. Default: `part`. */
  readonly size?: "part" | "thumbnail";
}

/** Shows an image that opens in a viewer, or its description if it is blocked or fails to load. */
export function ImageItem({ url, alt = "", isTrusted = false, size = "part" }: ImageItemProps): ReactNode {
  const words = useWords(WORDS);
  const ui = useUi();
  const source = isTrusted ? url : findImageSource(url, ui);
  const [failed, setFailed] = useState<string>();
  const [isViewed, setViewed] = useState(false);
  const caption = cutText(alt, MAX_ALT);
  const name = caption === "" ? words.image : caption;
  if (source === undefined || failed === source) {
    const link = isTrusted ? undefined : sanitizeLink(url);
    return (
      <div className="loom-image-absent" role="group" aria-label={name} title={shorten(url, MAX_ADDRESS)}>
        <Icon name="image" />
        <span className="loom-image-name">{name}</span>
        <span className="loom-image-note">{source === undefined ? words.withheld : words.failed}</span>
        {source === undefined ? null : (
          <button type="button" className="loom-more" onClick={() => setFailed(undefined)}>
            {words.retry}
          </button>
        )}
        {link === undefined ? null : (
          <a className="loom-link" href={link} target="_blank" rel="noreferrer noopener">
            {words.open}
          </a>
        )}
      </div>
    );
  }
  return (
    <figure className={`loom-image loom-image-${size}`}>
      <button
        type="button"
        className="loom-image-button"
        aria-label={words.view(name)}
        aria-haspopup="dialog"
        onClick={() => setViewed(true)}
      >
        <img
          src={source}
          alt=""
          loading="lazy"
          decoding="async"
          referrerPolicy="no-referrer"
          onError={() => setFailed(source)}
        />
      </button>
      {size === "part" && caption !== "" ? <figcaption>{caption}</figcaption> : null}
      {isViewed ? (
        <Suspense fallback={null}>
          <ImageViewer url={url} source={source} name={name} onClose={() => setViewed(false)} />
        </Suspense>
      ) : null}
    </figure>
  );
}
