/**
 * Groups the digits of numbers in tables: `1234567` becomes `1,234,567`. Columns of years, codes and row numbers stay as
 * they are, because their digits are read as a whole.
 */
import type { Json } from "../../protocol/index.ts";
import { formatCell, readNumber, type TableData } from "../../protocol/read-table.ts";

/** Titles of columns whose numbers are names. */
const NAMES =
  /(?:^|[\s_.-])(?:id|ids|uuid|key|code|zip|postcode|phone|tel|fax|isbn|iban|account|acct|sku|pin|port|year|yr|fy|no|nr|index|idx|serial|version|build|timestamp|epoch|unix)(?:$|[\s_.-])|(?:[a-z](?:Id|ID|Code|Year|No)$)|年份?$|年度|编号|编码|代码|号码|序号|邮编|电话|版本|端口|时间戳/i;

const [FIRST_YEAR, LAST_YEAR] = [1500, 2200];
/** Integers of this many digits that all have the same length are codes or times. */
const CODE_DIGITS = 10;
/** 20261118 */
const DATE = /^(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$/;

/** Returns for each column whether its digits are grouped. */
export function findGroupedColumns(table: TableData): readonly boolean[] {
  return table.columns.map(({ title, kind }, column) => {
    if (kind !== "number" || NAMES.test(title)) return false;
    let [isLarge, isYears, isCodes, isCounted] = [false, true, true, true];
    let [digits, last]: [number | undefined, number | undefined] = [undefined, undefined];
    for (let row = 0; row < table.rowCount; row++) {
      const value = readNumber(table.getCell(row, column));
      if (value === undefined) continue;
      const isInteger = Number.isInteger(value);
      const size = Math.abs(value);
      isLarge ||= size >= 1000;
      isYears &&= isInteger && value >= FIRST_YEAR && value <= LAST_YEAR;
      const length = String(size).length;
      isCodes &&= isInteger && (length >= CODE_DIGITS || DATE.test(String(value))) && (digits ?? length) === length;
      isCounted &&= isInteger && (last === undefined || value === last + 1);
      [digits, last] = [length, value];
    }
    return isLarge && !isYears && !(table.rowCount > 1 && (isCodes || isCounted));
  });
}

/** In both languages. */
const SEPARATOR = ",";

/** Formats a cell for display. Numbers in exponential form are not changed. */
export function formatTableCell(cell: Json, isGrouped: boolean): string {
  const text = formatCell(cell);
  if (!isGrouped || readNumber(cell) === undefined) return text;
  return text.replace(/^[-+]?\d+(?=$|\.\d+$)/, (whole) => whole.replaceAll(/\B(?=(?:\d{3})+$)/g, SEPARATOR));
}
