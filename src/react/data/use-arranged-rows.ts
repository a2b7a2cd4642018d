/**
 * The rows of a table as they are wished for. Until they are found the former ones stay: nothing flickers, and whoever
 * types or scrolls meanwhile is not held up.
 */
import { useEffect, useMemo, useState } from "react";
import { createRowArranger, listRows, type RowWish } from "./arrange-rows.ts";
import type { Table } from "./read-table.ts";
import { runInSlices } from "./run-in-slices.ts";

export interface ArrangedRows {
  readonly rows: Uint32Array;
  readonly isBusy: boolean;
}

export function useArrangedRows(table: Table, { filter, sorting }: RowWish, locale: string): ArrangedRows {
  const arrange = useMemo(() => createRowArranger(table, locale), [table, locale]);
  const given = useMemo(() => listRows(table.rowCount), [table]);
  const [found, setFound] = useState({ table, filter: "", sorting: undefined as RowWish["sorting"], rows: given });
  useEffect(() => {
    const steps = arrange({ filter, sorting });
    return runInSlices(steps, (rows) => setFound({ table, filter, sorting, rows }));
  }, [arrange, table, filter, sorting]);
  return {
    rows: found.table === table ? found.rows : given,
    isBusy: found.table !== table || found.filter !== filter || found.sorting !== sorting,
  };
}
