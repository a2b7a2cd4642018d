/** Reads and writes the rows of commands. */
import type { Transaction } from "../../postgres/postgres-database.ts";
import type { Settlement } from "../log.ts";
import type { CommandRow, NewCommand } from "../stored-rows.ts";
import { NOW } from "./session-rows.ts";
import { fromColumn, toColumn } from "../../postgres/text-column.ts";

/** Columns of `CommandRow`. */
export const COMMAND = `c.command_id AS "commandId", c.kind, c.body, c.created_at AS "createdAt", c.outcome`;

const FIND = `SELECT ${COMMAND} FROM @.commands c WHERE c.session = $1 AND c.command_id = ANY($2::text[])`;

const COUNT = `SELECT count(*)::integer AS pending, count(*) FILTER (WHERE kind = 'enqueue')::integer AS messages
  FROM @.commands WHERE session = $1 AND outcome IS NULL`;

const INSERT = `INSERT INTO @.commands AS c (session, command_id, kind, body, created_at)
  VALUES ($2, $3, $4, $5, ${NOW}) RETURNING ${COMMAND}`;

const SETTLE = `UPDATE @.commands c SET outcome = i.outcome, settled_at = ${NOW}
  FROM unnest($3::text[], $4::text[]) AS i(command_id, outcome)
  WHERE c.session = $2 AND c.command_id = i.command_id`;

/** Finds commands by their IDs. */
export async function findCommands(
  { query }: Transaction,
  session: number,
  ids: readonly string[],
): Promise<ReadonlyMap<string, CommandRow>> {
  if (ids.length === 0) return new Map();
  const rows = await query<CommandRow>(FIND, [session, ids.map((id) => toColumn(id))]);
  return new Map(rows.map((row) => [fromColumn(row.commandId), readCommand(row)]));
}

export function readCommand(row: CommandRow): CommandRow {
  return { ...row, commandId: fromColumn(row.commandId) };
}

export async function countPending(
  { query }: Transaction,
  session: number,
): Promise<{ readonly pending: number; readonly messages: number }> {
  const [row] = await query<{ pending: number; messages: number }>(COUNT, [session]);
  return row ?? { pending: 0, messages: 0 };
}

export async function insertCommand(
  { query }: Transaction,
  now: number | null,
  session: number,
  { commandId, kind, body }: NewCommand,
): Promise<CommandRow> {
  const [row] = await query<CommandRow>(INSERT, [now, session, toColumn(commandId), kind, body]);
  if (row === undefined) throw new TypeError("The database did not return the command");
  return readCommand(row);
}

export async function settleCommands(
  { query }: Transaction,
  now: number | null,
  session: number,
  settle: readonly Settlement[],
): Promise<void> {
  if (settle.length === 0) return;
  const ids = settle.map(({ commandId }) => toColumn(commandId));
  await query(SETTLE, [now, session, ids, settle.map(({ outcome }) => JSON.stringify(outcome))]);
}
