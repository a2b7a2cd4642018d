/**
 * A table that can be sorted, filtered, paged, copied and downloaded as CSV. Only visible rows are rendered. Sorting,
 * filtering and export run in slices, so that the page stays responsive.
 */
import { memo, type ReactNode, useDeferredValue, useEffect, useMemo, useState } from "react";
import type { JsonObject } from "../../protocol/index.ts";
import { ShortText } from "../parts/log-box.tsx";
import { IconButton } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { formatNumber } from "../ui/format.ts";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { createRowArranger, listRows, type RowQuery } from "./arrange-rows.ts";
import { DataTree } from "./data-tree.tsx";
import { readTable, type TableData } from "../../protocol/read-table.ts";
import { memoizeWeak } from "./memoize-weak.ts";
import { computeInSlices, runInSlices } from "./run-in-slices.ts";
import { saveText } from "./save-text.ts";
import { TableGrid } from "./table-grid.tsx";
import { SMALLEST_PAGE, TablePages } from "./table-pages.tsx";
import { writeCsv } from "./write-csv.ts";
import { cutText } from "../../protocol/cut-text.ts";

const WORDS = defineWords({
  en: {
    table: "Table",
    filter: "Filter rows",
    rows: (count: string) => (count === "1" ? "1 row" : `${count} rows`),
    found: (count: string, all: string) => `${count} of ${all} rows`,
    none: "No matching rows.",
    empty: "No rows.",
    copy: "Copy as CSV",
    save: "Download CSV",
    omitted: (count: string) => `Columns not shown: ${count}`,
  },
  zh: {
    table: "表格",
    filter: "筛选行",
    rows: (count: string) => `共 ${count} 行`,
    found: (count: string, all: string) => `${all} 行中的 ${count} 行`,
    none: "没有匹配的行。",
    empty: "无数据。",
    copy: "复制为 CSV",
    save: "下载 CSV",
    omitted: (count: string) => `另有 ${count} 列未显示`,
  },
});

const findTable = memoizeWeak(readTable);

export interface DataTableProps {
  /** `columns` and `rows`, and an optional `name`. */
  readonly data: JsonObject;
  /** Caption below the title. */
  readonly description?: string | undefined;
  /** Shows the name of the table. Default: true. */
  readonly isNamed?: boolean;
}

/** Shows a table. Data that is not a table is shown as JSON. */
export const DataTable = memo(function DataTable({ data, description, isNamed = true }: DataTableProps): ReactNode {
  const table = findTable(data);
  if (table === undefined) return <DataTree data={data} />;
  return <TableView table={table} description={description} isNamed={isNamed} />;
});

interface TableViewProps {
  readonly table: TableData;
  readonly description: string | undefined;
  readonly isNamed: boolean;
}

const MAX_NAME = 200;
/** Shorter tables have no filter. */
const MIN_FILTERED_ROWS = 6;
const LOCALES = { en: "en", zh: "zh-CN" } as const;
/** Without it, spreadsheets may assume another encoding. */
const BYTE_ORDER_MARK = "\uFEFF";

