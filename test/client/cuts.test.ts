/**
 * Cuts recorded sessions at any byte, in every dialect and framing, and resumes them. The view must be the same, and
 * the frames before and after the cut together must be those of the uncut stream.
 */
import { describe, expect, it } from "vitest";
import {
  connect,
  createFetchTransport,
  type FrameSink,
  createReceiver,
  type Transport,
} from "../../src/client/index.ts";
import { DIALECT_NAMES, type DialectName } from "../../src/dialects/index.ts";
import type { Framing } from "../../src/framing/index.ts";
import { type Log, MemoryLog } from "../../src/log/index.ts";
import { createEntry } from "../../src/log/entry.ts";
import { describeHolder } from "../../src/log/holder.ts";
import type { StampedRecord } from "../../src/protocol/index.ts";
import { createEventsHandler } from "../../src/server/index.ts";
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

async function writeLog(run: string): Promise<Log> {
  const file = listVectorFiles("runs").find((path) => path.endsWith(`/${run}.json`)) as string;
  const records = readVector(file)
    .records.flat()
    .map(({ envelope, event }, index): StampedRecord => ({
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

/** Wraps a transport and records every frame. */
function recordFrames(inner: Transport, frames: string[]): Transport {
  return {
    open: (request, sink, signal) => {
      const recording: FrameSink = {
        frame(text, cursor) {
          frames.push(text);
          sink.frame(text, cursor);
        },
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
  const frames: string[] = [];
  const receiver = createReceiver();
  const transport = recordFrames(createFetchTransport({ url: "http://loom.test", framing, fetch }), frames);
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
  // The short run takes two runs in each dialect.
  it.each(sampleCases(CASES, { perKind: 2, kindOf: ({ dialect }) => dialect }))(
    "$run in $dialect as $framing",
    async ({ run, dialect, framing, step }) => {
      const handler = createEventsHandler({ log: await writeLog(run), heartbeatMs: 0, allowPublic: true });
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
