/**
 * Reads the events of a run of `@openai/agents`. Text, calls, results and usage come from the SDK's own events; pieces
 * of reasoning and arguments from the raw events of the provider, which only OpenAI models and AI SDK models send.
 */
import { readToolInput } from "../models/answer-calls.ts";
import { type JsonObject, LoomError } from "../protocol/index.ts";
import { toJsonObject } from "../protocol/json.ts";
import { ChatReader } from "./chat-reader.ts";
import { describeFailure } from "./from-openai.ts";
import { ModelAnswers } from "./model-answers.ts";
import { describeOutput, toText } from "../dialects/openai-responses/output-items.ts";
import { createCut, ResponseReader } from "./response-reader.ts";
import type { SourceEvent } from "./source.ts";

const MAX_NAME = 200;
/** The SDK does not mark failed calls. These are the results it writes for them by default. */
const TOOL_FAILED = "An error occurred while running the tool. Please try again.";
const TOOL_TIMED_OUT = /^Tool '[^']*' timed out after \d+ms\.$/;
const NESTED = "The call ran inside another tool; its result is part of the result of that tool";
const GUARDRAILS = {
  inputGuardrailResults: "input",
  outputGuardrailResults: "output",
  toolInputGuardrailResults: "tool_input",
  toolOutputGuardrailResults: "tool_output",
} as const;

/** A call as items of the SDK describe it. */
interface AgentsCall {
  readonly callId: string;
  readonly name: string;
  /** Arguments as JSON text. */
  readonly text: string;
  readonly input: JsonObject;
}

export class AgentsReader {
  readonly #answers = new ModelAnswers("openai-agents");
  readonly #responses = new ResponseReader(this.#answers, { isPartial: true });
  readonly #chat = new ChatReader(this.#answers, { isPartial: true });
  readonly #rejected = new Set<string>();
  /** Calls inside tools that are agents. The SDK reports only their approvals. */
  readonly #nested = new Set<string>();
  /** Names of tools whose arguments an AI SDK model streams, by call. */
  readonly #streamed = new Map<string, string>();
  readonly #guardrails = new Map<string, number>();
  #agent: string | undefined;
  #agents = 0;

  drain(): readonly SourceEvent[] {
    return this.#answers.drain();
  }

