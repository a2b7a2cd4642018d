/** The frames of the run as they are on the wire, in any dialect: listed, filtered, and one of them read. */
import { type ReactNode, useDeferredValue, useMemo, useRef, useState } from "react";
import type { DialectName } from "loom-agent/dialects";
import { Button, type ElementPlace, formatNumber, useUi, useWords } from "loom-agent/react";
import {
  countTypes,
  filterFrames,
  type FrameFilter,
  isFiltering,
  type ListedFrame,
  NO_FILTER,
} from "./filter-frames.ts";
import { formatOffset } from "./format-offset.ts";
import { formatSize } from "./format-size.ts";
import { FrameDetail } from "./frame-detail.tsx";
import { INSPECTOR_WORDS } from "./inspector-words.ts";
import { RowList } from "./row-list.tsx";

/** Whatever holds frames. */
export interface FrameBook {
  frameAt(index: number): ListedFrame | undefined;
  timeAt?(index: number): number | undefined;
}

export interface FramesViewProps {
  readonly book: FrameBook;
  readonly count: number;
  readonly dialect: DialectName;
  readonly onDialect: (dialect: DialectName) => void;
  /** More may come: then nothing is said aloud of how many there are. */
  readonly isGrowing: boolean;
  /** The frame one looks at; -1 for none. */
  readonly frame: number;
  readonly onSelect: (frame: number) => void;
  readonly onShowElement: (place: ElementPlace) => void;
  /** How the reading stands, where there is something to say. */
  readonly note?: ReactNode;
}

/** Named here, since the list of them would bring all their encoders with it. None can be forgotten. */
const DIALECTS: { readonly [N in DialectName]: true } = {
  loom: true,
  export: true,
  "stream-event": true,
  engine: true,
  lumine: true,
};

export function FramesView(props: FramesViewProps): ReactNode {
  const { book, count, dialect, onDialect, isGrowing, frame, onSelect, onShowElement, note } = props;
  const words = useWords(INSPECTOR_WORDS);
  const { language } = useUi();
  const [filter, setFilter] = useState(NO_FILTER);
  const found = useFiltered(book, count, useDeferredValue(filter));
  const types = useMemo(() => countTypes((index) => book.frameAt(index), count), [book, count]);
  const number = (value: number): string => formatNumber(value, language);
  const shown = found?.length ?? count;
  const frameOf = (row: number): number => (found === undefined ? row : (found[row] ?? -1));
  const selected = frame < 0 ? -1 : found === undefined ? frame : findPlace(found, frame);
  const current = book.frameAt(frame);
  const { place } = filter;
  return (
    <div className="page-inspector-frames">
      <div className="page-inspector-frames-tools">
        <label className="page-inspector-field">
          <span className="loom-said">{words.dialect}</span>
          <select
            className="page-inspector-select"
            value={dialect}
            onChange={(event) => {
              setFilter(NO_FILTER);
              onDialect(event.target.value as DialectName);
            }}
          >
            {Object.keys(DIALECTS).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label className="page-inspector-field">
          <span className="loom-said">{words.type}</span>
          <select
            className="page-inspector-select"
            value={filter.type}
            onChange={(event) => setFilter({ ...filter, type: event.target.value })}
          >
            <option value="">{words.allTypes}</option>
            {types.map(([type, many]) => (
              <option key={type} value={type} disabled={type === ""}>
                {`${type === "" ? words.unreadable : type} (${number(many)})`}
              </option>
            ))}
          </select>
        </label>
        <input
          className="page-inspector-input"
          type="search"
          placeholder={words.find}
          aria-label={words.find}
          value={filter.text}
          onChange={(event) => setFilter({ ...filter, text: event.target.value })}
          onKeyDown={(event) => {
            if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
            // Emptied first, then left.
            if (filter.text === "") return event.currentTarget.blur();
            event.preventDefault();
            event.stopPropagation();
            setFilter({ ...filter, text: "" });
          }}
        />
      </div>
      <p className="page-inspector-frames-count">
        <span role={isGrowing ? undefined : "status"}>
          {found === undefined ? words.all(number(count)) : words.found(number(shown), number(count))}
        </span>
        {isFiltering(filter) ? <Button onClick={() => setFilter(NO_FILTER)}>{words.clear}</Button> : null}
        {note}
      </p>
      {shown === 0 ? (
        <p className="page-inspector-note">{count === 0 ? null : words.noneFound}</p>
      ) : (
        <RowList
          label={words.frames}
          listKey={dialect}
          count={shown}
          selected={selected}
          onSelect={(row) => onSelect(frameOf(row))}
          renderRow={(row) => {
            const index = frameOf(row);
            const { type, text } = book.frameAt(index) ?? { type: "", text: "" };
            const time = book.timeAt?.(index);
            return (
              <div className="page-inspector-frames-row">
                <span className="page-inspector-frames-number">{number(index + 1)}</span>
                <span className="page-inspector-frames-time">
                  {time === undefined ? "" : formatOffset(time, language)}
                </span>
                <span className="page-inspector-frames-type">{type === "" ? words.unreadable : type}</span>
                <span className="page-inspector-frames-text">{showPart(text)}</span>
                <span className="page-inspector-frames-size">{formatSize(text, language)}</span>
              </div>
            );
          }}
        />
      )}
      {current === undefined ? (
        <p className="page-inspector-note">{words.chooseFrame}</p>
      ) : (
        <FrameDetail
          frame={current}
          number={frame + 1}
          time={book.timeAt?.(frame)}
          isAlone={place !== undefined && place.key === current.place?.key && place.kind === current.place.kind}
          onShowElement={onShowElement}
          onNarrow={(only) => setFilter({ ...NO_FILTER, place: only })}
        />
      )}
    </div>
  );
}

/** Undefined for all. While frames come, those that were looked at are not looked at again. */
function useFiltered(book: FrameBook, count: number, filter: FrameFilter): readonly number[] | undefined {
  const last = useRef<{ book: FrameBook; filter: FrameFilter; done: number; found: number[] }>(undefined);
  return useMemo(() => {
    if (!isFiltering(filter)) return undefined;
    const before = last.current;
    const goesOn = before?.book === book && before.filter === filter && before.done <= count;
    const [known, done] = goesOn ? [before.found, before.done] : [[], 0];
    const found = filterFrames((index) => book.frameAt(index), count, filter, known, done);
    last.current = { book, filter, done: count, found };
    return found;
  }, [book, count, filter]);
}

/** Where a frame stands among those found; -1 where it is not. */
function findPlace(found: readonly number[], frame: number): number {
  let [low, high] = [0, found.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((found[middle] as number) < frame) low = middle + 1;
    else high = middle;
  }
  return found[low] === frame ? low : -1;
}

const PART = 160;
/** What all frames of a run begin with says nothing in a list. */
const ENVELOPE = /"(?:session_id|run_id|node_id|event_id|prev_event_id|ts|type)":(?:"(?:[^"\\]|\\.)*"|[\d.]+),?/g;

function showPart(text: string): string {
  return text
    .slice(0, 3 * PART)
    .replaceAll(ENVELOPE, "")
    .slice(0, PART);
}
