/**
 * An image of an answer, in a box of one size whatever comes, so that nothing jumps; a press shows it large. It is fetched
 * from where the page says, or not at all: then its description and its address are shown.
 */
import { type ReactNode, useState } from "react";
import { Icon } from "../ui/icon.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { cutHead } from "./cut-text.ts";
import { findImageSource } from "../text/find-image-source.ts";
import { ImageViewer } from "./image-viewer.tsx";

const WORDS = defineWords({
  en: {
    image: "Image",
    view: (alt: string) => `View image: ${alt}`,
    failed: "The image could not be loaded.",
    withheld: "The image is not loaded from this address.",
  },
  zh: {
    image: "图片",
    view: (alt: string) => `查看图片：${alt}`,
    failed: "图片无法加载。",
    withheld: "不会从此地址加载图片。",
  },
});

const MAX_ALT = 500;
const MAX_ADDRESS = 200;

export interface ImageItemProps {
  /** As the sender wrote it. */
  readonly url: string;
  readonly alt?: string | undefined;
  /** The page itself gave the address: nobody needs to be asked where to load it from. */
  readonly isOwn?: boolean;
  /** `thumbnail` is small and has its description for those who cannot see it only. */
  readonly size?: "part" | "thumbnail";
}

export function ImageItem({ url, alt = "", isOwn = false, size = "part" }: ImageItemProps): ReactNode {
  const words = useWords(WORDS);
  const ui = useUi();
  const source = isOwn ? url : findImageSource(url, ui);
  const [failed, setFailed] = useState<string>();
  const [isViewed, setViewed] = useState(false);
  const caption = cutHead(alt, MAX_ALT);
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
          <p className="loom-image-address">{url.length > MAX_ADDRESS ? `${cutHead(url, MAX_ADDRESS)}…` : url}</p>
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
      {isViewed ? <ImageViewer url={url} source={source} name={name} onClose={() => setViewed(false)} /> : null}
    </figure>
  );
}
