import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { openSession } from "../engine/index.ts";
import { createSseDecoder } from "../framing/index.ts";
import { MemoryLog, openSqliteLog } from "../log/index.ts";
import { fromAsyncIterable } from "./from-async-iterable.ts";
import { record } from "./record.ts";
import { resumeRun } from "./resume-run.ts";

const SESSION = { sessionId: "chat-7" };
const REQUEST = { ...SESSION, message: "How cold is it?" };
const DIALECT = { dialect: "ai-sdk" } as const;
const folder = mkdtempSync(join(tmpdir(), "loom-resume-run-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface SentFrame {
  readonly text: string;
  readonly id: string | undefined;
}

/** Reads frames until `count` or the end. */
async function readFrames(response: Response, count = Infinity): Promise<SentFrame[]> {
  const decoder = createSseDecoder();
  const frames: SentFrame[] = [];
  for await (const bytes of response.body ?? []) {
    for (const outcome of decoder.push(bytes)) if (outcome.ok) frames.push({ text: outcome.text, id: outcome.id });
    if (frames.length >= count) break;
  }
  return frames;
}

/** A source that waits for permission to go on after its first words. */
function createSlowSource() {
  const gate = Promise.withResolvers<void>();
  const source = fromAsyncIterable(async function* () {
    yield "It is ";
    await gate.promise;
    yield "cold.";
  });
  return { source, finish: () => gate.resolve() };
}

/** A log that counts its calls, and the listeners that are registered. */
function createCountedLog() {
  const log = new MemoryLog();
  const counted = { log, listeners: 0, calls: 0 };
  for (const name of ["watch", "watchOrphans"] as const) {
    const watch = log[name].bind(log) as (...args: unknown[]) => () => void;
    vi.spyOn(log, name).mockImplementation((...args: unknown[]) => {
      const unwatch = watch(...args);
      counted.listeners++;
      return () => {
        unwatch();
        counted.listeners--;
      };
    });
  }
  for (const name of ["getSession", "getRun", "read"] as const) {
    const call = log[name].bind(log) as (...args: unknown[]) => unknown;
    vi.spyOn(log, name).mockImplementation((...args: unknown[]) => {
      counted.calls++;
      return call(...args) as never;
    });
  }
  return counted;
}

/** Whether the promise is settled, or will be in the next turns of the event loop. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const turns = async (): Promise<boolean> => {
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    return false;
  };
  return Promise.race([promise.then(() => true), turns()]);
}

describe("a response that is not read", () => {
  const HOUR_MS = 60 * 60 * 1000;
  afterEach(() => void vi.useRealTimers());

  /** A live run whose process does nothing while the clock is replaced. */
  async function startRun() {
    const counted = createCountedLog();
    const { source, finish } = createSlowSource();
    const run = await record(counted.log, REQUEST, source);
    await readFrames(run.toResponse(), 1);
    return { counted, run, finish, before: { ...counted } };
  }

  it("does not use the log before it is read, and not after it is cancelled", async () => {
    const { counted, run, before, finish } = await startRun();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
    const response = run.toResponse();
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect(counted).toEqual(before);
    await response.body?.cancel();
    expect(counted).toEqual(before);
    vi.useRealTimers();
    finish();
    await run.ended;
  });

  it("releases the log after a minute, and continues when it is read again", async () => {
    const { counted, run, before, finish } = await startRun();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
    const reader = (run.toResponse().body as ReadableStream<Uint8Array>).getReader();
    const first = await reader.read();
    expect(counted.listeners).toBeGreaterThan(before.listeners);
    const { calls } = counted;
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect(counted).toMatchObject({ listeners: before.listeners, calls });
    vi.useRealTimers();
    finish();
    await run.ended;
    let text = new TextDecoder().decode(first.value);
    for (let part = await reader.read(); !part.done; part = await reader.read())
      text += new TextDecoder().decode(part.value);
    expect(text).toBe(await run.toResponse().text());
    expect(counted.listeners).toBeLessThanOrEqual(before.listeners);
  });

  it("checks the process of the run less and less often while the reader waits", async () => {
    const { counted, run, finish } = await startRun();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
    const reader = (run.toResponse().body as ReadableStream<Uint8Array>).getReader();
    let next = reader.read();
    while (await isSettled(next)) next = reader.read();
    const { calls } = counted;
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    // One every 10 s, and not every second.
    expect(counted.calls - calls).toBeGreaterThan(350);
    expect(counted.calls - calls).toBeLessThan(370);
    // Hints of other sessions that need a process do not keep it from checking.
    const [hint] = vi.mocked(counted.log.watchOrphans).mock.lastCall ?? [];
    const before = counted.calls;
    for (let halves = 0; halves < 20; halves++) {
      hint?.();
      await vi.advanceTimersByTimeAsync(500);
    }
    expect(counted.calls - before).toBeGreaterThanOrEqual(5);
    expect(counted.calls - before).toBeLessThanOrEqual(11);
    vi.useRealTimers();
    finish();
    await next;
    await reader.cancel();
    await run.ended;
  });
});

