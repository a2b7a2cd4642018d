/**
 * Cuts recorded sessions at any byte, in every dialect and framing, and resumes them. The view must be the same, and
 * the frames before and after the cut together must be those of the uncut stream. Also drops every frame once: the
 * connection must end, with the same view or a state that admits the loss.
 */
import { describe, expect, it } from "vitest";
import {
  connect,
  createFetchTransport,
  createPairTransport,
  createReceiver,
  type Transport,
} from "../../src/client/index.ts";
import type { FrameSink } from "../../src/client/transport.ts";
import { DIALECT_NAMES, DIALECTS, type DialectName } from "../../src/dialects/index.ts";
import type { Framing } from "../../src/framing/detect-framing.ts";
import { type Log, MemoryLog } from "../../src/log/index.ts";
import { createEntry } from "../../src/log/entry.ts";
import { describeHolder } from "../../src/log/holder.ts";
import type { AnyEvent, EventRecord, StampedRecord } from "../../src/protocol/index.ts";
import { ControlConnection, createEventsHandler } from "../../src/server/index.ts";
import { LONG, sampleCases } from "../sampling.ts";
import { listVectorFiles, readVector } from "../vectors.ts";
import { contentOf } from "./streams.ts";

/** Runs and the distance between cuts in bytes. The long suite cuts at every byte, or at every third one. */
const RUNS: readonly (readonly [name: string, step: number])[] = [
  ["done-as-text", LONG ? 1 : 97],
  ["approval", LONG ? 3 : 997],
  ["three-turns", LONG ? 3 : 997],
  ["todo-between-turns", LONG ? 1 : 503],
];
const SESSION = "cut-session";

/** A clock without waiting: timers fire immediately. */
const CLOCK = {
  now: () => 0,
  random: () => 0,
  setTimeout: (run: () => void, ms: number) => (ms > 10_000 ? undefined : setImmediate(run)),
  clearTimeout: (timer: unknown) => clearImmediate(timer as NodeJS.Immediate),
};

function recordsOf(run: string): EventRecord[] {
  const file = listVectorFiles("runs").find((path) => path.endsWith(`/${run}.json`)) as string;
  return readVector(file).records.flat();
}

async function writeLog(given: readonly EventRecord[]): Promise<Log> {
  const records = given.map(({ envelope, event }, index): StampedRecord => ({
    envelope: { ...envelope, session_id: SESSION, event_id: index + 1 },
    event,
  }));
  const log = new MemoryLog();
  await log.createSession(SESSION);
  const lease = await log.acquire(SESSION, { holder: describeHolder(), ttlMs: 60_000 });
  const entries = records.map(createEntry);
  await log.append({ sessionId: SESSION, epoch: lease.epoch, expectedLastId: 0, entries });
  await log.release(lease);
  return log;
}

type Fetch = (request: Request) => Promise<Response>;

/** Breaks the first response after this many bytes, with an error or a normal end. */
function cutAfter(bytes: number, handler: Fetch, how: "error" | "end"): Fetch {
  let isFirst = true;
  return async (request) => {
    const response = await handler(request);
    if (!isFirst || response.body === null) return response;
    isFirst = false;
    let left = bytes;
    const body = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          if (chunk.length < left) {
            left -= chunk.length;
            controller.enqueue(chunk);
            return;
          }
          if (left > 0) controller.enqueue(chunk.slice(0, left));
          if (how === "error") controller.error(new Error("connection reset"));
          else controller.terminate();
        },
      }),
    );
    return new Response(body, { status: response.status, headers: response.headers });
  };
}

/** Wraps a transport, records every frame, and drops one. */
function recordFrames(inner: Transport, frames: string[], dropAt?: number): Transport {
  return {
    open: (request, sink, signal) => {
      const recording: FrameSink = {
        frame(text, cursor) {
          if (frames.push(text) - 1 !== dropAt) sink.frame(text, cursor);
        },
        begin: (cursor) => sink.begin?.(cursor),
        alive: () => sink.alive(),
        fault: (reason, detail) => sink.fault(reason, detail),
      };
      return inner.open(request, recording, signal);
    },
    send: (command, signal) => inner.send(command, signal),
    close: () => inner.close(),
  };
}

