/** Reads and writes the rows of commands. */
import type { PostgresDatabase, SqlRunner } from "../../postgres/postgres-database.ts";
import { assertRunLimit } from "../change-rules.ts";
import type { Settlement } from "../log.ts";
import type { RunLimit } from "../log-limits.ts";
import type { CommandRow, NewCommand } from "../stored-rows.ts";
import { fromColumn, toColumn, toOptionalColumn } from "../../postgres/text-column.ts";

/** Columns of `CommandRow`. */
export const COMMAND = `c.command_id AS "commandId", c.kind, c.body, c.created_at AS "createdAt", c.outcome`;

const FIND = `SELECT ${COMMAND} FROM @.commands c WHERE c.session = $1 AND c.command_id = ANY($2::text[])`;

const COUNT = `SELECT count(*)::integer AS pending, count(*) FILTER (WHERE kind = 'enqueue')::integer AS messages
  FROM @.commands WHERE session = $1 AND outcome IS NULL`;

const INSERT = `INSERT INTO @.commands AS c (session, command_id, kind, body, actor, created_at)
  VALUES ($1, $2, $3, $4, $5, @now) RETURNING ${COMMAND}`;

const SETTLE = `UPDATE @.commands c SET outcome = i.outcome, settled_at = @now
  FROM unnest($2::text[], $3::text[]) AS i(command_id, outcome)
  WHERE c.session = $1 AND c.command_id = i.command_id`;

const COUNT_RUNS = "SELECT @.count_runs($1, $2) AS runs";

const DROP_ACTORS = `DELETE FROM @.actors WHERE actor IN (SELECT actor FROM @.actors FOR UPDATE SKIP LOCKED)`;

/** Finds commands by their IDs. */
export async function findCommands(
  { query }: SqlRunner,
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
  { query }: SqlRunner,
  session: number,
): Promise<{ readonly pending: number; readonly messages: number }> {
  const [row] = await query<{ pending: number; messages: number }>(COUNT, [session]);
  return row ?? { pending: 0, messages: 0 };
}

/**
 * Throws `too_many_runs` if the principal may not have another run; the runs of `fork` do not count. Other transactions
 * that check its limit wait until the end of this one, so this one must have locked or created its session before.
 */
export async function checkRunLimit({ query }: SqlRunner, limit: RunLimit | undefined, fork = 0): Promise<void> {
  if (limit === undefined) return;
  const [row] = await query<{ runs: number }>(COUNT_RUNS, [toColumn(limit.actor), fork]);
  assertRunLimit(row?.runs ?? 0, limit);
}

/** Deletes the rows of principals that no transaction has locked: they are only locks. */
export async function dropActors(db: PostgresDatabase): Promise<void> {
  await db.write(DROP_ACTORS, []);
}

export async function insertCommand(
  { query }: SqlRunner,
  session: number,
  { commandId, kind, body, actor }: NewCommand,
): Promise<CommandRow> {
  const values = [session, toColumn(commandId), kind, body, toOptionalColumn(actor ?? undefined)];
  const [row] = await query<CommandRow>(INSERT, values);
  if (row === undefined) throw new TypeError("The database did not return the command");
  return readCommand(row);
}

export async function settleCommands(
  { query }: SqlRunner,
  session: number,
  settle: readonly Settlement[],
): Promise<void> {
  if (settle.length === 0) return;
  const ids = settle.map(({ commandId }) => toColumn(commandId));
  await query(SETTLE, [session, ids, settle.map(({ outcome }) => JSON.stringify(outcome))]);
}
