/** Fixtures for tests of runs whose process died. */
import type { Log } from "../../src/log/log.ts";
import type { Run } from "../../src/engine/run.ts";
import { SESSION } from "./sender.ts";
import { openSession } from "../../src/engine/session.ts";
import type { RunRequest } from "../../src/engine/session-options.ts";

/** Runs work in a process that then dies. */
export async function die(
  log: Log,
  work: (run: Run) => Promise<unknown>,
  sessionId = SESSION,
  more: RunRequest = {},
): Promise<void> {
  const session = await openSession(log, sessionId);
  const known = { runId: "dead", message: "Hi", agent: "react", capabilities: ["approval"] };
  const run = await session.startRun({ ...known, ...more });
  await work(run);
  // The takeover keeps the records as they are: nothing is closed.
  await log.release(await log.acquire(sessionId, { holder: "other", ttlMs: 1, takeover: true }));
}

export const checkpoint = {
  type: "checkpoint",
  checkpoint_id: "cp",
  timestamp: "2026-01-01T00:00:00Z",
  step: 0,
  state: {},
} as const;
export const request = { callId: "c", name: "rm", arguments: { path: "x" } };
/** Requests an approval and waits for it. */
export async function ask(run: Run, expiresInMs?: number): Promise<void> {
  const node = run.enter("act");
  await node.emit({ type: "tool_call", call_id: "c", name: "rm", arguments: { path: "x" } });
  void run.requestApproval({ ...request, ...(expiresInMs === undefined ? {} : { expiresInMs }) }, node);
  await run.emit({ type: "custom", value: "asked" });
}
