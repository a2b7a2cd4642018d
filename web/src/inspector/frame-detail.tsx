/** One frame in full, with buttons to copy it, filter by its element and show the element in the conversation. */
import type { ReactNode } from "react";
import {
  Badge,
  Button,
  CopyButton,
  type ElementTarget,
  formatNumber,
  useUi,
  useWords,
} from "../../../src/react/page-parts.ts";
import type { ListedFrame } from "./filter-frames.ts";
import { formatOffset, formatSize } from "./format.ts";
import { INSPECTOR_WORDS } from "./inspector-words.ts";
import { JsonText } from "./json-text.tsx";

export interface FrameDetailProps {
  readonly frame: ListedFrame;
  /** Counted from 1. */
  readonly number: number;
  readonly time: number | undefined;
  /** The list is filtered by this frame's element. */
  readonly isFiltered: boolean;
  /** Link to the frame; undefined if it has none. */
  readonly link: string | undefined;
  readonly onShowElement: (target: ElementTarget) => void;
  readonly onFilter: (target: ElementTarget | undefined) => void;
}

export function FrameDetail(props: FrameDetailProps): ReactNode {
  const { frame, number, time, isFiltered, link, onShowElement, onFilter } = props;
  const words = useWords(INSPECTOR_WORDS);
  const { language } = useUi();
  const { target, text, type } = frame;
  return (
    <section className="page-inspector-frame" aria-label={words.frames}>
      <header className="page-inspector-frame-head">
        <Badge>{formatNumber(number, language)}</Badge>
        <strong className="page-inspector-frame-type">{type === "" ? words.unreadable : type}</strong>
        <span className="page-inspector-soft">
          {[...(time === undefined ? [] : [formatOffset(time, language)]), formatSize(text, language)].join(" · ")}
        </span>
        <span className="page-inspector-frame-actions">
          {target === undefined ? null : (
            <>
              {target.kind === "turn" ? null : (
                <Button
                  icon="filter"
                  aria-pressed={isFiltered}
                  onClick={() => onFilter(isFiltered ? undefined : target)}
                >
                  {words.onlyThis}
                </Button>
              )}
              <Button icon="show" onClick={() => onShowElement(target)}>
                {words.showOnPage}
              </Button>
            </>
          )}
          {link === undefined ? null : <CopyButton icon="link" label={words.copyLink} getText={() => link} />}
          <CopyButton label={words.copyFrame} getText={() => text} />
        </span>
      </header>
      <JsonText text={text} label={type === "" ? words.unreadable : type} />
    </section>
  );
}
