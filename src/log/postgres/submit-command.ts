/** Adds a command to the inbox of a session, in one transaction with its checks. */
import { isDeepStrictEqual } from "node:util";
import type { Transaction } from "../../postgres/postgres-database.ts";
import { LoomError } from "../../protocol/loom-error.ts";
import type { SessionChanges, SubmitOptions, UpdateSessionOptions } from "../log.ts";
import { assertRoom, assertSameOwner, LOCAL_OWNER, type SessionLoad, type SessionRoom } from "../rules.ts";
import type { CommandRow, NewCommand } from "../stored-rows.ts";
import { countPending, findCommands, insertCommand } from "./command-rows.ts";
import { writeTexts } from "./index-rows.ts";
import type { OwnerQuota } from "./owner-usage.ts";
import { assertSession, lockSession, openSession, type StoredHead } from "./session-rows.ts";
import { fromColumn, toColumn } from "../../postgres/text-column.ts";

export interface CommandSubmission extends Pick<SubmitOptions, "owner" | "create"> {
  readonly sessionId: string;
  readonly command: NewCommand;
  /** Stored before the command. */
  readonly interrupt: NewCommand | undefined;
  readonly room: SessionRoom;
}

/** Throws `unknown_session`, `session_id_taken`, `command_conflict`, `quota_exceeded`, and the errors of `assertRoom`. */
export async function submitCommand(
  transaction: Transaction,
  now: number | null,
  quota: OwnerQuota,
  { sessionId, command, interrupt, room, owner, create }: CommandSubmission,
): Promise<CommandRow> {
  const locked = await lockSession(transaction, now, sessionId);
  const found = create === undefined ? assertSession(locked, sessionId) : locked;
  assertSameOwner(sessionId, { owner, create }, found && fromColumn(found.owner));
  const known = await findSame(transaction, found, command);
  const isFirst =
    known === undefined && interrupt !== undefined && (await findSame(transaction, found, interrupt)) === undefined;
  const added = isFirst ? [interrupt, command] : [command];
  if (known === undefined) {
    assertRoom(sessionId, added, await measureLoad(transaction, found), room);
    // A message needs space for its run; other commands may end one.
    if (command.kind === "enqueue") {
      const payer = found === undefined ? (create?.owner ?? LOCAL_OWNER) : fromColumn(found.owner);
      await quota.assertRoom(transaction, payer, { bytes: 1 });
    }
  }
  const { head, isNew } =
    found === undefined
      ? await openSession(transaction, now, { ...create, sessionId }, async (payer) =>
          quota.assertRoom(transaction, payer, { sessions: 1 }),
        )
      : { head: found, isNew: false };
  // Another process has created the session in between: check everything again.
  if (found === undefined && !isNew)
    return submitCommand(transaction, now, quota, { sessionId, command, interrupt, room, owner, create });
  if (create?.title !== undefined && (isNew || head.title === null)) await setTitle(transaction, head, create.title);
  if (known !== undefined) return known;
  let stored: CommandRow | undefined;
  for (const one of added) stored = await insertCommand(transaction, now, head.key, one);
  await transaction.query("UPDATE @.sessions SET changes = changes + 1 WHERE key = $1", [head.key]);
  return stored as CommandRow;
}

/** Changes the title, and what a search finds by it. */
async function setTitle(transaction: Transaction, { key, owner }: StoredHead, title: string): Promise<void> {
  await transaction.query("UPDATE @.sessions SET title = $2 WHERE key = $1", [key, toColumn(title)]);
  await transaction.query("DELETE FROM @.texts WHERE session = $1 AND event_id = 0", [key]);
  await writeTexts(transaction, [{ session: { key, owner: fromColumn(owner) }, eventId: 0, text: title }]);
}

/** See `Log.updateSession`. */
export async function changeSession(
  transaction: Transaction,
  now: number | null,
  sessionId: string,
  { title, isPinned, isArchived, ifTitle }: SessionChanges & UpdateSessionOptions,
): Promise<void> {
  const head = assertSession(await lockSession(transaction, now, sessionId), sessionId);
  if (ifTitle !== undefined && (head.title === null || ifTitle !== fromColumn(head.title))) return;
  if (title !== undefined) await setTitle(transaction, head, title);
  const values = [head.key, isPinned ?? head.isPinned, isArchived ?? head.isArchived];
  await transaction.query("UPDATE @.sessions SET is_pinned = $2, is_archived = $3 WHERE key = $1", values);
}

async function measureLoad(transaction: Transaction, head: StoredHead | undefined): Promise<SessionLoad> {
  if (head === undefined) return { pending: 0, messages: 0, liveRun: undefined };
  const [live] = await transaction.query<{ runId: string }>(
    `SELECT run_id AS "runId" FROM @.runs WHERE session = $1 AND last_id IS NULL ORDER BY first_id LIMIT 1`,
    [head.key],
  );
  return {
    ...(await countPending(transaction, head.key)),
    liveRun: live === undefined ? undefined : fromColumn(live.runId),
  };
}

/** Throws `command_conflict` if the ID was used for another command. */
async function findSame(
  transaction: Transaction,
  head: StoredHead | undefined,
  { commandId, kind, body }: NewCommand,
): Promise<CommandRow | undefined> {
  if (head === undefined) return undefined;
  const known = (await findCommands(transaction, head.key, [commandId])).get(commandId);
  if (known === undefined) return undefined;
  if (known.kind === kind && isDeepStrictEqual(JSON.parse(known.body), JSON.parse(body))) return known;
  throw new LoomError("command_conflict", `The command ID "${commandId}" was already used for a different command`);
}
