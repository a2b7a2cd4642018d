import { describe, expect, it } from "vitest";
import { MemoryLog } from "../log/index.ts";
import { type AdapterScript, describeAdapter } from "../../test/contracts/adapter.ts";
import { fromAsyncIterable } from "./from-async-iterable.ts";
import { record } from "./record.ts";
import type { SourceContext, SourceItem } from "./source.ts";

/** A hand-written loop that plays the script. */
async function* play(script: AdapterScript, signal: AbortSignal): AsyncGenerator<SourceItem> {
  for (const [index, { reasoning = [], text = [], cities = [], hangs, error }] of script.turns.entries()) {
    const node = `turn-${index}`;
    yield { type: "node_enter", id: "turn", node };
    for (const content of reasoning) yield { type: "reasoning_chunk", content, node };
    for (const content of text) {
      script.onPiece?.();
      yield { type: "message_chunk", content, node };
    }
    if (error !== undefined) throw new Error(error);
    if (hangs === true) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    yield { type: "usage", prompt_tokens: 3, completion_tokens: 5, total_tokens: 8, node };
    for (const city of cities) {
      const call = { call_id: `call-${city}`, name: "weather" };
      for (const arguments_delta of ['{"city":', `"${city}"}`])
        yield { type: "tool_call_chunk", ...call, arguments_delta, node };
      yield { type: "tool_call", ...call, arguments: { city }, node };
    }
    for (const city of cities) {
      const call = { call_id: `call-${city}`, name: "weather", node };
      script.onTool?.({ city });
      const { toolError } = script;
      const result = toolError ?? JSON.stringify({ city, degrees: -3 });
      yield { type: "tool_end", ...call, result, is_error: toolError !== undefined };
    }
    yield { type: "node_exit", node };
  }
}

describeAdapter("fromAsyncIterable", {
  create: (script, context) =>
    fromAsyncIterable(({ signal }: SourceContext) => play(script, context?.signal ?? signal)),
  lacks: ["approvals"],
});

describe("fromAsyncIterable", () => {
  it.each([42, "text", undefined])("refuses %s", async (items) => {
    const run = await record(new MemoryLog(), { sessionId: "s", message: "Hi" }, fromAsyncIterable(items as never));
    await expect(run.ended).resolves.toMatchObject({ status: "error", code: "invalid_arguments" });
  });
});
