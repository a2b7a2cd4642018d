/**
 * Closes a session when the server stops. A live run may finish within the grace period; otherwise it stays live in the
 * log, and the next process that opens the session resumes it.
 */
import type { Run, Session } from "../../engine/index.ts";

/** Resolves when the lease is released. Never rejects. */
export async function finishSession(session: Session, grace: Promise<void>): Promise<void> {
  // A message that is being started counts as well.
  await Promise.race([session.drain(), grace]);
  const run = session.liveRun;
  if (run !== undefined && !isWaiting(run)) await waitFor(run, grace);
  await session.close({ run: "leave" }).catch(() => undefined);
}

async function waitFor(run: Run, grace: Promise<void>): Promise<void> {
  const startsWaiting = Promise.withResolvers<void>();
  const stop = run.onCommit(() => {
    if (isWaiting(run)) startsWaiting.resolve();
  });
  await Promise.race([run.ended.catch(() => undefined), grace, startsWaiting.promise]);
  stop();
}

/** Whether the run only waits for the user. The next process can wait as well. */
function isWaiting({ work }: Run): boolean {
  const calls = [...work.calls];
  return calls.some(({ state }) => state === "waiting") && calls.every(({ state }) => state !== "started");
}
