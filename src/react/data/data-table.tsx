/**
 * A table to look through: ordered by any column, filtered, in pages or whole, copied or saved as CSV. Whatever its size,
 * only rows that can be seen exist. It is read in one pass when it is first shown; ordering, filtering and writing grow
 * with its rows, and are done in slices, between which the page goes on.
 */
import { memo, type ReactNode, useDeferredValue, useMemo, useState } from "react";
import type { JsonObject } from "../../protocol/index.ts";
import { cutHead } from "../parts/cut-text.ts";
import { ShortText } from "../parts/log-box.tsx";
import { IconButton } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { formatNumber } from "../ui/format.ts";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import type { RowWish } from "./arrange-rows.ts";
import { DataTree } from "./data-tree.tsx";
import { readTable, type Table } from "./read-table.ts";
import { remember } from "./remember.ts";
import { makeInSlices } from "./run-in-slices.ts";
import { saveText } from "./save-text.ts";
import { TableGrid } from "./table-grid.tsx";
import { TablePages } from "./table-pages.tsx";
import { useArrangedRows } from "./use-arranged-rows.ts";
import { writeCsv } from "./write-csv.ts";

const WORDS = defineWords({
  en: {
    table: "Table",
    filter: "Filter the rows",
    rows: (count: string) => (count === "1" ? "1 row" : `${count} rows`),
    found: (count: string, all: string) => `${count} of ${all} rows`,
    none: "No row contains this.",
    empty: "The table has no rows.",
    copy: "Copy as CSV",
    save: "Save as CSV",
    omitted: (count: string) => `${count} more columns are not shown.`,
  },
  zh: {
    table: "表格",
    filter: "筛选行",
    rows: (count: string) => `共 ${count} 行`,
    found: (count: string, all: string) => `${all} 行中的 ${count} 行`,
    none: "没有包含此内容的行。",
    empty: "表格中没有数据行。",
    copy: "复制为 CSV",
    save: "下载 CSV",
    omitted: (count: string) => `另有 ${count} 列未显示。`,
  },
});

const findTable = remember(readTable);

export interface DataTableProps {
  /** `columns` and `rows`, and `name` where it has one. */
  readonly data: JsonObject;
  readonly description?: string | undefined;
  /** Where something around it says what it is called. */
  readonly isNamed?: boolean;
}

/** Where there is no table in it, what there is. */
export const DataTable = memo(function DataTable({ data, description, isNamed = true }: DataTableProps): ReactNode {
  const table = findTable(data);
  if (table === undefined) return <DataTree data={data} />;
  return <TableView table={table} description={description} isNamed={isNamed} />;
});

interface TableViewProps {
  readonly table: Table;
  readonly description: string | undefined;
  readonly isNamed: boolean;
}

const MAX_NAME = 200;
/** A table this short is seen at a glance. */
const GLANCED_ROWS = 6;
const LOCALES = { en: "en", zh: "zh-CN" } as const;
/** Spreadsheets take a file for another encoding without it. */
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
  const name = table.name === undefined ? words.table : cutHead(table.name, MAX_NAME);
  const writeRows = (): string | Promise<string> => makeInSlices(writeCsv(table, rows));
  const save = async (): Promise<void> => saveText(`${name}.csv`, "text/csv", BYTE_ORDER_MARK + (await writeRows()));
  return (
    <figure className="loom-data-table" aria-busy={isBusy}>
      <figcaption className="loom-data-caption">
        {isNamed && table.name !== undefined ? <strong>{name}</strong> : null}
        {description === undefined ? null : <ShortText text={description} />}
      </figcaption>
      <div className="loom-data-bar">
        {table.rowCount > GLANCED_ROWS ? (
          <input
            type="search"
            className="loom-data-filter"
            placeholder={words.filter}
            aria-label={`${words.filter}: ${name}`}
            value={filter}
            maxLength={200}
            onChange={(event) => change({ filter: event.target.value, page: 0 })}
            onKeyDown={(event) => {
              if (event.key !== "Escape" || event.nativeEvent.isComposing || filter === "") return;
              // It is answered here: whatever is around it need not close.
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
        first={first}
        count={rows.length}
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

interface TableState extends RowWish {
  /** Infinity: all rows on one page. */
  readonly pageSize: number;
  readonly page: number;
}

const AT_FIRST: TableState = { filter: "", sorting: undefined, pageSize: 50, page: 0 };
const kept = new WeakMap<Table, TableState>();

/** A table that is scrolled out of sight and back is as it was left. */
function useTableState(table: Table): [TableState, (change: Partial<TableState>) => void] {
  const [state, setState] = useState(() => ({ table, value: kept.get(table) ?? AT_FIRST }));
  const value = state.table === table ? state.value : AT_FIRST;
  const change = (changed: Partial<TableState>): void => {
    const next = { ...value, ...changed };
    kept.set(table, next);
    setState({ table, value: next });
  };
  return [value, change];
}
