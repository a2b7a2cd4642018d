/** Describes a thread for TanStack AI: its messages, its live run, and what the run waits for. */
import type { ServerCore } from "../../api/server-core.ts";
import { findSession } from "../find-session.ts";
import { readThread } from "./read-thread.ts";
import { encodeRunReference } from "./run-reference.ts";
import { toUiMessages } from "./ui-messages.ts";
import { listInterrupts } from "./waiting.ts";

export async function describeThread(
  core: ServerCore,
  session: string,
  { before, limit }: { readonly before: string | undefined; readonly limit: number | undefined },
): Promise<object> {
  await findSession(core.log, session);
  // A run has at least two messages: that of the user and the answer.
  const maxRuns = limit === undefined ? {} : { maxRuns: Math.ceil(limit / 2) };
  const { fold, cursor } = await readThread(core, { session, before, ...maxRuns });
  const run = before === undefined ? await findLiveRun(core, session) : undefined;
  const interrupts = run === undefined ? [] : listInterrupts(fold.waiting);
  const waiting = new Map(fold.waiting.approvals.map((interrupt) => [interrupt["toolCallId"] as string, interrupt]));
  const runId = run === undefined ? undefined : await nameRun(core, session, run);
  return {
    messages: toUiMessages(fold.messages, waiting),
    ...(runId === undefined ? {} : { activeRun: { runId } }),
    ...(runId === undefined || interrupts.length === 0 ? {} : { interrupts: { runId, pending: interrupts } }),
    page: cursor === undefined ? { truncated: false } : { truncated: true, cursor },
  };
}

/** The ID by which a client can join the run: its own if a client of AG-UI started it. */
async function nameRun({ log }: ServerCore, session: string, run: string): Promise<string> {
  return (await log.getCommand(session, run)) === undefined ? encodeRunReference(session, run) : run;
}

/** Returns undefined if no run is live. Throws `unknown_session`. */
export async function findLiveRun({ log }: ServerCore, session: string): Promise<string | undefined> {
  await findSession(log, session);
  const [latest] = await log.listRuns(session, { limit: 1 });
  return latest?.status === "live" ? latest.runId : undefined;
}
