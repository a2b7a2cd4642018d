/** Adds a command to the inbox of a session, in one transaction with its checks. */
import { fromColumn, fromNullableColumn, toColumn } from "../../postgres/text-column.ts";
import { acceptCommand, changeMarks, type SessionLoad } from "../change-rules.ts";
import type { SessionChanges } from "../log.ts";
import type { CommandSubmission } from "../log-tables.ts";
import { assertSession, LOCAL_OWNER } from "../rules.ts";
import type { CommandRow } from "../stored-rows.ts";
import { checkRunLimit, countPending, findCommands, insertCommand } from "./command-rows.ts";
import { writeTexts } from "./index-rows.ts";
import { lockSession, type LogTransaction, openSession, type StoredHead } from "./session-rows.ts";

/** Throws the errors of `acceptCommand`, `quota_exceeded` and `too_many_runs`. */
export async function submitCommand(transaction: LogTransaction, submission: CommandSubmission): Promise<CommandRow> {
  const { sessionId, command, interrupt, create } = submission;
  const found = await lockSession(transaction, sessionId);
  const ids = [command, ...(interrupt === undefined ? [] : [interrupt])].map(({ commandId }) => commandId);
  const commands = found && (await findCommands(transaction, found.key, ids));
  const state = found && {
    owner: fromColumn(found.owner),
    title: found.title,
    known: commands?.get(command.commandId),
    knownInterrupt: commands?.get(interrupt?.commandId ?? ""),
    load: await measureLoad(transaction, found),
  };
  const { added, title, needs, runLimit } = acceptCommand(submission, state);
  const owner = state?.owner ?? create?.owner ?? LOCAL_OWNER;
  if (needs !== undefined) await transaction.quota.assertRoom(transaction, owner, needs);
  const { head, isNew } =
    found === undefined ? await openSession(transaction, { ...create, sessionId }) : { head: found, isNew: false };
  // Another process has created the session in between: check everything again.
  if (found === undefined && !isNew) return submitCommand(transaction, submission);
  await checkRunLimit(transaction, runLimit);
  const shown = isNew ? create?.title : title;
  if (shown !== undefined) await setTitle(transaction, head, shown);
  if (state?.known !== undefined) return state.known;
  let stored: CommandRow | undefined;
  for (const one of added) stored = await insertCommand(transaction, head.key, one);
  await transaction.query("UPDATE @.sessions SET changes = changes + 1 WHERE key = $1", [head.key]);
  return stored as CommandRow;
}

/** Changes the title, and what a search finds by it. */
async function setTitle(transaction: LogTransaction, { key, owner }: StoredHead, title: string): Promise<void> {
  await transaction.query("UPDATE @.sessions SET title = $2 WHERE key = $1", [key, toColumn(title)]);
  await transaction.query("DELETE FROM @.texts WHERE session = $1 AND event_id = 0", [key]);
  await writeTexts(transaction, [{ session: { key, owner: fromColumn(owner) }, eventId: 0, text: title }]);
}

/** See `Log.updateSession`. */
export async function changeSession(
  transaction: LogTransaction,
  sessionId: string,
  changes: SessionChanges,
  ifTitle: string | undefined,
): Promise<void> {
  const head = assertSession(await lockSession(transaction, sessionId), sessionId);
  const title = fromNullableColumn(head.title);
  const marks = changeMarks({ ...head, title }, changes, ifTitle);
  if (marks === undefined) return;
  if (changes.title !== undefined) await setTitle(transaction, head, changes.title);
  const values = [head.key, marks.isPinned, marks.isArchived];
  await transaction.query("UPDATE @.sessions SET is_pinned = $2, is_archived = $3 WHERE key = $1", values);
}

async function measureLoad(transaction: LogTransaction, { key }: StoredHead): Promise<SessionLoad> {
  const [live] = await transaction.query<{ runId: string }>(
    `SELECT run_id AS "runId" FROM @.runs WHERE session = $1 AND last_id IS NULL ORDER BY first_id LIMIT 1`,
    [key],
  );
  return { ...(await countPending(transaction, key)), liveRun: live && fromColumn(live.runId) };
}
