/**
 * The visible rows of a table below a sticky header. Row height and column widths are fixed, so that scrolling does not
 * shift the layout.
 */
import { memo, type ReactNode, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { Json } from "../../protocol/index.ts";
import { useVirtualizer } from "../conversation/use-virtualizer.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { useHiddenSides } from "../ui/use-hidden-sides.ts";
import { defineWords, useWords } from "../ui/words.ts";
import type { Sorting } from "./arrange-rows.ts";
import { findGroupedColumns, formatTableCell } from "./group-digits.ts";
import { memoizeWeak } from "./memoize-weak.ts";
import { cellToText, type TableData } from "../../protocol/read-table.ts";
import { cutText } from "../../protocol/cut-text.ts";

const WORDS = defineWords({
  en: {
    column: (number: number) => `Column ${number}`,
    whole: (title: string) => `Show full ${title}`,
    cut: (count: number) => `${count} more characters not shown. Copy includes all.`,
  },
  zh: {
    column: (number: number) => `第 ${number} 列`,
    whole: (title: string) => `查看“${title}”全文`,
    cut: (count: number) => `还有 ${count} 个字符未显示，复制时包含全部内容。`,
  },
});

const getWidths = memoizeWeak(estimateColumnWidths);
const getGrouped = memoizeWeak(findGroupedColumns);

export interface TableGridProps {
  readonly table: TableData;
  readonly name: string;
  /** Row indexes in display order. */
  readonly rows: Uint32Array;
  /** Index of the first of `rows` among all `count` matching rows. */
  readonly firstIndex: number;
  readonly count: number;
  /** The rows scroll below the header. Otherwise the grid is as high as its rows. */
  readonly isScrolled: boolean;
  readonly sorting: Sorting | undefined;
  readonly onSort: (sorting: Sorting | undefined) => void;
}

interface OpenCell {
  readonly title: string;
  readonly text: string;
}

/** Keep in sync with `data.css`. */
const ROW_PX = 32;
const OVERSCAN = 10;
const MAX_TITLE = 200;

export function TableGrid(props: TableGridProps): ReactNode {
  const { table, name, rows, firstIndex, count, isScrolled, sorting, onSort } = props;
  const words = useWords(WORDS);
  const scroller = useRef<HTMLDivElement>(null);
  useHiddenSides(scroller);
  const [open, setOpen] = useState<OpenCell>();
  const widths = getWidths(table);
  const titles = useMemo(
    () =>
      table.columns.map(({ title }, column) => (title === "" ? words.column(column + 1) : cutText(title, MAX_TITLE))),
    [table, words],
  );
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
    // Used for server rendering, where nothing can be measured.
    initialRect: { width: 640, height: 12 * ROW_PX },
  });
  // A new order, filter or page starts at the top.
  useLayoutEffect(() => {
    if (scroller.current !== null) scroller.current.scrollTop = 0;
  }, [rows]);
  const seen = virtualizer.getVirtualItems();
  const above = seen[0]?.start ?? 0;
  const below = virtualizer.getTotalSize() - (seen.at(-1)?.end ?? 0);
  return (
    <div
      className="loom-table-scroller"
      data-scrolled={isScrolled}
      ref={scroller}
      tabIndex={0}
      role="group"
      aria-label={name}
    >
      <table
        className="loom-table"
        dir="auto"
        aria-label={name}
        aria-rowcount={count + 1}
        style={{ width: sizeTable(widths) }}
      >
        <colgroup>
          {widths.map((width, column) => (
            <col key={column} style={{ width: sizeColumn(width) }} />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {titles.map((title, column) => (
              <Heading
                key={column}
                title={title}
                kind={table.columns[column]?.kind ?? "text"}
                direction={sorting?.column === column ? sorting.direction : undefined}
                onClick={() => onSort(nextSorting(sorting, column))}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          <Spacer height={above} columns={titles.length} />
          {seen.map(({ index }) => (
            <Row
              key={rows[index]}
              table={table}
              row={rows[index] ?? 0}
              rowIndex={firstIndex + index}
              titles={titles}
              onOpen={setOpen}
            />
          ))}
          <Spacer height={below} columns={titles.length} />
        </tbody>
      </table>
      {open === undefined ? null : <CellDialog {...open} onClose={() => setOpen(undefined)} />}
    </div>
  );
}

const sizeColumn = (width: number): string => `calc(${width}ch + 1.5rem)`;
const sizeTable = (widths: readonly number[]): string =>
  `max(100%, calc(${widths.reduce((sum, width) => sum + width, 0)}ch + ${widths.length * 1.5}rem))`;

/** Cycles through ascending, descending and unsorted. */
function nextSorting(sorting: Sorting | undefined, column: number): Sorting | undefined {
  if (sorting?.column !== column) return { column, direction: "ascending" };
  return sorting.direction === "ascending" ? { column, direction: "descending" } : undefined;
}

interface HeadingProps {
  readonly title: string;
  readonly kind: string;
  readonly direction: Sorting["direction"] | undefined;
  readonly onClick: () => void;
}

function Heading({ title, kind, direction, onClick }: HeadingProps): ReactNode {
  return (
    <th scope="col" aria-sort={direction ?? "none"} data-kind={kind}>
      <button type="button" className="loom-table-heading" title={title} onClick={onClick}>
        <span>{title}</span>
        {direction === undefined ? null : <Icon name={direction === "ascending" ? "up" : "down"} />}
      </button>
    </th>
  );
}

function Spacer({ height, columns }: { readonly height: number; readonly columns: number }): ReactNode {
  if (height <= 0) return null;
  return (
    <tr aria-hidden="true" className="loom-table-space">
      <td colSpan={columns} style={{ height }} />
    </tr>
  );
}

interface RowProps {
  readonly table: TableData;
  readonly row: number;
  readonly rowIndex: number;
  readonly titles: readonly string[];
  readonly onOpen: (cell: OpenCell) => void;
}

/** Wider than the widest column: such cells open in a dialog. */
const LONG_TEXT = 34;
const LINE_TEXT = 120;

const Row = memo(function Row({ table, row, rowIndex, titles, onOpen }: RowProps): ReactNode {
  const words = useWords(WORDS);
  const grouped = getGrouped(table);
  return (
    <tr aria-rowindex={rowIndex + 2}>
      {titles.map((title, column) => {
        const cell = table.getCell(row, column);
        const text = formatTableCell(cell, grouped[column] === true);
        return (
          <td key={column} data-kind={table.columns[column]?.kind}>
            {text.length > LONG_TEXT || text.includes("\n") ? (
              <button
                type="button"
                className="loom-table-long"
                title={words.whole(title)}
                onClick={() => onOpen({ title, text: formatFullCell(cell) })}
              >
                {cutText(text, LINE_TEXT)}
              </button>
            ) : (
              text
            )}
          </td>
        );
      })}
    </tr>
  );
});

function formatFullCell(cell: Json): string {
  return typeof cell === "object" && cell !== null ? JSON.stringify(cell, undefined, 2) : cellToText(cell);
}

const MAX_SHOWN = 100_000;

function CellDialog({ title, text, onClose }: OpenCell & { readonly onClose: () => void }): ReactNode {
  const words = useWords(WORDS);
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="loom-table-cell">
        <CopyButton getText={() => text} />
        <pre dir="auto">{cutText(text, MAX_SHOWN)}</pre>
        {text.length > MAX_SHOWN ? <p className="loom-data-note">{words.cut(text.length - MAX_SHOWN)}</p> : null}
      </div>
    </Dialog>
  );
}

const SAMPLED_ROWS = 200;
const MIN_WIDTH = 4;
const MAX_WIDTH = 32;
/** Space for the sort icon. */
const SORT_ICON_WIDTH = 3;

/**
 * Estimates column widths in characters. Only some rows are rendered, so widths chosen by the browser would change
 * while scrolling.
 */
function estimateColumnWidths(table: TableData): number[] {
  const step = Math.max(1, Math.floor(table.rowCount / SAMPLED_ROWS));
  const grouped = findGroupedColumns(table);
  return table.columns.map(({ title }, column) => {
    let widest = measureText(title) + SORT_ICON_WIDTH;
    for (let row = 0; row < table.rowCount; row += step)
      widest = Math.max(widest, measureText(formatTableCell(table.getCell(row, column), grouped[column] === true)));
    return Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, widest));
  });
}

/** East Asian characters count twice. */
function measureText(text: string): number {
  const start = text.slice(0, MAX_WIDTH);
  return (
    start.length +
    (start.match(/[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60]/g)?.length ?? 0)
  );
}
