/**
 * Finds the session in which a conversation goes on, for clients that send the whole conversation with every message. The
 * log is authoritative: if the session has a run that the client's conversation lacks, the message goes to a fork before
 * that run.
 */
import { createRecordReader } from "../../../dialects/loom/decode.ts";
import type { Log, RunInfo } from "../../../log/index.ts";
import type { EventOf } from "../../../protocol/index.ts";
import type { ApiCall } from "../../api/operation.ts";
import type { ServerCore } from "../../api/server-core.ts";
import { findCommand } from "../../commands/execute-command.ts";
import { branchBeforeRun } from "../create-fork.ts";
import { findHead } from "../find-branch.ts";

/** Maximum number of runs that are compared with a conversation. A longer session is continued at its end. */
const MAX_RUNS = 1000;

/**
 * `earlier` are the user's messages before the new one, or undefined if the client sent only the new one. A request that
 * is repeated with its key finds the same session.
 */
export async function findChatBranch(
  core: ServerCore,
  { caller, signal }: Pick<ApiCall<"Empty", "Empty">, "caller" | "signal">,
  { session, key, earlier }: { readonly session: string; readonly key: string; readonly earlier?: readonly string[] },
): Promise<string> {
  const { log } = core;
  const head = (await findHead(core, caller, session))?.sessionId ?? session;
  if (earlier === undefined) return head;
  const run = await findMissingRun(log, head, earlier);
  // A run that another request with this key has just started is not missing. Read last: its command comes first.
  if (run === undefined || (await findCommand(log, head, key)) !== undefined) return head;
  return (await branchBeforeRun(core, caller, { session: head, run: run.runId, key, signal })).sessionId;
}

/** Returns the first run whose message the conversation lacks. */
async function findMissingRun(log: Log, session: string, earlier: readonly string[]): Promise<RunInfo | undefined> {
  const runs = await listOldestFirst(log, session);
  for (const [index, run] of runs.entries()) if (earlier[index] !== (await readMessage(log, session, run))) return run;
  return undefined;
}

async function listOldestFirst(log: Log, session: string): Promise<readonly RunInfo[]> {
  if ((await log.getSession(session)) === undefined) return [];
  const runs = await log.listRuns(session, { limit: MAX_RUNS });
  return runs.length === MAX_RUNS ? [] : runs.toReversed();
}

async function readMessage(log: Log, session: string, { firstId }: RunInfo): Promise<string> {
  const { texts } = await log.read(session, { after: firstId - 1, limit: 1 });
  const { event } = createRecordReader()(texts[0] ?? "") ?? {};
  return event?.type === "run_start" ? ((event as EventOf<"run_start">).message ?? "") : "";
}
