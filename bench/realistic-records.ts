/**
 * Records of runs as agents write them: mostly text, some reasoning and tool arguments, and the state after each step.
 * Ids are as long as those of real sessions and providers, and every fifth run is in Chinese.
 */
import { createEntry } from "../src/log/entry.ts";
import { describeHolder } from "../src/log/holder.ts";
import type { Log } from "../src/log/index.ts";
import type { AnyEvent, StampedRecord } from "../src/protocol/index.ts";

export const SESSION = "1e0c905e-e7a3-45ca-a553-fe0f179beaef";
const CALL = { call_id: "call_Jm3kT0qv9ZbXwR5uYd2LsA1c", name: "search" };
const ENGLISH = {
  words: ["The ", "answer ", "is ", "in ", "the ", "second ", "chapter", ", ", "line ", "forty-two.\n"],
  found: "Chapter two tells how the loom was built, who paid for it, and why the second beam was replaced. ".repeat(8),
  earlier: ["Which book is this, and who wrote it?", "It is the chronicle of a workshop. ".repeat(10)],
};
const CHINESE = {
  words: ["答案", "就", "在", "第二", "章", "，", "第", "四十二", "行", "。\n"],
  found: "第二章讲述织机如何建成、由谁出资，以及第二根横梁为何必须更换。".repeat(8),
  earlier: ["这是哪本书？作者是谁？", "这是一部作坊的编年史，由三代织工共同写成。".repeat(8)],
};

/** Complete runs of 187 records each, until there are at least `count` records. */
export function createRealisticRecords(count: number): StampedRecord[] {
  const records: StampedRecord[] = [];
  for (let n = 1; records.length < count; n++) {
    const run_id = `run-8a41c6f0d2b94e7f-${n}`;
    const first_event_id = records.length + 1;
    const put = (event: AnyEvent, node_id?: string): void => {
      const event_id = records.length + 1;
      const node = node_id === undefined ? {} : { node_id };
      const envelope = { session_id: SESSION, run_id, ...node, event_id, ts: 1_760_000_000_000 + event_id * 11 };
      records.push({ envelope, event });
    };
    writeRun(put, run_id, n % 5 === 0 ? CHINESE : ENGLISH);
    const last_event_id = records.length + 2;
    const frame_count = last_event_id - first_event_id + 1;
    put({ type: "run_end", status: "completed", first_event_id, last_event_id, frame_count });
    put({ type: "reply", reply: "The answer is in the second chapter. ".repeat(20) });
  }
  return records;
}

function writeRun(
  put: (event: AnyEvent, node_id?: string) => void,
  run_id: string,
  { words, found, earlier }: typeof ENGLISH,
): void {
  const [question = "", answer = ""] = earlier;
  const messages = [
    { role: "user", content: question },
    { role: "assistant", content: answer },
  ];
  const endStep = (id: string, node: string, step: number, content: string): void => {
    messages.push({ role: "assistant", content });
    const state = { messages: [...messages], iteration: step };
    put({ type: "updates", id, state: { messages: messages.slice(-1) } }, node);
    put({ type: "node_exit", id, result: "Ok" }, node);
    put({ type: "values", state });
    const at = { timestamp: "2026-01-02T03:04:05.678Z", step, thread_id: SESSION, checkpoint_ns: "" };
    put({ type: "checkpoint", checkpoint_id: `${run_id}-${step}`, state, ...at });
  };
  const word = (i: number): string => words[i % words.length] ?? "";
  put({ type: "run_start", run_id, message: question, agent: "react", contiguous: true });
  put({ type: "node_enter", id: "think" }, "run-think-1");
  for (let i = 0; i < 20; i++) put({ type: "reasoning_chunk", content: word(i), id: "think" }, "run-think-1");
  const query = { query: "second chapter", limit: 5 };
  for (const arguments_delta of JSON.stringify(query).match(/.{1,3}/g) ?? [])
    put({ type: "tool_call_chunk", ...CALL, arguments_delta }, "run-think-1");
  put({ type: "tool_call", ...CALL, arguments: query }, "run-think-1");
  put({ type: "usage", prompt_tokens: 812, completion_tokens: 64, total_tokens: 876 }, "run-think-1");
  endStep("think", "run-think-1", 1, "I will search the book.");
  put({ type: "node_enter", id: "act" }, "run-act-2");
  put({ type: "tool_start", ...CALL }, "run-act-2");
  put({ type: "tool_output", ...CALL, content: "5 documents" }, "run-act-2");
  const output = { hits: [{ title: "Chapter two", score: 0.9 }] };
  put({ type: "tool_end", ...CALL, result: found, is_error: false, output, duration_ms: 41 }, "run-act-2");
  endStep("act", "run-act-2", 2, found);
  put({ type: "node_enter", id: "think" }, "run-think-3");
  for (let i = 0; i < 120; i++) put({ type: "message_chunk", content: word(i), id: "think" }, "run-think-3");
  endStep("think", "run-think-3", 3, words.join("").repeat(12));
}

/** Appends records to a session, as a run does. */
export async function storeRecords(log: Log, sessionId: string, records: readonly StampedRecord[]): Promise<void> {
  const { epoch } = await log.acquire(sessionId, { holder: describeHolder(), ttlMs: 3_600_000 });
  const perBatch = 1000;
  for (let at = 0; at < records.length; at += perBatch)
    await log.append({
      sessionId,
      epoch,
      expectedLastId: at,
      entries: records.slice(at, at + perBatch).map(createEntry),
    });
}
