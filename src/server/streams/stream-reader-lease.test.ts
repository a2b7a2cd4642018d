import { describe, expect, it, onTestFinished, vi } from "vitest";
import { makeRun, writeRecords } from "../../../test/log-sessions.ts";
import { openSession } from "../../engine/index.ts";
import { type Log, MemoryLog } from "../../log/index.ts";
import { LoomError } from "../../protocol/index.ts";
import { SERVER_LIMITS, type StreamLimits } from "../guard/server-limits.ts";
import { createStreams } from "./create-streams.ts";
import type { StreamReader, ReaderEnd, ReadRequest } from "./stream-reader.ts";

const REVOKED = new LoomError("unauthorized", "the token was revoked");

async function createFixture(limits: Partial<StreamLimits> = {}) {
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
  const batches: unknown[] = [];
  const open = (request: Partial<ReadRequest> = {}, session = "s"): Promise<StreamReader | undefined> =>
    streams.open(session, { follow: true, transport: "http", lease, ...request });
  const start = (reader: StreamReader | undefined, hasRoom = true): void =>
    reader?.start({
      write: (batch) => {
        batches.push(batch);
        return hasRoom;
      },
      end: (end) => void ends.push(end),
    });
  return { log, streams, leases, ends, batches, open, start, onError };
}

type Fixture = Awaited<ReturnType<typeof createFixture>>;

describe("the lease of a reader", () => {
  const endings: { readonly [name: string]: (fixture: Fixture) => Promise<unknown> } = {
    "ends by itself": async ({ open, start }) => start(await open({ follow: false })),
    "is closed": async ({ open, start }) => {
      const reader = await open();
      start(reader);
      reader?.close();
    },
    "is closed before it is started": async ({ open }) => (await open())?.close(),
    "is aborted": async ({ open, start }) => {
      const gone = new AbortController();
      start(await open({ signal: gone.signal }));
      gone.abort();
    },
    "was aborted before it opened": async ({ open }) => open({ signal: AbortSignal.abort() }),
    "does not read": async ({ log, open, start }) => {
      start(await open(), false);
      await using session = await openSession(log, "s");
      await session.record({ type: "custom", value: "x" });
    },
    "requests an unknown session": async ({ open }) => open({}, "none").catch(() => undefined),
    "requests a position past the end": async ({ open }) => open({ after: "99" }).catch(() => undefined),
    "is open when the server stops": async ({ open, start, streams }) => {
      start(await open());
      await streams.close();
    },
  };
  it.each(Object.entries(endings))("is released once when the reader %s", async (_name, end) => {
    const fixture = await createFixture({ maxStallMs: 20 });
    await end(fixture);
    await vi.waitFor(() => expect(fixture.leases.map(({ released }) => released)).toEqual([1]));
    // Ending the lease again has no effect.
    const { length } = fixture.ends;
    fixture.leases[0]?.onEnd(REVOKED);
    expect(fixture.ends).toHaveLength(length);
    expect(fixture.leases[0]?.released).toBe(1);
  });

  it("ends the reader when it is revoked, and no more batches are written", async () => {
    const { log, leases, ends, batches, open, start, onError } = await createFixture();
    start(await open());
    await vi.waitFor(() => expect(batches.length).toBeGreaterThan(0));
    leases[0]?.onEnd(REVOKED);
    const { length } = batches;
    await using session = await openSession(log, "s");
    await session.record({ type: "custom", value: "secret" });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect([ends, batches.length]).toEqual([[expect.objectContaining({ reason: "error", error: REVOKED })], length]);
    // A revoked lease is not a server error.
    expect(onError).not.toHaveBeenCalled();
    expect(leases[0]?.released).toBe(1);
  });

  it("ends a reader that is being opened or was not started", async () => {
    const { leases, ends, open, start } = await createFixture();
    const opening = open({ after: "2" });
    leases[0]?.onEnd(REVOKED);
    await expect(opening).rejects.toBe(REVOKED);
    const reader = await open();
    leases[1]?.onEnd(REVOKED);
    start(reader);
    expect(ends).toEqual([expect.objectContaining({ reason: "error", error: REVOKED })]);
    expect(leases.map(({ released }) => released)).toEqual([1, 1]);
  });

  it("that is refused rejects the open call", async () => {
    const { streams, open } = await createFixture();
    const full = new LoomError("too_many_streams", "too many streams");
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
