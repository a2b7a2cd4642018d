import { Writable } from "node:stream";
import fc from "fast-check";
import { pino } from "pino";
import { describe, expect, it, vi } from "vitest";
import { sessionArbitrary } from "../../../test/run-arbitrary.ts";
import { SAMPLES } from "../../../test/sampling.ts";
import type { AnyEvent, Json, StampedRecord } from "../../protocol/index.ts";
import { createLogObserver, type LogOptions } from "../index.ts";

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A real pino logger that writes to memory. */
async function listen(options: LogOptions = {}) {
  let text = "";
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      done();
    },
  });
  const observer = await createLogObserver({ logger: pino({ base: null, timestamp: false }, stream), ...options });
  return {
    observer,
    readText: () => text,
    readLines: () =>
      text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Line),
  };
}

function stamp(...events: readonly AnyEvent[]): readonly StampedRecord[] {
  return events.map((event, index) => ({
    envelope: { session_id: "s", run_id: "r", node_id: "n", event_id: index + 1, ts: 1000 + index * 100 },
    event,
  }));
}

const RUN = { sessionId: "s", runId: "r" };
const EVENTS: readonly AnyEvent[] = [
  {
    type: "run_start",
    run_id: "r",
    agent: "react",
    source: "execute",
    request_id: "req-1",
    message: "What is it?",
    context: { tenant: "acme", authorization: "Bearer abcdef", nested: { api_key: "k", list: [{ password: "p" }] } },
  },
  { type: "retrieval_complete", doc_count: 3, query: "it" },
  { type: "compression_applied", before_tokens: 90, after_tokens: 30, method: "summary", summary: "They spoke." },
  { type: "llm_start", llm_call_id: "l.0", model: "openai/gpt", attempt: 0 },
  { type: "usage", llm_call_id: "l.0", prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 },
  { type: "llm_end", llm_call_id: "l.0", model: "openai/gpt", finish_reason: "tool_calls", duration_ms: 12 },
  { type: "tool_call", call_id: "c", name: "fetch", arguments: { url: "https://x.example", token: "t-123456" } },
  { type: "tool_approval", call_id: "c", name: "fetch", arguments: { url: "https://x.example" } },
  { type: "tool_approval_result", call_id: "c", name: "fetch", decision: "approved", reason: "fine" },
  { type: "tool_start", call_id: "c", name: "fetch" },
  { type: "tool_end", call_id: "c", name: "fetch", result: "gone", is_error: true, error_code: "tool_failed" },
  { type: "error", message: "no: sk-abcdefgh1234", code: "model_failed", stage: "llm_generate", recoverable: false },
  {
    type: "run_end",
    status: "error",
    reason: "no",
    code: "model_failed",
    summary: { total_tokens: 9, session_id: "x", level: 10, msg: "fine", password: "p", duration_ms: 1200 } as object,
  },
];

async function play(options: LogOptions, past = 0, events = EVENTS) {
  const heard = await listen(options);
  const run = heard.observer.openRun(RUN);
  for (const [index, record] of stamp(...events).entries()) run.take(record, index < past);
  return { ...heard, run };
}

/** The line of one of the events above. */
function formLine(level: number, msg: string, event_id: number, own: object): object {
  const ids = { request_id: "req-1", session_id: "s", run_id: "r", node_id: "n" };
  return { level, msg, event: EVENTS[event_id - 1]?.type, ...ids, event_id, ts: 900 + event_id * 100, ...own };
}

