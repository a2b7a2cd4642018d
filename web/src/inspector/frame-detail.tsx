/** One frame, whole: what it says, where it is on the page, and a copy of it. */
import type { ReactNode } from "react";
import { Badge, Button, CopyButton, type ElementPlace, formatNumber, useUi, useWords } from "loom-agent/react";
import type { ListedFrame } from "./filter-frames.ts";
import { formatOffset } from "./format-offset.ts";
import { formatSize } from "./format-size.ts";
import { INSPECTOR_WORDS } from "./inspector-words.ts";
import { JsonText } from "./json-text.tsx";

export interface FrameDetailProps {
  readonly frame: ListedFrame;
  /** From 1. */
  readonly number: number;
  readonly time: number | undefined;
  /** The list shows only frames of the same element. */
  readonly isAlone: boolean;
  readonly onShowElement: (place: ElementPlace) => void;
  readonly onNarrow: (place: ElementPlace | undefined) => void;
}

export function FrameDetail(props: FrameDetailProps): ReactNode {
  const { frame, number, time, isAlone, onShowElement, onNarrow } = props;
  const words = useWords(INSPECTOR_WORDS);
  const { language } = useUi();
  const { place, text, type } = frame;
  return (
    <section className="page-inspector-frame" aria-label={words.frames}>
      <header className="page-inspector-frame-head">
        <Badge>{formatNumber(number, language)}</Badge>
        <strong className="page-inspector-frame-type">{type === "" ? words.unreadable : type}</strong>
        <span className="page-inspector-soft">
          {[...(time === undefined ? [] : [formatOffset(time, language)]), formatSize(text, language)].join(" · ")}
        </span>
        <span className="page-inspector-frame-actions">
          {place === undefined ? null : (
            <>
              {place.kind === "turn" ? null : (
                <Button icon="list" aria-pressed={isAlone} onClick={() => onNarrow(isAlone ? undefined : place)}>
                  {words.onlyThis}
                </Button>
              )}
              <Button icon="search" onClick={() => onShowElement(place)}>
                {words.showOnPage}
              </Button>
            </>
          )}
          <CopyButton label={words.copyFrame} getText={() => text} />
        </span>
      </header>
      <JsonText text={text} label={type === "" ? words.unreadable : type} />
    </section>
  );
}
