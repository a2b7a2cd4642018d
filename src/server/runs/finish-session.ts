/**
 * Lets go of a session when the server stops: its run may end, for as long as there is time. What has not ended then is
 * left as it is in the log, for whoever opens the session next.
 */
import type { Run, Session } from "../../engine/index.ts";

/** Never rejects. Resolves when the lease is given back. */
export async function finishSession(session: Session, grace: Promise<void>): Promise<void> {
  // A message whose turn has just come has its time too.
  await Promise.race([session.drain(), grace]);
  const run = session.liveRun;
  if (run !== undefined && !isWaiting(run)) await waitFor(run, grace);
  await session.close({ run: "leave" }).catch(() => undefined);
}

async function waitFor(run: Run, grace: Promise<void>): Promise<void> {
  const asks = Promise.withResolvers<void>();
  const stop = run.onCommit(() => {
    if (isWaiting(run)) asks.resolve();
  });
  await Promise.race([run.ended.catch(() => undefined), grace, asks.promise]);
  stop();
}

/** All it does is wait for the user: the next process can wait as well. */
function isWaiting({ work }: Run): boolean {
  const calls = [...work.calls];
  return calls.some(({ state }) => state === "waiting") && calls.every(({ state }) => state !== "started");
}