async function receiveAll(fetch: Fetch, dialect: DialectName, framing: Framing) {
  return receiveOver(createFetchTransport({ url: "http://loom.test", framing, fetch }), dialect);
}

async function receiveOver(inner: Transport, dialect: DialectName, dropAt?: number) {
  const frames: string[] = [];
  const receiver = createReceiver();
  const transport = recordFrames(inner, frames, dropAt);
  const connection = connect(receiver, { transport, session: SESSION, dialect, follow: false, clock: CLOCK });
  const state = await connection.done;
  connection.close();
  return { frames, state, content: contentOf(receiver.getSnapshot().sessions) };
}

async function measure(handler: Fetch, dialect: DialectName, framing: Framing): Promise<number> {
  const accept = framing === "sse" ? "text/event-stream" : "application/x-ndjson";
  const address = `http://loom.test/v1/sessions/${SESSION}/events?dialect=${dialect}`;
  const response = await handler(new Request(address, { headers: { accept } }));
  return (await response.arrayBuffer()).byteLength;
}

/** What the last frame of a run, or a frame between two runs, contains. */
const ENDS = [
  '"reply"',
  '"run_end"',
  '"cancelled"',
  "session_end",
  "[DONE]",
  "agent_finish",
  "todo_update",
  "todo_list",
  '"type":"session_id"',
  '"type":"finish"',
  '"RUN_FINISHED"',
  '"response.completed"',
  // The usage, after the last choice.
  '"choices":[]',
];

function isBetweenRuns(text = ""): boolean {
  return ENDS.some((end) => text.includes(end)) || /[cC]ustom|"finish_reason":"\w/.test(text);
}

const CASES = RUNS.flatMap(([run, step]) =>
  DIALECT_NAMES.flatMap((dialect) => (["sse", "ndjson"] as const).map((framing) => ({ run, dialect, framing, step }))),
);

describe("a stream that is cut", () => {
  // The short run takes one run in each dialect.
  it.each(sampleCases(CASES, { kindOf: ({ dialect }) => dialect }))(
    "$run in $dialect as $framing",
    async ({ run, dialect, framing, step }) => {
      const handler = createEventsHandler({ log: await writeLog(recordsOf(run)), heartbeatMs: 0, allowPublic: true });
      const whole = await receiveAll(handler, dialect, framing);
      expect(whole.state.status).toBe("complete");
      expect(whole.state.verified).toBe(dialect === "loom" || dialect === "engine");
      const size = await measure(handler, dialect, framing);
      for (let at = 0; at < size; at += step) {
        const how = at % 2 === 0 ? "error" : "end";
        const found = await receiveAll(cutAfter(at, handler, how), dialect, framing);
        // A normal end between two runs looks like the end of the session.
        if (how === "end" && found.frames.length < whole.frames.length && isBetweenRuns(found.frames.at(-1))) {
          expect(found.frames).toEqual(whole.frames.slice(0, found.frames.length));
          continue;
        }
        expect(found, `cut after ${at} of ${size} bytes`).toEqual(whole);
      }
    },
    600_000,
  );
});

/** Every kind of cursor: of each frame, of the start only, and of some frames. */
const TRANSPORTS = ["sse", "ndjson", "pair"] as const;

function createTransport(log: Log, kind: (typeof TRANSPORTS)[number]): Transport {
  if (kind !== "pair") {
    const fetch = createEventsHandler({ log, heartbeatMs: 0, allowPublic: true });
    return createFetchTransport({ url: "http://loom.test", framing: kind, fetch });
  }
  return createPairTransport((receive) => {
    const connection = new ControlConnection({ log, send: receive });
    return { send: (text) => connection.receive(text), close: () => connection.close() };
  });
}

/** Counts the requests of a transport. */
function countOpens(inner: Transport): { readonly transport: Transport; readonly opens: () => number } {
  let opens = 0;
  const open: Transport["open"] = (...args) => {
    opens++;
    return inner.open(...args);
  };
  return { transport: { ...inner, open }, opens: () => opens };
}

