/**
 * The filtered and sorted rows of a table. The previous rows stay until the new ones are ready, so that the table does
 * not flicker.
 */
import { useEffect, useMemo, useState } from "react";
import { createRowArranger, listRows, type RowQuery } from "./arrange-rows.ts";
import type { TableData } from "../../protocol/read-table.ts";
import { runInSlices } from "./run-in-slices.ts";

export interface ArrangedRows {
  readonly rows: Uint32Array;
  readonly isBusy: boolean;
}

export function useArrangedRows(table: TableData, { filter, sorting }: RowQuery, locale: string): ArrangedRows {
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
