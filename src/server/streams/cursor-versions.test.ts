// Two servers of different versions on one log: a reader that moves from one to the other continues, or starts again.
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { makeRun, writeRecords } from "../../../test/log-sessions.ts";
import { DIALECT_NAMES } from "../../dialects/index.ts";
import { ENCODER_VERSION } from "../../log/cursor.ts";
import { type Log, MemoryLog, type StreamFrame } from "../../log/index.ts";
import { SERVER_LIMITS } from "../guard/server-limits.ts";
import { createStreams } from "./create-streams.ts";
import type { ReadRequest, Streams } from "./stream-reader.ts";

function start(log: Log, encoderVersion?: number): Streams {
  const streams = createStreams({ log, limits: SERVER_LIMITS, encoderVersion });
  onTestFinished(() => streams.close());
  return streams;
}

/** Reads until the stream has caught up with the log, over a shared channel. */
async function read(streams: Streams, request: Partial<ReadRequest>): Promise<readonly StreamFrame[]> {
  const reader = await streams.open("s", { follow: true, transport: "http", ...request });
  const frames: StreamFrame[] = [];
  let isDone = false;
  reader?.start({
    write: (batch) => {
      frames.push(...batch.frames);
      return true;
    },
    end: () => (isDone = true),
  });
  if (request.run !== undefined) await vi.waitFor(() => expect(isDone).toBe(true));
  else await vi.waitFor(() => expect(frames.at(-1)?.cursor).toMatch(/\.8$/), { interval: 5 });
  reader?.close();
  return frames;
}

const textsOf = (frames: readonly StreamFrame[]): readonly string[] => frames.map(({ text }) => text);

describe.each(DIALECT_NAMES)("%s", (dialect) => {
  test.each([
    ["session", {}],
    ["run", { run: "run-2" }],
  ])("a cursor of the other version in a %s", async (_, part) => {
    const log = new MemoryLog();
    await writeRecords(log, [...makeRun("run-1"), ...makeRun("run-2", { after: 4 })]);
    const [older, newer] = [start(log), start(log, ENCODER_VERSION + 1)];
    for (const [one, other] of [
      [older, newer],
      [newer, older],
    ] as const) {
      const request = { dialect, ...part };
      const frames = await read(one, request);
      const at = Math.floor(frames.length / 2) - 1;
      const after = frames[at]?.cursor ?? "";
      expect(textsOf(await read(one, { ...request, after }))).toEqual(textsOf(frames.slice(at + 1)));
      const resumed = read(other, { ...request, after });
      if (dialect === "loom") expect(textsOf(await resumed)).toEqual(textsOf(frames.slice(at + 1)));
      else await expect(resumed).rejects.toMatchObject({ code: "cursor_stale" });
      // What a client does then.
      expect(textsOf(await read(other, request))).toEqual(textsOf(frames));
    }
  });
});