function TableView({ table, description, isNamed }: TableViewProps): ReactNode {
  const words = useWords(WORDS);
  const { language } = useUi();
  const [{ filter, sorting, pageSize, page }, change] = useTableState(table);
  const { rows, isBusy } = useArrangedRows(table, { filter: useDeferredValue(filter), sorting }, LOCALES[language]);

  const shownPage = Math.max(0, Math.min(page, Math.ceil(rows.length / pageSize) - 1));
  const first = pageSize === Infinity ? 0 : shownPage * pageSize;
  const shown = useMemo(() => rows.subarray(first, first + pageSize), [rows, first, pageSize]);
  const say = (count: number): string => formatNumber(count, language);
  const name = table.name === undefined ? words.table : cutText(table.name, MAX_NAME);
  const writeRows = (): string | Promise<string> => computeInSlices(writeCsv(table, rows));
  const save = async (): Promise<void> => saveText(`${name}.csv`, "text/csv", BYTE_ORDER_MARK + (await writeRows()));
  return (
    <figure className="loom-data-table" aria-busy={isBusy}>
      <figcaption className="loom-data-caption">
        {isNamed && table.name !== undefined ? <strong dir="auto">{name}</strong> : null}
        {description === undefined ? null : <ShortText text={description} />}
      </figcaption>
      <div className="loom-data-bar">
        {table.rowCount > MIN_FILTERED_ROWS ? (
          <input
            type="search"
            className="loom-data-filter"
            dir="auto"
            placeholder={words.filter}
            aria-label={`${words.filter}: ${name}`}
            value={filter}
            maxLength={200}
            onChange={(event) => change({ filter: event.target.value, page: 0 })}
            onKeyDown={(event) => {
              if (event.key !== "Escape" || event.nativeEvent.isComposing || filter === "") return;
              // Escape clears the filter and must not close a surrounding dialog.
              event.preventDefault();
              event.stopPropagation();
              change({ filter: "", page: 0 });
            }}
          />
        ) : null}
        <output className="loom-data-count">
          {rows.length === table.rowCount
            ? words.rows(say(rows.length))
            : words.found(say(rows.length), say(table.rowCount))}
        </output>
        <CopyButton label={words.copy} getText={writeRows} />
        <IconButton icon="download" label={words.save} onClick={() => void save()} />
      </div>
      <TableGrid
        table={table}
        name={name}
        rows={shown}
        firstIndex={first}
        count={rows.length}
        isScrolled={pageSize === Infinity}
        sorting={sorting}
        onSort={(next) => change({ sorting: next, page: 0 })}
      />
      {rows.length === 0 ? <p className="loom-data-note">{table.rowCount === 0 ? words.empty : words.none}</p> : null}
      {table.omittedColumns > 0 ? <p className="loom-data-note">{words.omitted(say(table.omittedColumns))}</p> : null}
      <TablePages
        name={name}
        count={rows.length}
        pageSize={pageSize}
        page={shownPage}
        onPage={(next) => change({ page: next })}
        onPageSize={(size) => change({ pageSize: size, page: Math.floor(first / size) })}
      />
    </figure>
  );
}

interface TableState extends RowQuery {
  /** Infinity shows all rows on one page. */
  readonly pageSize: number;
  readonly page: number;
}

const INITIAL_STATE: TableState = { filter: "", sorting: undefined, pageSize: SMALLEST_PAGE, page: 0 };
const tableStates = new WeakMap<TableData, TableState>();

/** Keeps sorting, filter and page of a table that is scrolled out of view. */
function useTableState(table: TableData): [TableState, (change: Partial<TableState>) => void] {
  const [state, setState] = useState(() => ({ table, value: tableStates.get(table) ?? INITIAL_STATE }));
  const value = state.table === table ? state.value : INITIAL_STATE;
  const change = (changed: Partial<TableState>): void => {
    const next = { ...value, ...changed };
    tableStates.set(table, next);
    setState({ table, value: next });
  };
  return [value, change];
}

interface ArrangedRows {
  readonly rows: Uint32Array;
  readonly isBusy: boolean;
}

/**
 * The filtered and sorted rows of a table. The previous rows stay until the new ones are ready, so that the table does
 * not flicker.
 */
function useArrangedRows(table: TableData, { filter, sorting }: RowQuery, locale: string): ArrangedRows {
  const arrange = useMemo(() => createRowArranger(table, locale), [table, locale]);
  const given = useMemo(() => listRows(table.rowCount), [table]);
  const [found, setFound] = useState({ table, filter: "", sorting: undefined as RowQuery["sorting"], rows: given });
  useEffect(() => {
    const steps = arrange({ filter, sorting });
    return runInSlices(steps, (rows) => setFound({ table, filter, sorting, rows }));
  }, [arrange, table, filter, sorting]);
  return {
    rows: found.table === table ? found.rows : given,
    isBusy: found.table !== table || found.filter !== filter || found.sorting !== sorting,
  };
}
