import { describe, expect, it, onTestFinished, vi } from "vitest";
import { makeRun, writeRecords } from "../../../test/log-sessions.ts";
import { openSession } from "../../engine/index.ts";
import { type Log, MemoryLog } from "../../log/index.ts";
import { LoomError } from "../../protocol/index.ts";
import { SERVER_LIMITS } from "../server-limits.ts";
import { createStreams } from "./create-streams.ts";
import type { Reader, ReaderEnd, ReadRequest, StreamLimits } from "./reader.ts";

const WHY = new LoomError("unauthorized", "leave has ended");

async function setStage(limits: Partial<StreamLimits> = {}) {
  const log: Log = new MemoryLog();
  await writeRecords(log, makeRun("run-1"));
  const onError = vi.fn();
  const streams = createStreams({ log, limits: { ...SERVER_LIMITS, ...limits }, onError });
  onTestFinished(() => streams.close());
  const leases: { onEnd: (why: LoomError) => void; released: number }[] = [];
  const lease: ReadRequest["lease"] = (onEnd) => {
    const made = { onEnd, released: 0 };
    leases.push(made);
    return () => void made.released++;
  };
  const ends: ReaderEnd[] = [];
  const chunks: unknown[] = [];
  const open = (request: Partial<ReadRequest> = {}, session = "s"): Promise<Reader | undefined> =>
    streams.open(session, { follow: true, transport: "http", lease, ...request });
  const start = (reader: Reader | undefined, hasRoom = true): void =>
    reader?.start({
      write: (chunk) => {
        chunks.push(chunk);
        return hasRoom;
      },
      end: (end) => void ends.push(end),
    });
  return { log, streams, leases, ends, chunks, open, start, onError };
}

type Stage = Awaited<ReturnType<typeof setStage>>;

describe("the lease of a reader", () => {
  const endings: { readonly [name: string]: (stage: Stage) => Promise<unknown> } = {
    "ends by itself": async ({ open, start }) => start(await open({ follow: false })),
    "is closed": async ({ open, start }) => {
      const reader = await open();
      start(reader);
      reader?.close();
    },
    "is closed before it is started": async ({ open }) => (await open())?.close(),
    "is left": async ({ open, start }) => {
      const gone = new AbortController();
      start(await open({ signal: gone.signal }));
      gone.abort();
    },
    "was left before": async ({ open }) => open({ signal: AbortSignal.abort() }),
    "does not read": async ({ log, open, start }) => {
      start(await open(), false);
      await using session = await openSession(log, "s");
      await session.record({ type: "custom", value: "x" });
    },
    "asks for what is not there": async ({ open }) => open({}, "none").catch(() => undefined),
    "asks for a place that is none": async ({ open }) => open({ after: "99" }).catch(() => undefined),
    "sees the server stop": async ({ open, start, streams }) => {
      start(await open());
      await streams.close();
    },
  };
  it.each(Object.entries(endings))("is given back once where it %s", async (_name, end) => {
    const stage = await setStage({ maxStallMs: 20 });
    await end(stage);
    await vi.waitFor(() => expect(stage.leases.map(({ released }) => released)).toEqual([1]));
    // What comes too late changes nothing.
    const { length } = stage.ends;
    stage.leases[0]?.onEnd(WHY);
    expect(stage.ends).toHaveLength(length);
    expect(stage.leases[0]?.released).toBe(1);
  });

  it("ends the reader, and nothing more is given", async () => {
    const { log, leases, ends, chunks, open, start, onError } = await setStage();
    start(await open());
    await vi.waitFor(() => expect(chunks.length).toBeGreaterThan(0));
    leases[0]?.onEnd(WHY);
    const { length } = chunks;
    await using session = await openSession(log, "s");
    await session.record({ type: "custom", value: "secret" });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect([ends, chunks.length]).toEqual([[expect.objectContaining({ reason: "error", error: WHY })], length]);
    // It is nobody's fault here.
    expect(onError).not.toHaveBeenCalled();
    expect(leases[0]?.released).toBe(1);
  });

  it("ends a reader that is being opened, and one that was not started", async () => {
    const { leases, ends, open, start } = await setStage();
    const opening = open({ after: "2" });
    leases[0]?.onEnd(WHY);
    await expect(opening).rejects.toBe(WHY);
    const reader = await open();
    leases[1]?.onEnd(WHY);
    start(reader);
    expect(ends).toEqual([expect.objectContaining({ reason: "error", error: WHY })]);
    expect(leases.map(({ released }) => released)).toEqual([1, 1]);
  });

  it("that is refused is told, and takes nothing", async () => {
    const { streams, open } = await setStage();
    const full = new LoomError("too_many_streams", "no more");
    await expect(
      open({
        lease: () => {
          throw full;
        },
      }),
    ).rejects.toBe(full);
    expect(streams.size).toBe(0);
  });
});
