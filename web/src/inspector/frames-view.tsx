/** List of the run's frames in any dialect, with filters and the selected frame. */
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { DIALECT_NAMES, type DialectName } from "loom-agent/dialects";
import {
  Button,
  CopyButton,
  type ElementTarget,
  formatNumber,
  IconButton,
  useUi,
  useWords,
} from "../../../src/react/page-parts.ts";
import {
  countTypes,
  filterFrames,
  type FrameFilter,
  isFiltering,
  type ListedFrame,
  NO_FILTER,
} from "./filter-frames.ts";
import { formatOffset, formatSize } from "./format.ts";
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
  /** Returns a link to a frame. */
  readonly linkOf?: ((index: number) => string | undefined) | undefined;
  /** Returns the request for these frames as a shell command. */
  readonly curl: () => string;
  /** Loading status and further buttons. */
  readonly note?: ReactNode;
}

export function FramesView(props: FramesViewProps): ReactNode {
  const { frames, count, dialect, onDialect, isGrowing, frame, onSelect, onShowElement, linkOf, curl, note } = props;
  const words = useWords(INSPECTOR_WORDS);
  const { language } = useUi();
  const [filter, setFilter] = useState(NO_FILTER);
  const { found, isSearching } = useFiltered(frames, count, filter);
  const types = useMemo(() => countTypes((index) => frames.frameAt(index), count), [frames, count]);
  const number = (value: number): string => formatNumber(value, language);
  const shown = found?.length ?? count;
  const frameOf = (row: number): number => (found === undefined ? row : (found[row] ?? -1));
  const selected = frame < 0 ? -1 : found === undefined ? frame : findRow(found, frame);
  const current = frames.frameAt(frame);
  const { target } = filter;
  /** Goes to the next or previous match, from the last to the first and back. */
  const goTo = (step: 1 | -1): void => {
    if (found === undefined || shown === 0) return;
    const next = step === 1 ? findAfter(found, frame) : findAfter(found, frame - 1) - 1;
    onSelect(frameOf((next + shown) % shown));
  };
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
            if (event.key === "Enter" && !event.nativeEvent.isComposing) goTo(event.shiftKey ? -1 : 1);
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
        <span role={isGrowing || isSearching ? undefined : "status"}>
          {found === undefined ? words.all(number(count)) : words.found(number(shown), number(count))}
        </span>
        {found === undefined || shown === 0 ? null : (
          <>
            <IconButton icon="up" label={words.previousMatch} onClick={() => goTo(-1)} />
            <IconButton icon="down" label={words.nextMatch} onClick={() => goTo(1)} />
          </>
        )}
        {isFiltering(filter) ? <Button onClick={() => setFilter(NO_FILTER)}>{words.clear}</Button> : null}
        {note}
        <CopyButton icon="terminal" label={words.copyCurl} getText={curl} />
      </p>
      {shown === 0 ? (
        <p className="page-inspector-note">{count === 0 || isSearching ? null : words.noneFound}</p>
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
          link={linkOf?.(frame)}
          onShowElement={onShowElement}
          onFilter={(only) => setFilter({ ...NO_FILTER, target: only })}
        />
      )}
    </div>
  );
}

/** Frames tested before the browser may render. */
const CHUNK = 5000;

interface FrameSearch {
  readonly frames: FrameList;
  readonly filter: FrameFilter;
  /** Frames that were tested. */
  readonly done: number;
  readonly found: readonly number[];
}

/**
 * Returns the matching frames; undefined without a filter. Many frames are tested in chunks. When frames are added, only
 * the new ones are tested.
 */
function useFiltered(
  frames: FrameList,
  count: number,
  filter: FrameFilter,
): { readonly found: readonly number[] | undefined; readonly isSearching: boolean } {
  const [search, setSearch] = useState<FrameSearch>();
  const goesOn = search?.frames === frames && search.filter === filter && search.done <= count;
  const done = goesOn ? search.done : 0;
  const isOn = isFiltering(filter);
  const isSearching = isOn && (!goesOn || done < count);
  useEffect(() => {
    if (!isSearching) return undefined;
    const test = (): void => {
      const end = Math.min(count, done + CHUNK);
      const found = filterFrames((index) => frames.frameAt(index), end, filter, goesOn ? search.found : [], done);
      setSearch({ frames, filter, done: end, found });
    };
    // The first chunk at once: most runs are short.
    if (done === 0) {
      test();
      return undefined;
    }
    const timer = setTimeout(test);
    return () => clearTimeout(timer);
  });
  return { found: isOn ? (goesOn ? search.found : NONE) : undefined, isSearching };
}

const NONE: readonly number[] = [];

/** Returns the row of a frame in the filtered list, or -1. */
function findRow(found: readonly number[], frame: number): number {
  const row = findAfter(found, frame - 1);
  return found[row] === frame ? row : -1;
}

/** Returns the first row whose frame is after this one; the number of rows if there is none. */
function findAfter(found: readonly number[], frame: number): number {
  let [low, high] = [0, found.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((found[middle] as number) <= frame) low = middle + 1;
    else high = middle;
  }
  return low;
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