/** Every frame is dropped once, so the short run takes short sessions, of several runs each. */
const LOSSES = RUNS.filter(([run]) => LONG || run === "done-as-text" || run === "todo-between-turns").flatMap(([run]) =>
  DIALECT_NAMES.flatMap((dialect) => TRANSPORTS.map((kind) => ({ run, dialect, kind }))),
);

describe("a stream that loses a frame", () => {
  it.each(sampleCases(LOSSES, { kindOf: ({ dialect }) => dialect }))(
    "$run in $dialect over $kind",
    async ({ run, dialect, kind }) => {
      const log = await writeLog(recordsOf(run));
      const whole = await receiveOver(createTransport(log, kind), dialect);
      for (let at = 0; at < whole.frames.length; at++) {
        const what = `without frame ${at}: ${whole.frames[at]}`;
        const { transport, opens } = countOpens(createTransport(log, kind));
        const { state, content } = await receiveOver(transport, dialect, at);
        // Ends after a repair, not after all attempts.
        expect(opens(), what).toBeLessThan(6);
        if (state.status !== "complete" || state.undetectable.includes("loss")) {
          expect(state.verified, what).toBe(false);
          expect(DIALECTS[dialect].traits.numbering, what).toBeUndefined();
        } else expect(content, what).toEqual(whole.content);
      }
    },
  );

  it("receives the first record again if it belongs to no run", async () => {
    const todo: AnyEvent = { type: "todo_list", list_id: "list", items: [] };
    // Without `run_end`, which names the IDs before they were changed.
    const run = recordsOf("done-as-text").filter(({ event }) => event.type !== "run_end");
    const log = await writeLog([{ envelope: { ts: 1 }, event: todo }, ...run]);
    const whole = await receiveOver(createTransport(log, "sse"), "loom");
    const { frames, ...found } = await receiveOver(createTransport(log, "sse"), "loom", 0);
    expect(found).toEqual({ state: whole.state, content: whole.content });
    expect(found.state).toMatchObject({ status: "complete", verified: true });
    expect(frames.length).toBeGreaterThan(whole.frames.length);
  });

  it("receives the start of the first run again if records of no run precede it", async () => {
    const log = await writeLog(recordsOf("todo-between-turns"));
    const { bytes = 0 } = (await log.getSession(SESSION)) ?? {};
    expect(await log.prune({ maxSessionBytes: bytes - 1 })).toMatchObject({ runs: 1 });
    const whole = await receiveOver(createTransport(log, "sse"), "loom");
    const at = whole.frames.findIndex((text) => text.includes('"run_start"'));
    expect(at).toBeGreaterThan(0);
    const { transport, opens } = countOpens(createTransport(log, "sse"));
    const { frames: _frames, ...found } = await receiveOver(transport, "loom", at);
    expect(found).toEqual({ state: whole.state, content: whole.content });
    expect(opens()).toBeLessThan(6);
  });

  it.each(TRANSPORTS)("reads a session with a live run once over %s, since no loss can hide its end", async (kind) => {
    const records = recordsOf("approval");
    const log = await writeLog(records.slice(0, 1 + records.findIndex(({ event }) => event.type === "tool_approval")));
    const { frames, state } = await receiveOver(createTransport(log, kind), "loom");
    expect(state.status).toBe("truncated");
    expect(new Set(frames).size).toBe(frames.length);
  });

  it("asks once for the first frame of a log that does not start with record 1", async () => {
    const log = await writeLog(recordsOf("three-turns"));
    const { bytes = 0 } = (await log.getSession(SESSION)) ?? {};
    expect(await log.prune({ maxSessionBytes: bytes - 1 })).toMatchObject({ runs: 1 });
    const { transport, opens } = countOpens(createTransport(log, "sse"));
    const { state, frames } = await receiveOver(transport, "loom");
    expect(state).toEqual({ status: "complete", verified: true, undetectable: [] });
    expect(opens()).toBe(2);
    expect(frames.at(-1)).toBe(frames[0]);
  });
});
