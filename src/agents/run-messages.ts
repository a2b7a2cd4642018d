/**
 * Builds the messages of one run from its records: the question, the answer, the tool calls and their results. It does
 * not read the log itself.
 *
 * Invariant: for any records, even truncated or foreign ones, the messages follow the rules of providers. Every call
 * has exactly one result, right after the message that made it, and no message is empty.
 */
import type { AssistantPart, ModelMessage, ToolResultPart } from "../models/model.ts";
import { type EventRecord, isKnownEvent, type Json } from "../protocol/index.ts";
import { isJsonObject } from "../protocol/json.ts";
import { isInterrupted } from "../engine/interrupted-nodes.ts";
import type { CheckpointEvent, RunStartEvent, ToolCallEvent, ToolEndEvent } from "../protocol/events.generated.ts";
import { NestedNodes } from "./nested-nodes.ts";
import { composeQuestion, isBlank } from "./compose-question.ts";
import { isAnswerChannel } from "../protocol/record.ts";

/** Kinds whose tool calls are part of the search. Only the question and the answer enter the conversation. */
const SEARCHES: ReadonlySet<string> = new Set(["tot", "got", "agot"]);
const NO_RESULT = "This call has no result. It may have been executed.";

interface Text {
  readonly text: string;
  readonly nodeId: string | undefined;
}

/** Folds the records of one run into messages for a model. */
export class RunMessages {
  readonly #messages: ModelMessage[] = [];
  /** Text of the assistant message in progress. */
  #text: Text[] = [];
  #calls: ToolCallEvent[] = [];
  /** Calls that have not started, and the node run that made them. */
  readonly #unstarted = new Map<string, string>();
  /** Unstarted calls that need an approval. */
  readonly #asked = new Set<string>();
  /** Calls of an interrupted node run that wait for the user. The next attempt may execute them. */
  readonly #waiting = new Map<string, ToolCallEvent>();
  readonly #results = new Map<string, ToolEndEvent>();
  /** Text streamed while calls were running. It follows their results. */
  #later: Text[] = [];
  /** Text of interrupted node runs. It counts if the run ends without another attempt. */
  #unsaid: Text[] = [];
  #hasAnswered = false;
  /** Text of the latest assistant message that has some. */
  #said = "";
  #isSearch = false;
  #hasCheckpoint = false;
  readonly #nested = new NestedNodes();

