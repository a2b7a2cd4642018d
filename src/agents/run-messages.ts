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
import type {
  CheckpointEvent,
  NodeEnterEvent,
  RunStartEvent,
  ToolCallEvent,
  ToolEndEvent,
} from "../protocol/events.generated.ts";
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
  readonly #unstartedCalls = new Map<string, string>();
  /** Unstarted calls that need an approval. */
  readonly #needingApproval = new Set<string>();
  /** Calls of an interrupted node run that wait for the user. The next attempt may execute them. */
  readonly #interruptedCalls = new Map<string, ToolCallEvent>();
  readonly #results = new Map<string, ToolEndEvent>();
  /** Text streamed while calls were running. It follows their results. */
  #textBesideCalls: Text[] = [];
  /** Text of interrupted node runs. It counts if the run ends without another attempt. */
  #interruptedText: Text[] = [];
  #hasText = false;
  /** Text of the latest assistant message that has some. */
  #lastText = "";
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
        this.#addQuestion(event);
        return;
      case "message_chunk":
        if (isAnswerChannel(event.channel)) this.#addText(event.content, nodeId);
        return;
      case "node_enter":
        if (event.supersedes !== undefined) this.#dropInterrupted(event.supersedes);
        this.#interruptedText = [];
        return;
      case "node_exit":
        if (nodeId !== undefined && isInterrupted(event.result)) this.#dropInterrupted(nodeId);
        return;
      case "run_end":
        for (const piece of this.#interruptedText) this.#addText(piece.text, piece.nodeId);
        return;
      case "tool_call":
        if (this.#isSearch || event.call_id === undefined || this.#isOpen(event.call_id)) return;
        if (this.#haveCallsEnded()) this.#endMessage();
        this.#calls.push(event);
        if (nodeId !== undefined) this.#unstartedCalls.set(event.call_id, nodeId);
        return;
      case "tool_approval":
        this.#needingApproval.add(event.call_id ?? "");
        return;
      case "tool_start":
        this.#unstartedCalls.delete(event.call_id ?? "");
        this.#resumeCall(event.call_id);
        return;
      case "tot_expand":
      case "got_plan":
        // Also detects searches of agents with a custom name.
        this.#isSearch = true;
        this.#calls = [];
        this.#results.clear();
        return;
      case "tool_end":
        this.#resumeCall(event.call_id);
        if (event.call_id !== undefined && this.#isOpen(event.call_id) && !this.#results.has(event.call_id))
          this.#results.set(event.call_id, event);
        return;
      case "checkpoint":
        this.#hasCheckpoint = true;
        this.#replaceMessages(event);
        return;
      case "reply":
        if (this.#haveCallsEnded()) this.#endMessage();
        // If nothing was streamed, the reply is the whole answer. A run that ends with calls repeats their text.
        if (!this.#hasText || (this.#text.length === 0 && !this.#endsWith(event.reply))) this.#addText(event.reply);
        return;
      default:
    }
  }

  /** Returns all messages and completes open calls. */
  finish(): readonly ModelMessage[] {
    this.#endMessage();
    this.#endMessage();
    return this.#messages;
  }

  #addQuestion({ message = "", attachments = [] }: RunStartEvent): void {
    const content = composeQuestion(message, attachments);
    if (content.length > 0) this.#messages.push({ role: "user", content });
  }

  /** A fork may start with an edited state; its messages replace the earlier ones. */
  #replaceMessages({ delta, state }: CheckpointEvent): void {
    const change = delta === true ? readField(readField(state, "messages"), "set") : undefined;
    if (!Array.isArray(change)) return;
    const messages = (change as Json[]).filter(isModelMessage);
    this.#messages.length = 0;
    this.#text = [];
    this.#textBesideCalls = [];
    this.#calls = [];
    this.#results.clear();
    const last = messages.at(-1);
    // Calls without results will get them from the records that follow.
    if (last?.role === "assistant" && last.content.some(({ type }) => type === "tool-call")) {
      messages.pop();
      for (const part of last.content) this.#addPart(part);
    }
    this.#messages.push(...messages);
  }

  #addPart(part: AssistantPart): void {
    if (part.type === "text") this.#text.push({ text: part.text, nodeId: undefined });
    if (part.type !== "tool-call") return;
    this.#calls.push({ type: "tool_call", call_id: part.toolCallId, name: part.toolName, arguments: part.input });
  }

  #addText(text: string, nodeId?: string): void {
    if (text === "") return;
    if (this.#calls.length > 0 && !this.#haveCallsEnded()) {
      this.#textBesideCalls.push({ text, nodeId });
      return;
    }
    if (this.#haveCallsEnded()) this.#endMessage();
    this.#hasText = true;
    this.#text.push({ text, nodeId });
  }

  /** True if the latest assistant message with text ends with this text of a node run. */
  #endsWith(text: string): boolean {
    return `${BETWEEN_NODES}${this.#lastText}`.endsWith(`${BETWEEN_NODES}${text}`);
  }

  /**
   * Drops what an interrupted node run said and called: the node runs again. Calls that have started are kept. Without
   * checkpoints, the agent belongs to another framework, which reports no starts: all its calls are kept, so that it
   * does not repeat them, except those that wait for the user.
   */
  #dropInterrupted(nodeId: string): void {
    this.#calls = this.#calls.filter((call) => {
      const { call_id = "" } = call;
      const needsApproval = this.#needingApproval.has(call_id);
      if (this.#unstartedCalls.get(call_id) !== nodeId || !(this.#hasCheckpoint || needsApproval)) return true;
      this.#results.delete(call_id);
      if (needsApproval) this.#interruptedCalls.set(call_id, call);
      return false;
    });
    const isOther = (piece: Text): boolean => piece.nodeId !== nodeId;
    this.#interruptedText.push(...[...this.#text, ...this.#textBesideCalls].filter((piece) => !isOther(piece)));
    this.#text = this.#text.filter(isOther);
    this.#textBesideCalls = this.#textBesideCalls.filter(isOther);
  }

  /** Takes back a call that waited for the user while its node run was interrupted. */
  #resumeCall(callId = ""): void {
    const call = this.#interruptedCalls.get(callId);
    if (call === undefined) return;
    this.#interruptedCalls.delete(callId);
    if (this.#haveCallsEnded()) this.#endMessage();
    this.#calls.push(call);
  }

  #isOpen(callId: string): boolean {
    return this.#calls.some((call) => call.call_id === callId);
  }

  /** There are calls, and all have results. */
  #haveCallsEnded(): boolean {
    return this.#calls.length > 0 && this.#calls.length === this.#results.size;
  }

  #endMessage(): void {
    const text = joinText(this.#text);
    const content: AssistantPart[] = isBlank(text) ? [] : [{ type: "text", text }];
    const results: ToolResultPart[] = [];
    for (const { call_id = "", name, arguments: input } of this.#calls) {
      content.push({ type: "tool-call", toolCallId: call_id, toolName: name, input });
      results.push(toResult(call_id, name, this.#results.get(call_id)));
    }
    if (!isBlank(text)) this.#lastText = text;
    if (content.length > 0) this.#messages.push({ role: "assistant", content });
    if (results.length > 0) this.#messages.push({ role: "tool", content: results });
    this.#text = this.#textBesideCalls;
    this.#textBesideCalls = [];
    this.#calls = [];
    this.#results.clear();
  }
}

/**
 * Finds the records of agents that work as tools. They are stored in the run of the agent that calls the tool, but only
 * the result of the call belongs to its conversation. It is a fold over the records of one run.
 */
export class NestedNodes {
  /** IDs of the open node runs that carry out a tool call, and of those inside them. */
  readonly #open = new Set<string>();

  /** Returns true if the record belongs to an agent that works as a tool. */
  add({ envelope: { node_id: nodeId }, event }: EventRecord): boolean {
    if (nodeId === undefined) return false;
    if (event.type === "node_enter") {
      const { call_id: callId, parent = "" } = event as NodeEnterEvent;
      if (callId !== undefined || this.#open.has(parent)) this.#open.add(nodeId);
    }
    return event.type === "node_exit" ? this.#open.delete(nodeId) : this.#open.has(nodeId);
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
