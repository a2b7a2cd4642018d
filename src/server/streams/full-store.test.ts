import { expect, it, onTestFinished, vi } from "vitest";
import { makeRun, overrideLog, writeRecords } from "../../../test/log-sessions.ts";
import { openSession } from "../../engine/index.ts";
import { MemoryLog } from "../../log/index.ts";
import type { LogMonitor } from "../../log/log-monitor.ts";
import { LoomError } from "../../protocol/index.ts";
import { SERVER_LIMITS } from "../guard/server-limits.ts";
import { createStreams } from "./create-streams.ts";
import type { ReaderEnd, ReadRequest } from "./stream-reader.ts";

it("ends streams that wait with `store_full` while the store is full, and sends what is stored", async () => {
  const full = new LoomError("store_full", "The disk is full");
  const monitor = { fault: undefined as LoomError | undefined };
  const stored = new MemoryLog();
  await writeRecords(stored, makeRun("run-1"));
  const log = overrideLog(stored, () => ({ monitor: monitor as LogMonitor }));
  const streams = createStreams({ log, limits: SERVER_LIMITS });
  onTestFinished(() => streams.close());
  const read = async (request: Partial<ReadRequest> = {}) => {
    const ids: number[] = [];
    const ends: ReaderEnd[] = [];
    const reader = await streams.open("s", { follow: true, transport: "http", ...request });
    reader?.start({
      write: ({ frames }) => ids.push(...frames.map(({ cursor }) => Number(cursor.split(".")[2]))) > 0,
      end: (end) => void ends.push(end),
    });
    return { ids, ends };
  };
  const live = await read();
  await vi.waitFor(() => expect(live.ids).toEqual([1, 2, 3, 4]));
  monitor.fault = full;
  await vi.waitFor(() => expect(live.ends).toMatchObject([{ reason: "error", error: full }]));
  const { cursor: after = "" } = live.ends[0] ?? {};
  // A client that resumes receives the reason, and another one what is stored before that.
  await expect(read({ after })).rejects.toBe(full);
  const late = await read();
  await vi.waitFor(() => expect(late.ends).toMatchObject([{ reason: "error", error: full }]));
  expect(late.ids).toEqual([1, 2, 3, 4]);
  const past = await read({ follow: false });
  await vi.waitFor(() => expect(past.ends).toMatchObject([{ reason: "end" }]));
  monitor.fault = undefined;
  const again = await read({ after });
  await using session = await openSession(stored, "s");
  await session.record({ type: "custom", value: "x" });
  await vi.waitFor(() => expect(again.ids).toEqual([5]));
});
