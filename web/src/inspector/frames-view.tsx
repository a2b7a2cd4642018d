/** List of the run's frames in any dialect, with filters and the selected frame. */
import { type ReactNode, useDeferredValue, useMemo, useRef, useState } from "react";
import { DIALECT_NAMES, type DialectName } from "loom-agent/dialects";
import { Button, type ElementTarget, formatNumber, useUi, useWords } from "loom-agent/react";
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

/** A source of listed frames. */
export interface FrameList {
  frameAt(index: number): ListedFrame | undefined;
  timeAt?(index: number): number | undefined;
}

export interface FramesViewProps {
  readonly frames: FrameList;
  readonly count: number;
  readonly dialect: DialectName;
  readonly onDialect: (dialect: DialectName) => void;
  /** More frames may arrive. The count is not announced then. */
  readonly isGrowing: boolean;
  /** Index of the selected frame, or -1. */
  readonly frame: number;
  readonly onSelect: (frame: number) => void;
  readonly onShowElement: (target: ElementTarget) => void;
  /** Loading status and further buttons. */
  readonly note?: ReactNode;
}

export function FramesView(props: FramesViewProps): ReactNode {
  const { frames, count, dialect, onDialect, isGrowing, frame, onSelect, onShowElement, note } = props;
  const words = useWords(INSPECTOR_WORDS);
  const { language } = useUi();
  const [filter, setFilter] = useState(NO_FILTER);
  const found = useFiltered(frames, count, useDeferredValue(filter));
  const types = useMemo(() => countTypes((index) => frames.frameAt(index), count), [frames, count]);
  const number = (value: number): string => formatNumber(value, language);
  const shown = found?.length ?? count;
  const frameOf = (row: number): number => (found === undefined ? row : (found[row] ?? -1));
  const selected = frame < 0 ? -1 : found === undefined ? frame : findRow(found, frame);
  const current = frames.frameAt(frame);
  const { target } = filter;
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
            {DIALECT_NAMES.map((name) => (
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
            // The first Escape clears the field, the second leaves it.
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
            const { type, text } = frames.frameAt(index) ?? { type: "", text: "" };
            const time = frames.timeAt?.(index);
            return (
              <div className="page-inspector-frames-row">
                <span className="page-inspector-frames-number">{number(index + 1)}</span>
                <span className="page-inspector-frames-time">
                  {time === undefined ? "" : formatOffset(time, language)}
                </span>
                <span className="page-inspector-frames-type">{type === "" ? words.unreadable : type}</span>
                <span className="page-inspector-frames-text">{formatPreview(text)}</span>
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
          time={frames.timeAt?.(frame)}
          isFiltered={target !== undefined && target.key === current.target?.key && target.kind === current.target.kind}
          onShowElement={onShowElement}
          onFilter={(only) => setFilter({ ...NO_FILTER, target: only })}
        />
      )}
    </div>
  );
}

/** Returns undefined without a filter. When frames are added, only the new ones are tested. */
function useFiltered(frames: FrameList, count: number, filter: FrameFilter): readonly number[] | undefined {
  const last = useRef<{ frames: FrameList; filter: FrameFilter; done: number; found: number[] }>(undefined);
  return useMemo(() => {
    if (!isFiltering(filter)) return undefined;
    const before = last.current;
    const goesOn = before?.frames === frames && before.filter === filter && before.done <= count;
    const [known, done] = goesOn ? [before.found, before.done] : [[], 0];
    const found = filterFrames((index) => frames.frameAt(index), count, filter, known, done);
    last.current = { frames, filter, done: count, found };
    return found;
  }, [frames, count, filter]);
}

/** Returns the row of a frame in the filtered list, or -1. */
function findRow(found: readonly number[], frame: number): number {
  let [low, high] = [0, found.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((found[middle] as number) < frame) low = middle + 1;
    else high = middle;
  }
  return found[low] === frame ? low : -1;
}

const PREVIEW_LENGTH = 160;
/** Envelope fields are the same in most frames. The preview leaves them out. */
const ENVELOPE = /"(?:session_id|run_id|node_id|event_id|prev_event_id|ts|type)":(?:"(?:[^"\\]|\\.)*"|[\d.]+),?/g;

function formatPreview(text: string): string {
  return text
    .slice(0, 3 * PREVIEW_LENGTH)
    .replaceAll(ENVELOPE, "")
    .slice(0, PREVIEW_LENGTH);
}
