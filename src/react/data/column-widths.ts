/**
 * Estimates column widths in characters. Only some rows are rendered, so widths chosen by the browser would change
 * while scrolling.
 */
import type { TableData } from "../../protocol/read-table.ts";
import { findGroupedColumns, formatTableCell } from "./group-digits.ts";

const SAMPLED_ROWS = 200;
const MIN_WIDTH = 4;
const MAX_WIDTH = 32;
/** Space for the sort icon. */
const SORT_ICON_WIDTH = 3;

export function estimateColumnWidths(table: TableData): number[] {
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
