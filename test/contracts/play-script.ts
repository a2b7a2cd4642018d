/** An agent of LangGraph that plays a script: the real graph, with a model of LangChain that needs no network. */
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { AIMessage, AIMessageChunk, type AIMessageChunkFields } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { tool } from "@langchain/core/tools";
import { END, interrupt, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode, toolsCondition } from "@langchain/langgraph/prebuilt";
import { z } from "zod";
import type { AdapterScript, ScriptedTurn } from "./adapter.ts";

// The type of the field depends on a parameter that the classes of LangChain leave open.
const USAGE = { input_tokens: 3, output_tokens: 5, total_tokens: 8 } as unknown as never;

/** Streams one turn of the script per call. */
export class ScriptedChatModel extends BaseChatModel {
  readonly #script: AdapterScript;
  #turn = 0;

  constructor(script: AdapterScript) {
    super({});
    this.#script = script;
  }

  override _llmType(): string {
    return "scripted";
  }

  override bindTools(): this {
    return this;
  }

  /** Without streaming, the answer is one message. */
  override _generate(): Promise<ChatResult> {
    const { text = [], cities = [] } = this.#next();
    const tool_calls = cities.map((city) => ({ id: `call-${city}`, name: "weather", args: { city } }));
    const message = new AIMessage({ content: text.join(""), tool_calls, usage_metadata: USAGE });
    return Promise.resolve({ generations: [{ message, text: "" }] });
  }

  override async *_streamResponseChunks(
    _messages: unknown,
    { signal }: this["ParsedCallOptions"],
    manager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const { text = [], error, hangs } = this.#next();
    for (const fields of createPieces(this.#script.turns[this.#turn - 1] ?? {})) {
      if (text.includes(fields.content as string)) this.#script.onPiece?.();
      const chunk = new ChatGenerationChunk({ message: new AIMessageChunk(fields), text: "" });
      yield chunk;
      await manager?.handleLLMNewToken("", undefined, undefined, undefined, undefined, { chunk });
    }
    if (error !== undefined) throw new Error(error);
    if (hangs === true)
      await new Promise((_, reject) => signal?.addEventListener("abort", () => reject(new Error("aborted"))));
  }

  #next(): ScriptedTurn {
    return this.#script.turns[this.#turn++] ?? {};
  }
}

function* createPieces({
  reasoning = [],
  text = [],
  cities = [],
  hangs,
  error,
}: ScriptedTurn): Generator<AIMessageChunkFields> {
  for (const piece of reasoning) yield { content: [{ type: "reasoning", reasoning: piece }] };
  for (const content of text) yield { content };
  for (const [index, city] of cities.entries())
    for (const args of ["", '{"city":', `"${city}"}`])
      yield {
        content: "",
        tool_call_chunks: [{ index, args, ...(args === "" ? { id: `call-${city}`, name: "weather" } : {}) }],
      };
  if (hangs === true || error !== undefined) return;
  const finish_reason = cities.length > 0 ? "tool_calls" : "stop";
  yield { content: "", usage_metadata: USAGE, response_metadata: { finish_reason } };
}

/** A ReAct agent whose tool may need an approval, asked for like LangChain's human-in-the-loop middleware does. */
export function createScriptedAgent(script: AdapterScript, checkpointer = new MemorySaver()) {
  const weather = tool(
    ({ city }) => {
      script.onTool?.({ city });
      if (script.toolError !== undefined) throw new Error(script.toolError);
      return JSON.stringify({ city, degrees: -3 });
    },
    { name: "weather", description: "Reports the weather", schema: z.object({ city: z.string() }) },
  );
  const model = new ScriptedChatModel(script);
  return new StateGraph(MessagesAnnotation)
    .addNode("agent", async ({ messages }, config) => ({ messages: [await model.invoke(messages, config)] }))
    .addNode("review", script.needsApproval === true ? review : () => ({}))
    .addNode("tools", new ToolNode([weather]))
    .addEdge(START, "agent")
    .addEdge("agent", "review")
    .addConditionalEdges(
      "review",
      ({ messages }) => (messages.at(-1)?.type === "tool" ? "agent" : toolsCondition({ messages })),
      ["agent", "tools", END],
    )
    .addEdge("tools", "agent")
    .compile({ checkpointer });
}

interface Decision {
  readonly type: "approve" | "edit" | "reject";
  readonly message?: string;
  readonly editedAction?: { readonly name: string; readonly args: { readonly [name: string]: unknown } };
}

function review({ messages }: typeof MessagesAnnotation.State) {
  const last = messages.at(-1) as AIMessage;
  const calls = last.tool_calls ?? [];
  if (calls.length === 0) return {};
  const { decisions } = interrupt({
    actionRequests: calls.map(({ name, args }) => ({ name, args, description: `Run ${name}` })),
    reviewConfigs: calls.map(({ name }) => ({ actionName: name, allowedDecisions: ["approve", "edit", "reject"] })),
  }) as { readonly decisions: readonly Decision[] };
  const edited = calls.map((call, index) => ({ ...call, args: decisions[index]?.editedAction?.args ?? call.args }));
  const refused = calls.flatMap(({ id, name }, index) =>
    decisions[index]?.type === "reject"
      ? [{ role: "tool", content: decisions[index].message ?? "Rejected", tool_call_id: id, name, status: "error" }]
      : [],
  );
  return { messages: [new AIMessage({ content: last.content, id: last.id ?? "", tool_calls: edited }), ...refused] };
}