describe("resumeRun", () => {
  it("streams the live run from its start, also in another process", async () => {
    const file = join(folder, "live.db");
    const log = await openSqliteLog(file);
    const { source, finish } = createSlowSource();
    const run = await record(log, REQUEST, source);
    const other = await openSqliteLog(file);
    const response = await resumeRun(other, SESSION, DIALECT);
    expect(Object.fromEntries(response.headers)).toMatchObject({ "x-loom-run": run.runId });
    const resumed = readFrames(response);
    finish();
    expect(await resumed).toEqual(await readFrames(run.toResponse(DIALECT)));
    await Promise.all([log.close(), other.close()]);
  });

  it("continues after every cursor of a run, whether it is live or has ended", async () => {
    const log = new MemoryLog();
    const { source, finish } = createSlowSource();
    const run = await record(log, REQUEST, source);
    const seen = await readFrames(run.toResponse(DIALECT), 4);
    const rest = readFrames(await resumeRun(log, { ...SESSION, cursor: seen.at(-1)?.id }, DIALECT));
    finish();
    const frames = await readFrames(run.toResponse(DIALECT));
    expect([...seen, ...(await rest)]).toEqual(frames);
    for (const [index, { id }] of frames.slice(0, -1).entries()) {
      const response = await resumeRun(log, { ...SESSION, cursor: id }, DIALECT);
      expect(await readFrames(response)).toEqual(frames.slice(index + 1));
    }
  });

  it("continues after every cursor in the dialect loom", async () => {
    const log = new MemoryLog();
    const run = await record(log, REQUEST, fromAsyncIterable(["It is ", "cold."]));
    const frames = await readFrames(run.toResponse());
    for (const [index, { id }] of frames.slice(0, -1).entries())
      expect(await readFrames(await resumeRun(log, { ...SESSION, cursor: id }))).toEqual(frames.slice(index + 1));
  });

  it("answers 204 if there is nothing to stream", async () => {
    const log = new MemoryLog();
    expect((await resumeRun(log, SESSION)).status).toBe(204);
    const run = await record(log, REQUEST, fromAsyncIterable(["Hi"]));
    const frames = await readFrames(run.toResponse());
    expect((await resumeRun(log, { ...SESSION, cursor: null })).status).toBe(204);
    expect((await resumeRun(log, { ...SESSION, cursor: frames.at(-1)?.id })).status).toBe(204);
  });

  it("streams a run that has ended if it is named", async () => {
    const log = new MemoryLog();
    const run = await record(log, REQUEST, fromAsyncIterable(["Hi"]));
    await run.ended;
    await (
      await record(log, REQUEST, fromAsyncIterable(["Ho"]))
    ).ended;
    const frames = await readFrames(await resumeRun(log, { ...SESSION, runId: run.runId }));
    expect(frames).toEqual(await readFrames(run.toResponse()));
  });

  it.each([
    [{ runId: "none" }, "unknown_run"],
    [{ cursor: "x" }, "cursor_invalid"],
    [{ cursor: "4.abcdefgh.1" }, "cursor_stale"],
  ])("rejects %j before the response starts", async (request, code) => {
    const log = new MemoryLog();
    await (
      await record(log, REQUEST, fromAsyncIterable(["Hi"]))
    ).ended;
    await expect(resumeRun(log, { ...SESSION, ...request })).rejects.toMatchObject({ code });
  });

  it("ends a run whose process died as interrupted", async () => {
    const log = new MemoryLog();
    const dead = await openSession(log, SESSION.sessionId);
    await dead.startRun({ message: "Hi", onInterruption: "fail" });
    // Its lease ends without the end of the run.
    await log.release(await log.acquire(SESSION.sessionId, { holder: "other", ttlMs: 1, takeover: true }));
    const frames = await readFrames(await resumeRun(log, SESSION));
    expect(frames.map(({ text }) => text).join("")).toContain('"code":"interrupted"');
  });
});
