// How the last frame of a run tells clients of other protocols that its answer is incomplete. A reply follows every run, so
// the reply says nothing about it.
import { describe, expect, test } from "vitest";
import { createStamper, type DialectName, DIALECTS } from "../src/dialects/index.ts";
import type { AnyEvent, JsonObject } from "../src/protocol/index.ts";

type End = readonly [finishReason: string | undefined, status: "completed" | "error" | "cancelled"];

const ENDS = {
  whole: ["stop", "completed"],
  cut: ["length", "completed"],
  filtered: ["content_filter", "completed"],
  failed: [undefined, "error"],
  cancelled: [undefined, "cancelled"],
} as const satisfies { readonly [name: string]: End };

/** What a client reads from the frames, by dialect and end. */
const EXPECTED = {
  "ai-sdk": {
    whole: "stop",
    cut: "length",
    filtered: "content-filter",
    failed: "error",
    cancelled: "other",
  },
  "openai-chat": {
    whole: "stop",
    cut: "length",
    filtered: "content_filter",
    failed: "error model_failed",
    cancelled: "error cancelled",
  },
  "openai-responses": {
    whole: "response.completed",
    cut: "response.incomplete max_output_tokens",
    filtered: "response.incomplete content_filter",
    failed: "response.failed",
    cancelled: "response.incomplete",
  },
  "ag-ui": {
    whole: "RUN_FINISHED success",
    cut: "RUN_FINISHED success",
    filtered: "RUN_FINISHED success",
    failed: "RUN_ERROR",
    cancelled: "RUN_FINISHED cancelled",
  },
} as const satisfies { readonly [N in DialectName]?: { readonly [E in keyof typeof ENDS]: string } };

function encode(dialect: DialectName, [finishReason, status]: End): readonly JsonObject[] {
  const span = { session_id: "s", run_id: "r", node_id: "run-think-1" };
  const call = { llm_call_id: "1", model: "m" };
  const code = status === "error" ? "model_failed" : status;
  const reason = status === "completed" ? {} : { reason: "No.", code, has_reply: true };
  const events: readonly (AnyEvent & { readonly type: string })[] = [
    { type: "run_start", run_id: "r", agent: "react", message: "Hi" },
    { type: "node_enter", id: "think" },
    { type: "llm_start", ...call },
    { type: "message_chunk", id: "think", content: "Half" },
    ...(finishReason === undefined ? [] : [{ type: "llm_end", ...call, finish_reason: finishReason }]),
    { type: "node_exit", id: "think", result: "Ok" },
    { type: "run_end", status, ...reason },
    { type: "reply", reply: "Half" },
  ];
  const encoder = DIALECTS[dialect].createEncoder();
  const stamp = createStamper();
  return events
    .flatMap((event) => encoder.encode(stamp({ envelope: span, event })))
    .map((frame) => JSON.parse(frame) as JsonObject);
}

function joinWords(frame: JsonObject | undefined, detail: unknown): string {
  return [frame?.["type"], detail].filter((word) => typeof word === "string").join(" ");
}

/** Finds the last frame that ends the run, and describes it. */
function readEnd(dialect: keyof typeof EXPECTED, frames: readonly JsonObject[]): string | undefined {
  const at = (frame: JsonObject | undefined, name: string): JsonObject => (frame?.[name] ?? {}) as JsonObject;
  const last = frames.at(-1);
  switch (dialect) {
    case "ai-sdk":
      return last?.["finishReason"] as string;
    case "openai-chat": {
      const failed = frames.find((frame) => frame["error"] !== undefined);
      if (failed !== undefined) return `error ${at(failed, "error")["code"] as string}`;
      const choices = frames.flatMap((frame) => frame["choices"] as readonly JsonObject[]);
      return choices.findLast((choice) => choice["finish_reason"] !== null)?.["finish_reason"] as string;
    }
    case "openai-responses": {
      return joinWords(last, at(at(last, "response"), "incomplete_details")["reason"]);
    }
    case "ag-ui": {
      return joinWords(last, at(last, "outcome")["type"]);
    }
  }
}

describe.each(Object.keys(EXPECTED) as readonly (keyof typeof EXPECTED)[])("%s", (dialect) => {
  test.each(Object.keys(ENDS) as readonly (keyof typeof ENDS)[])("ends a run that is %s", (end) => {
    expect(readEnd(dialect, encode(dialect, ENDS[end]))).toBe(EXPECTED[dialect][end]);
  });
});
