/** An image of an answer, loaded only through `Ui.imageUrl`. Blocked images show their alternative text. */
import { type ReactNode, useState } from "react";
import { Icon } from "../ui/icon.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { useWords } from "../ui/words.ts";
import { findImageSource } from "./find-image-source.ts";
import { sanitizeImageUrl } from "./sanitize-link.ts";
import { TEXT_WORDS } from "./text-words.ts";

export interface TextImageProps {
  /** URL with character references decoded. */
  readonly url: string;
  readonly alt: string;
  readonly title?: string | undefined;
}

export function TextImage({ url, alt, title }: TextImageProps): ReactNode {
  const words = useWords(TEXT_WORDS);
  const ui = useUi();
  const [failed, setFailed] = useState<string>();
  const address = sanitizeImageUrl(url);
  const source = address === undefined ? undefined : findImageSource(address, ui);
  if (source === undefined || failed === source) {
    return (
      <span className="loom-text-no-image">
        <Icon name="image" /> {alt} <small>({source === undefined ? words.imageNotShown : words.imageFailed})</small>
      </span>
    );
  }
  return (
    <img
      className="loom-text-image"
      src={source}
      alt={alt}
      title={title}
      loading="lazy"
      decoding="async"
      referrerPolicy="no-referrer"
      onError={() => setFailed(source)}
    />
  );
}