describe("the log lines of a run", () => {
  it("contain a fork as information, and another attempt as a warning", async () => {
    const attempt = { type: "error", message: "m", code: "interrupted", recoverable: true, attempt: 2 } as const;
    const forked = { ...attempt, details: { forked: true, state_edited: true } };
    const { readLines } = await play({}, 0, [forked, attempt]);
    expect(readLines()).toMatchObject([
      { level: 30, msg: "run continued from a checkpoint", state_edited: true },
      { level: 40, msg: "error", code: "interrupted" },
    ]);
  });

  it("contain what happened and the ids", async () => {
    const { readLines, run } = await play({});
    run.close(false);
    expect(readLines()).toEqual([
      formLine(30, "run started", 1, {
        agent: "react",
        source: "execute",
        context: {
          tenant: "acme",
          authorization: "[redacted]",
          nested: { api_key: "[redacted]", list: [{ password: "[redacted]" }] },
        },
      }),
      formLine(30, "documents retrieved", 2, { doc_count: 3 }),
      formLine(30, "prompt compressed", 3, { before_tokens: 90, after_tokens: 30, method: "summary" }),
      formLine(30, "model call ended", 6, {
        llm_call_id: "l.0",
        model: "openai/gpt",
        attempt: 0,
        finish_reason: "tool_calls",
        duration_ms: 12,
        prompt_tokens: 7,
        completion_tokens: 2,
        total_tokens: 9,
      }),
      formLine(30, "approval requested", 8, { call_id: "c", tool: "fetch" }),
      formLine(30, "approval answered", 9, { call_id: "c", tool: "fetch", decision: "approved", wait_ms: 100 }),
      formLine(40, "tool failed", 11, { call_id: "c", tool: "fetch", is_error: true, code: "tool_failed" }),
      formLine(50, "error", 12, { code: "model_failed", stage: "llm_generate", error: "no: [redacted]" }),
      formLine(50, "run ended", 13, {
        status: "error",
        duration_ms: 1200,
        total_tokens: 9,
        code: "model_failed",
        reason: "no",
      }),
    ]);
  });

  it("contain the usage of a model call whose start was not seen", async () => {
    const { observer, readLines } = await listen();
    const run = observer.openRun(RUN);
    const records = stamp(
      { type: "usage", llm_call_id: "l", prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 },
      { type: "llm_end", llm_call_id: "l", model: "openai/gpt", finish_reason: "stop" },
    );
    for (const record of records) run.take(record, false);
    expect(readLines()).toMatchObject([{ llm_call_id: "l", prompt_tokens: 7, total_tokens: 9 }]);
  });

  it("keep the tokens of calls apart and mark summaries", async () => {
    const { observer, readLines } = await listen();
    const run = observer.openRun(RUN);
    const tokens = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };
    for (const record of stamp(
      { type: "llm_start", llm_call_id: "n.0", model: "big" },
      { type: "llm_start", llm_call_id: "n.summary.0", model: "small", purpose: "summary" },
      { type: "usage", ...tokens },
      { type: "llm_end", llm_call_id: "n.0", finish_reason: "stop" },
      { type: "usage", ...tokens, llm_call_id: "n.summary.0" },
      { type: "llm_end", llm_call_id: "n.summary.0", finish_reason: "stop", purpose: "summary" },
    ))
      run.take(record, false);
    expect(readLines().map(({ model, purpose, total_tokens }) => [model, purpose, total_tokens])).toEqual([
      ["big", undefined, undefined],
      ["small", "summary", 9],
    ]);
  });

  it("have validated limits", async () => {
    for (const maxContentCharacters of [-1, 1.5, Number.NaN])
      await expect(listen({ maxContentCharacters })).rejects.toThrow(/maxContentCharacters/);
  });

  it("contain contents if enabled, cut and redacted", async () => {
    const { readLines } = await play({ contents: true, maxContentCharacters: 8 });
    const lines = readLines();
    const find = (msg: string) => lines.find((line) => line.msg === msg);
    expect(find("run started")?.["message"]).toBe("What is …");
    expect(find("tool called")?.["arguments"]).toEqual({ url: "https://…", token: "[redacted]" });
    expect(find("tool failed")?.["result"]).toBe("gone");
    expect(find("approval answered")?.["reason"]).toBe("fine");
    expect(find("documents retrieved")?.["query"]).toBe("it");
  });

  it("continue after another process, using its past records", async () => {
    const { readLines, run } = await play({}, 8);
    expect(readLines().map(({ msg }) => msg)).toEqual([
      "run resumed",
      "approval answered",
      "tool failed",
      "error",
      "run ended",
    ]);
    expect(readLines()[0]).toMatchObject({ agent: "react", request_id: "req-1" });
    expect(readLines()[1]).toMatchObject({ wait_ms: 100 });
    run.close(false);
  });

  it("report an unfinished run and its open approvals", async () => {
    const { readLines, run } = await play({}, 0, EVENTS.slice(0, 8));
    run.close(true);
    run.close(true);
    const ids = { request_id: "req-1", session_id: "s", run_id: "r" };
    const last = {
      level: 30,
      msg: "run left unfinished",
      event: "run_left",
      ...ids,
      duration_ms: 700,
      open_approvals: 1,
    };
    expect(readLines().slice(-1)).toEqual([last]);
  });

  it("are lost if the logger fails, without other effects", async () => {
    const fail = (): never => {
      throw new Error("the disk is full");
    };
    const { observer, run } = await play({ logger: { debug: fail, info: fail, warn: fail, error: fail } });
    run.close(true);
    expect(observer.failed).toBeGreaterThan(5);
    const reject = (() => Promise.reject(new Error("the disk is full"))) as () => never;
    const late = await play({ logger: { debug: reject, info: reject, warn: reject, error: reject } });
    late.run.close(true);
    await vi.waitFor(() => expect(late.observer.failed).toBe(observer.failed));
  });

  it("are not written for records without a run or below the level of the default logger", async () => {
    const { observer, readLines } = await listen();
    const run = observer.openRun({ sessionId: "s", runId: undefined });
    for (const record of stamp({ type: "custom", value: 1 })) run.take(record, false);
    run.close(true);
    expect(readLines()).toEqual([]);
    const silent = (await createLogObserver({ level: "silent" })).openRun(RUN);
    for (const record of stamp(...EVENTS)) silent.take(record, false);
  });

  it("contain no secret, wherever it occurs", () => {
    const secret = fc.stringMatching(/^[a-zA-Z0-9]{24,40}$/);
    const wrap = fc.constantFrom(
      (text: string) => `sk-${text}`,
      (text: string) => `Bearer ${text}`,
      (text: string) => `password=${text}`,
      (text: string) => `x {"token":"${text}"} y`,
    );
    return fc.assert(
      fc.asyncProperty(sessionArbitrary, secret, wrap, fc.nat({ max: 3 }), async (session, text, make, turn) => {
        const { observer, readText } = await listen({ contents: true });
        const runs = Map.groupBy(session, ({ envelope }) => envelope.run_id ?? "");
        let at = turn;
        for (const [runId, records] of runs) {
          const run = observer.openRun({ sessionId: make(text), runId });
          for (const record of records) {
            const event = plant(record.event as unknown as Json, () => (at++ % 4 === 0 ? make(text) : undefined));
            run.take({ ...record, event: { ...(event as object), type: record.event.type } }, false);
          }
          run.close(true);
        }
        expect(readText()).not.toContain(text);
      }),
      { numRuns: SAMPLES.sessions },
    );
  });
});

/** Returns the value with some of its texts replaced. */
function plant(value: Json, next: () => string | undefined): Json {
  if (typeof value === "string") return next() ?? value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => plant(item, next));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plant(item, next)]));
}
