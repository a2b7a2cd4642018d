/**
 * An image of an answer, in a box of fixed size so that the layout does not shift. A click opens the viewer. A blocked
 * or broken image shows its description and URL.
 */
import { lazy, type ReactNode, Suspense, useState } from "react";
import { Icon } from "../ui/icon.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { findImageSource } from "../text/find-image-source.ts";
import { cutText, shorten } from "../../protocol/cut-text.ts";

const WORDS = defineWords({
  en: {
    image: "Image",
    view: (alt: string) => `View image: ${alt}`,
    failed: "Image failed to load.",
    withheld: "Images from this address are blocked.",
  },
  zh: {
    image: "图片",
    view: (alt: string) => `查看图片：${alt}`,
    failed: "图片加载失败。",
    withheld: "已阻止加载此地址的图片。",
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
    return (
      <div
        className={`loom-image-absent loom-image-${size}`}
        role="group"
        aria-label={name}
        data-tried={source !== undefined}
      >
        <Icon name="image" />
        <div>
          <p>{name}</p>
          <p className="loom-image-note">{source === undefined ? words.withheld : words.failed}</p>
          <p className="loom-image-address">{shorten(url, MAX_ADDRESS)}</p>
        </div>
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