  add(record: EventRecord): void {
    const {
      envelope: { node_id: nodeId },
      event,
    } = record;
    if (!isKnownEvent(event) || this.#nested.add(record)) return;
    switch (event.type) {
      case "run_start":
        this.#isSearch = SEARCHES.has(event.agent?.split(":", 1)[0] ?? "");
        this.#ask(event);
        return;
      case "message_chunk":
        if (isAnswerChannel(event.channel)) this.#say(event.content, nodeId);
        return;
      case "node_enter":
        if (event.supersedes !== undefined) this.#unsay(event.supersedes);
        this.#unsaid = [];
        return;
      case "node_exit":
        if (nodeId !== undefined && isInterrupted(event.result)) this.#unsay(nodeId);
        return;
      case "run_end":
        for (const piece of this.#unsaid) this.#say(piece.text, piece.nodeId);
        return;
      case "tool_call":
        if (this.#isSearch || event.call_id === undefined || this.#knows(event.call_id)) return;
        if (this.#isAnswered()) this.#flush();
        this.#calls.push(event);
        if (nodeId !== undefined) this.#unstarted.set(event.call_id, nodeId);
        return;
      case "tool_approval":
        this.#asked.add(event.call_id ?? "");
        return;
      case "tool_start":
        this.#unstarted.delete(event.call_id ?? "");
        this.#continue(event.call_id);
        return;
      case "tot_expand":
      case "got_plan":
        // Also detects searches of agents with a custom name.
        this.#isSearch = true;
        this.#calls = [];
        this.#results.clear();
        return;
      case "tool_end":
        this.#continue(event.call_id);
        if (event.call_id !== undefined && this.#knows(event.call_id) && !this.#results.has(event.call_id))
          this.#results.set(event.call_id, event);
        return;
      case "checkpoint":
        this.#hasCheckpoint = true;
        this.#edit(event);
        return;
      case "reply":
        if (this.#isAnswered()) this.#flush();
        // If nothing was streamed, the reply is the whole answer. A run that ends with calls repeats their text.
        if (!this.#hasAnswered || (this.#text.length === 0 && !this.#hasSaid(event.reply))) this.#say(event.reply);
        return;
      default:
    }
  }

  /** Returns all messages and completes open calls. */
  finish(): readonly ModelMessage[] {
    this.#flush();
    this.#flush();
    return this.#messages;
  }

  #ask({ message = "", attachments = [] }: RunStartEvent): void {
    const content = composeQuestion(message, attachments);
    if (content.length > 0) this.#messages.push({ role: "user", content });
  }

  /** A fork may start with an edited state; its messages replace the earlier ones. */
  #edit({ delta, state }: CheckpointEvent): void {
    const change = delta === true ? readField(readField(state, "messages"), "set") : undefined;
    if (!Array.isArray(change)) return;
    const messages = (change as Json[]).filter(isModelMessage);
    this.#messages.length = 0;
    this.#text = [];
    this.#later = [];
    this.#calls = [];
    this.#results.clear();
    const last = messages.at(-1);
    // Calls without results will get them from the records that follow.
    if (last?.role === "assistant" && last.content.some(({ type }) => type === "tool-call")) {
      messages.pop();
      for (const part of last.content) this.#take(part);
    }
    this.#messages.push(...messages);
  }

  #take(part: AssistantPart): void {
    if (part.type === "text") this.#text.push({ text: part.text, nodeId: undefined });
    if (part.type !== "tool-call") return;
    this.#calls.push({ type: "tool_call", call_id: part.toolCallId, name: part.toolName, arguments: part.input });
  }

  #say(text: string, nodeId?: string): void {
    if (text === "") return;
    if (this.#calls.length > 0 && !this.#isAnswered()) {
      this.#later.push({ text, nodeId });
      return;
    }
    if (this.#isAnswered()) this.#flush();
    this.#hasAnswered = true;
    this.#text.push({ text, nodeId });
  }

  /** True if the latest assistant message with text ends with this text of a node run. */
  #hasSaid(text: string): boolean {
    return `${BETWEEN_NODES}${this.#said}`.endsWith(`${BETWEEN_NODES}${text}`);
  }

  /**
   * Drops what an interrupted node run said and called: the node runs again. Calls that have started are kept. Without
   * checkpoints, the agent belongs to another framework, which reports no starts: all its calls are kept, so that it
   * does not repeat them, except those that wait for the user.
   */
  #unsay(nodeId: string): void {
    this.#calls = this.#calls.filter((call) => {
      const { call_id = "" } = call;
      const isAsked = this.#asked.has(call_id);
      if (this.#unstarted.get(call_id) !== nodeId || !(this.#hasCheckpoint || isAsked)) return true;
      this.#results.delete(call_id);
      if (isAsked) this.#waiting.set(call_id, call);
      return false;
    });
    const isOther = (piece: Text): boolean => piece.nodeId !== nodeId;
    this.#unsaid.push(...[...this.#text, ...this.#later].filter((piece) => !isOther(piece)));
    this.#text = this.#text.filter(isOther);
    this.#later = this.#later.filter(isOther);
  }

  /** Takes back a call that waited for the user while its node run was interrupted. */
  #continue(callId = ""): void {
    const call = this.#waiting.get(callId);
    if (call === undefined) return;
    this.#waiting.delete(callId);
    if (this.#isAnswered()) this.#flush();
    this.#calls.push(call);
  }

  #knows(callId: string): boolean {
    return this.#calls.some((call) => call.call_id === callId);
  }

  /** There are calls, and all have results. */
  #isAnswered(): boolean {
    return this.#calls.length > 0 && this.#calls.length === this.#results.size;
  }

  #flush(): void {
    const text = joinText(this.#text);
    const content: AssistantPart[] = isBlank(text) ? [] : [{ type: "text", text }];
    const results: ToolResultPart[] = [];
    for (const { call_id = "", name, arguments: input } of this.#calls) {
      content.push({ type: "tool-call", toolCallId: call_id, toolName: name, input });
      results.push(toResult(call_id, name, this.#results.get(call_id)));
    }
    if (!isBlank(text)) this.#said = text;
    if (content.length > 0) this.#messages.push({ role: "assistant", content });
    if (results.length > 0) this.#messages.push({ role: "tool", content: results });
    this.#text = this.#later;
    this.#later = [];
    this.#calls = [];
    this.#results.clear();
  }
}

const BETWEEN_NODES = "\n\n";

/** Joins what each node run said. Node runs that run in parallel say it piece by piece, in any order. */
function joinText(pieces: readonly Text[]): string {
  const texts: string[] = [];
  for (const said of Map.groupBy(pieces, ({ nodeId }) => nodeId).values()) {
    const text = said.map((piece) => piece.text).join("");
    if (!isBlank(text)) texts.push(text);
  }
  return texts.join(BETWEEN_NODES);
}

/** True for messages of an agent's state. System messages are not part of it. */
function isModelMessage(value: Json): value is Json & ModelMessage {
  const role = readField(value, "role");
  const content = readField(value, "content");
  return (role === "user" || role === "assistant" || role === "tool") && Array.isArray(content) && content.length > 0;
}

function readField(value: Json | undefined, name: string): Json | undefined {
  return isJsonObject(value) ? value[name] : undefined;
}

/** A tool result as a message part. Without `end`, it says that the call has no result. */
export function toResult(
  callId: string,
  name: string,
  end: Pick<ToolEndEvent, "result" | "is_error"> | undefined,
): ToolResultPart {
  const { result, is_error } = end ?? { result: NO_RESULT, is_error: true };
  return {
    type: "tool-result",
    toolCallId: callId,
    toolName: name,
    output: { type: is_error ? "error-text" : "text", value: isBlank(result) ? "(no output)" : result },
  };
}