  /** Begins with an agent, or continues with it after approvals. */
  begin(agent: unknown): void {
    const name = readName(agent);
    if (name !== this.#agent) this.#enter(name);
  }

  take(value: unknown): void {
    const event = toJsonObject(value);
    switch (event["type"]) {
      case "raw_model_stream_event":
        this.#takeRaw(toJsonObject(event["data"]));
        return;
      case "run_item_stream_event":
        this.#takeItem(toText(event["name"]), toJsonObject(event["item"]));
        return;
      case "agent_updated_stream_event":
        this.#enter(readName(event["agent"]));
        return;
      default:
        this.#answers.keep(value);
    }
  }

  /** Ends a stream: asks for the approvals of its interruptions, or ends the agent if there are none. */
  end(result: { readonly interruptions: readonly object[] }): void {
    this.#addGuardrails(result);
    const { interruptions } = result;
    for (const callId of this.#nested) {
      // A call of a state that the program has stored is not nested.
      if (!this.#answers.isCalled(callId)) continue;
      const isError = this.#rejected.delete(callId);
      const given = isError ? { isError, code: "tool_rejected" } : {};
      this.#answers.endCall(callId, isError ? "The call was rejected" : NESTED, given);
    }
    this.#nested.clear();
    for (const item of interruptions) this.#ask(AgentsReader.readCall(item));
    if (interruptions.length === 0) this.#leave();
  }

  /** Returns the error for a run that failed, and reports its guardrails. */
  fail(error: unknown, result: object | undefined): unknown {
    if (result !== undefined) this.#addGuardrails(result);
    const { name = "", result: tripped } = Object(error) as { readonly name?: string; readonly result?: unknown };
    if (name === "MaxTurnsExceededError")
      return new LoomError("iteration_limit", "The agent reached its maximum number of turns", {}, { cause: error });
    if (name.endsWith("GuardrailTripwireTriggered")) {
      const guardrail = toText(toJsonObject(toJsonObject(tripped)["guardrail"])["name"]).slice(0, MAX_NAME);
      return new LoomError("guardrail_triggered", `The guardrail "${guardrail}" stopped the run`, { guardrail });
    }
    if (name === "ModelBehaviorError" && this.#answers.isOpen) return createCut(error);
    return describeFailure(error);
  }

  /** The SDK runs a call that was approved. It does not report that. */
  start({ callId, name }: AgentsCall): void {
    this.#answers.add({ type: "tool_start", call_id: callId, name });
  }

  markRejected(callId: string): void {
    this.#rejected.add(callId);
  }

  /** Reads the call of a run item. */
  static readCall(item: object): AgentsCall {
    const raw = toJsonObject((item as { readonly rawItem?: unknown }).rawItem);
    const { callId, id, type, name } = raw;
    const kind = toText(type).replace(/_call$/, "");
    const text = typeof raw["arguments"] === "string" ? raw["arguments"] : JSON.stringify(readAction(raw));
    return {
      callId: toText(callId) || toText(id),
      name: toText(name) || kind || "tool",
      text,
      input: readToolInput(text) ?? {},
    };
  }

  #takeRaw(data: JsonObject): void {
    const answers = this.#answers;
    switch (data["type"]) {
      case "response_started": {
        const { model, response } = toJsonObject(data["providerData"]);
        answers.begin(model ?? toJsonObject(response)["model"]);
        return;
      }
      case "output_text_delta":
        answers.say(data["delta"]);
        return;
      case "response_done":
        this.#finish(toJsonObject(data["response"]));
        return;
      case "model":
        this.#takeProvider(toJsonObject(data["event"]));
        return;
      default:
        answers.keep(data);
    }
  }

  /** Takes the pieces of a provider's own event. The SDK reports all else itself. */
  #takeProvider(event: JsonObject): void {
    const { type, id, toolName, delta } = event;
    if (Array.isArray(event["choices"])) this.#chat.take(event);
    else if (typeof type === "string" && type.startsWith("response.")) this.#responses.take(event);
    else if (type === "reasoning-delta") this.#answers.reason(delta);
    else if (type === "tool-input-start") this.#streamed.set(toText(id), toText(toolName));
    else if (type === "tool-input-delta")
      this.#answers.addArguments(toText(id), this.#streamed.get(toText(id)) ?? "", delta);
  }

  #finish(response: JsonObject): void {
    const answers = this.#answers;
    if (!answers.isOpen) answers.begin();
    const output = Array.isArray(response["output"]) ? (response["output"] as readonly JsonObject[]) : [];
    // A model that does not stream reports everything at the end.
    const isStreamed = answers.hasContent;
    for (const { type, content, rawContent } of output) {
      if (type === "reasoning" && !isStreamed) answers.reason(readMessage(rawContent) || readMessage(content));
      if (type === "message" && !answers.hasText) answers.say(readMessage(content));
    }
    const usage = toJsonObject(response["usage"]);
    answers.addUsage({
      prompt: usage["inputTokens"],
      completion: usage["outputTokens"],
      total: usage["totalTokens"],
    });
    answers.end(output.some(({ type }) => toText(type).endsWith("_call")) ? "tool_calls" : "stop");
  }

