/**
 * How wide each column is, in characters. Rows come and go while one scrolls, so the browser must not choose widths from
 * those that are there: they would jump.
 */
import { showCell, type Table } from "./read-table.ts";

const SAMPLED_ROWS = 200;
const MIN_WIDTH = 4;
const MAX_WIDTH = 32;
/** The sign of the order beside a heading. */
const SIGN_WIDTH = 3;

export function estimateColumnWidths(table: Table): number[] {
  const step = Math.max(1, Math.floor(table.rowCount / SAMPLED_ROWS));
  return table.columns.map(({ title }, column) => {
    let widest = measureText(title) + SIGN_WIDTH;
    for (let row = 0; row < table.rowCount; row += step)
      widest = Math.max(widest, measureText(showCell(table.getCell(row, column))));
    return Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, widest));
  });
}

/** Signs of East Asia are two characters wide. */
function measureText(text: string): number {
  const start = text.slice(0, MAX_WIDTH);
  return (
    start.length +
    (start.match(/[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60]/g)?.length ?? 0)
  );
}
