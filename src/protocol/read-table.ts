/**
 * Reads a table in any common shape: columns as names or objects, rows as arrays or objects, with missing or extra
 * cells. Rows are not copied.
 *
 * Invariant: every row has every column; missing cells are null.
 */
import { isJsonObject, type Json, type JsonObject } from "./json.ts";

export type ColumnKind = "number" | "boolean" | "text";

export interface TableColumn {
  /** Empty if the sender gave no title. */
  readonly title: string;
  /** The common type of all non-null cells, or `text`. */
  readonly kind: ColumnKind;
}

export interface TableData {
  readonly name?: string;
  readonly columns: readonly TableColumn[];
  readonly rowCount: number;
  /** Number of columns beyond the limit. */
  readonly omittedColumns: number;
  getCell(row: number, column: number): Json;
}

const MAX_COLUMNS = 200;
/** Rows sampled for column names if there is no column list. */
const MAX_SAMPLED_ROWS = 1000;

/** Returns undefined if the data has neither columns nor rows. */
export function readTable(data: JsonObject): TableData | undefined {
  const rows: readonly Json[] =
    [data["rows"], data["data"], data["values"]].find((value): value is readonly Json[] => Array.isArray(value)) ?? [];
  const given = Array.isArray(data["columns"]) ? (data["columns"] as readonly Json[]) : undefined;
  if (given === undefined && rows.length === 0) return undefined;
  const named = given?.map(readColumn) ?? findNames(rows).map((key): ColumnSource => ({ key, title: key }));
  const width = rows.reduce<number>((most, row) => (Array.isArray(row) ? Math.max(most, row.length) : most), 0);
  while (named.length < Math.min(width, MAX_COLUMNS)) named.push({ key: undefined, title: "" });
  if (named.length === 0) return undefined;
  const shown = named.slice(0, MAX_COLUMNS);
  const getCell = (row: number, column: number): Json => pickCell(rows[row], column, shown[column]?.key);
  const name = data["name"] ?? data["title"];
  return {
    ...(typeof name === "string" && name !== "" ? { name } : {}),
    columns: shown.map(({ title, kind }, column) => ({
      title,
      kind: kind ?? inferKind(rows.length, (row) => getCell(row, column)),
    })),
    rowCount: rows.length,
    omittedColumns: Math.max(named.length, width) - shown.length,
    getCell,
  };
}

interface ColumnSource {
  readonly key: string | undefined;
  readonly title: string;
  readonly kind?: ColumnKind;
}

function readColumn(column: Json): ColumnSource {
  if (!isJsonObject(column)) return { key: cellToText(column), title: cellToText(column) };
  const ids = ["name", "field", "key", "id"].map((id) => column[id]);
  const key = ids.find((value): value is string => typeof value === "string");
  const titles = [column["title"], column["label"], column["headerName"], key];
  const title = titles.find((value): value is string => typeof value === "string") ?? "";
  const kind = readKind(column["type"] ?? column["dtype"]);
  return { key: key ?? title, title, ...(kind === undefined ? {} : { kind }) };
}

function readKind(type: Json | undefined): ColumnKind | undefined {
  if (typeof type !== "string") return undefined;
  if (/^(?:u?int|float|double|decimal|number|numeric|integer|long|real|currency|percent)/i.test(type)) return "number";
  if (/^bool/i.test(type)) return "boolean";
  return /^(?:str|text|char|varchar|object|date|time|category|enum)/i.test(type) ? "text" : undefined;
}

function findNames(rows: readonly Json[]): string[] {
  const names = new Set<string>();
  for (const row of rows.slice(0, MAX_SAMPLED_ROWS))
    if (isJsonObject(row)) for (const name of Object.keys(row)) names.add(name);
  return [...names];
}

function pickCell(row: Json | undefined, column: number, key: string | undefined): Json {
  if (Array.isArray(row)) return (row as readonly Json[])[column] ?? null;
  if (isJsonObject(row)) return key !== undefined && Object.hasOwn(row, key) ? (row[key] ?? null) : null;
  // A scalar row fills the first column.
  return column === 0 ? (row ?? null) : null;
}

function inferKind(rowCount: number, getCell: (row: number) => Json): ColumnKind {
  let kind: ColumnKind | undefined;
  for (let row = 0; row < rowCount; row++) {
    const cell = getCell(row);
    if (cell === null || cell === "") continue;
    const found = readNumber(cell) !== undefined ? "number" : typeof cell === "boolean" ? "boolean" : "text";
    if (found === "text" || (kind !== undefined && kind !== found)) return "text";
    kind = found;
  }
  return kind ?? "text";
}

const NUMERIC = /^[-+]?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[-+]?\d+)?$/i;

/** Returns a number, also if it was sent as text. Codes such as `007` are not numbers. */
export function readNumber(cell: Json): number | undefined {
  if (typeof cell === "number") return cell;
  if (typeof cell !== "string" || cell.length > 40 || !NUMERIC.test(cell)) return undefined;
  const value = Number(cell);
  return Number.isFinite(value) ? value : undefined;
}

/** Formats a cell for display, with at most 10 significant digits. */
export function formatCell(cell: Json): string {
  return typeof cell === "number" && !Number.isInteger(cell) ? String(Number(cell.toPrecision(10))) : cellToText(cell);
}

/** Returns the full text of a cell, for search and copying. */
export function cellToText(cell: Json): string {
  if (cell === null) return "";
  if (typeof cell === "string") return cell;
  return typeof cell === "object" ? JSON.stringify(cell) : String(cell);
}
