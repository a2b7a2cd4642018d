/** A run with any number of frames: rounds of thinking, a tool call and an answer. */
import type { LoomEvent } from "../../src/protocol/index.ts";

export interface LongRun {
  readonly session: string;
  readonly runId: string;
  readonly texts: readonly string[];
}

const TOKENS = 10;

export function createLongRun(count: number): LongRun {
  const texts: string[] = [];
  const put = (event: LoomEvent, node_id?: string): void => {
    const event_id = 101 + texts.length;
    const place = { session_id: "s", run_id: "r", ...(node_id === undefined ? {} : { node_id }), event_id };
    texts.push(JSON.stringify({ ...place, ts: 1_763_200_000_000 + texts.length * 20, ...event }));
  };
  put({ type: "run_start", run_id: "r", message: "hi", contiguous: true });
  for (let round = 0; texts.length < count - 2; round++)
    for (const event of makeRound(round)) if (texts.length < count - 2) put(event, `node-${round}`);
  if (texts.length < count) put({ type: "run_end", status: "completed", frame_count: count });
  if (texts.length < count) put({ type: "reply", reply: "word ".repeat(TOKENS) });
  return { session: "s", runId: "r", texts };
}

function* makeRound(round: number): Generator<LoomEvent> {
  const llm_call_id = `call-${round}`;
  const call_id = `tool-${round}`;
  yield { type: "node_enter", id: "think" };
  yield { type: "llm_start", llm_call_id, model: "m" };
  for (let i = 0; i < TOKENS; i++) yield { type: "reasoning_chunk", id: "think", content: "hmm " };
  for (let i = 0; i < TOKENS; i++) yield { type: "message_chunk", id: "think", content: "word " };
  yield { type: "tool_call", call_id, name: "add", arguments: { a: round } };
  yield { type: "usage", prompt_tokens: 5, completion_tokens: 2, total_tokens: 7, llm_call_id };
  yield { type: "llm_end", llm_call_id };
  yield { type: "tool_start", call_id, name: "add" };
  yield { type: "tool_end", call_id, name: "add", result: "3", is_error: false };
  yield { type: "node_exit", id: "think", result: "Ok" };
}
