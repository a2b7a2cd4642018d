// Endpoints that look for records of one run read only the records of that run, however long the session is.
import { expect, it, vi } from "vitest";
import { MemoryLog } from "../../src/log/index.ts";
import type { StampedRecord } from "../../src/protocol/index.ts";
import { listInputItems } from "../../src/server/clients/openai/conversation-items.ts";
import { readWaits } from "../../src/server/endpoints/waiting-calls.ts";
import { writeRecords } from "../log-sessions.ts";
import { listVectorFiles, readVector } from "../vectors.ts";

const SESSION = "s";

/** A session with a run that waited for an approval, and later runs. */
async function createSession() {
  const records = ["approval", "three-turns"]
    .flatMap(
      (run) => readVector(listVectorFiles("runs").find((path) => path.endsWith(`/${run}.json`)) as string).records,
    )
    .flat()
    .map(({ envelope, event }, index): StampedRecord => ({
      envelope: { ...envelope, session_id: SESSION, event_id: index + 1 },
      event,
    }));
  const log = new MemoryLog();
  await writeRecords(log, records);
  const run = (await log.listRuns(SESSION)).at(-1);
  if (run?.lastId === undefined) throw new Error("The run has not ended");
  return { log, run, lastId: run.lastId, reads: vi.spyOn(log, "read") };
}

it.each([
  ["the waits of a run", (log, run) => readWaits(log, SESSION, run)],
  // After the last record, so that no item ends the search.
  [
    "what a client sent",
    (log, { runId, lastId = 0 }) => listInputItems(log, { session: SESSION, run: runId, after: lastId }),
  ],
] satisfies [string, (log: MemoryLog, run: Awaited<ReturnType<typeof createSession>>["run"]) => Promise<unknown>][])(
  "finds %s without reading the runs after it",
  async (_what, find) => {
    const { log, run, lastId, reads } = await createSession();
    await find(log, run);
    expect(reads).toHaveBeenCalled();
    const ends = reads.mock.calls.map(([, { after, limit = Infinity }]) => after + limit);
    expect(Math.max(...ends)).toBeLessThanOrEqual(lastId);
  },
);

it("lists what a run waited for", async () => {
  const { log, run } = await createSession();
  const { asked, open } = await readWaits(log, SESSION, run);
  expect(open).toEqual([]);
  expect(asked.map(({ kind, call }) => [kind, call.call_id])).toEqual(
    ["call_del", "call_mail", "call_restart"].map((call) => ["approval", call]),
  );
});