  #takeItem(name: string, item: JsonObject): void {
    const answers = this.#answers;
    const raw = toJsonObject(item["rawItem"]);
    switch (name) {
      case "tool_called":
      case "handoff_requested": {
        const { callId, name: tool, text } = AgentsReader.readCall(item);
        answers.call(callId, tool, text);
        // The provider has executed it.
        if (raw["type"] === "hosted_tool_call") answers.endCall(callId, describeHosted(raw), isFailed(raw));
        return;
      }
      case "tool_output":
      case "handoff_occurred":
        this.#endCall(toText(raw["callId"]), describeOutput(unwrap(raw["output"])));
        return;
      case "message_output_created":
      case "reasoning_item_created":
      case "tool_approval_requested":
        // Reported by the events of the model and the interruptions.
        return;
      default:
        answers.keep({ type: name, item: raw });
    }
  }

  #endCall(callId: string, result: string): void {
    if (this.#rejected.delete(callId)) this.#answers.endCall(callId, result, { isError: true, code: "tool_rejected" });
    else if (result === TOOL_FAILED) this.#answers.endCall(callId, result, { isError: true, code: "tool_failed" });
    else if (TOOL_TIMED_OUT.test(result))
      this.#answers.endCall(callId, result, { isError: true, code: "tool_timeout" });
    else this.#answers.endCall(callId, result);
  }

  #ask({ callId, name, text, input }: AgentsCall): void {
    if (!this.#answers.isCalled(callId)) {
      this.#answers.call(callId, name, text);
      this.#nested.add(callId);
    }
    this.#answers.add({ type: "tool_approval", call_id: callId, name, arguments: input });
  }

  #enter(name: string): void {
    this.#leave();
    this.#agent = name;
    const node = `agent-${++this.#agents}`;
    this.#answers.push({ type: "node_enter", id: name, node });
    this.#answers.parent = node;
  }

  #leave(): void {
    this.#answers.close();
    const { parent: node } = this.#answers;
    if (node !== undefined) this.#answers.push({ type: "node_exit", id: this.#agent ?? "", result: "Ok", node });
    this.#answers.parent = undefined;
    this.#agent = undefined;
  }

  /** Reports which guardrails ran. What they found out is for the program only. */
  #addGuardrails(result: object): void {
    for (const [field, stage] of Object.entries(GUARDRAILS)) {
      const results = (result as { readonly [field: string]: unknown })[field];
      if (!Array.isArray(results)) continue;
      for (const one of (results as readonly unknown[]).slice(this.#guardrails.get(field) ?? 0)) {
        const { guardrail, output } = toJsonObject(one);
        const name = toText(toJsonObject(guardrail)["name"]).slice(0, MAX_NAME);
        const triggered = toJsonObject(output)["tripwireTriggered"] === true;
        this.#answers.add({ type: "custom", value: { guardrail: name, stage, triggered } });
      }
      this.#guardrails.set(field, results.length);
    }
  }
}

function readName(agent: unknown): string {
  return toText(toJsonObject(agent)["name"]).slice(0, MAX_NAME) || "agent";
}

/** What a call of a built-in tool asks for. */
function readAction(raw: JsonObject): JsonObject {
  const { action, actions, operation } = raw;
  return {
    ...(action == null ? {} : { action }),
    ...(actions == null ? {} : { actions }),
    ...(operation == null ? {} : { operation }),
  };
}

function readMessage(content: JsonObject[string] | undefined): string {
  return Array.isArray(content) ? describeTexts(content as readonly JsonObject[]) : toText(content);
}

function describeTexts(parts: readonly JsonObject[]): string {
  return parts.map((part) => toText(part["text"]) || toText(part["refusal"])).join("");
}

function describeHosted(raw: JsonObject): string {
  return toText(raw["output"]) || toText(raw["status"]) || "completed";
}

function isFailed(raw: JsonObject): { readonly isError: boolean } {
  return { isError: raw["status"] === "failed" };
}

/** The SDK wraps a text in an object. */
function unwrap(output: JsonObject[string] | undefined): JsonObject[string] | undefined {
  const { type, text } = toJsonObject(output);
  return type === "text" && typeof text === "string" ? text : output;
}
