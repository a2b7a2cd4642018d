/**
 * Folds one turn: passes each event to the fold responsible for it, counts frames, and creates the turn's view. It
 * knows nothing about other turns; to-do lists belong to the session.
 */
import type { AnyEvent, EventRecord, LoomEvent } from "../../protocol/index.ts";
import type { Envelope, ErrorEvent, RunEndEvent, RunStartEvent, UsageEvent } from "../../protocol/events.generated.ts";
import { isTerminal, isThinkingChannel } from "../../protocol/record.ts";
import type { CheckpointView, CompressionView, MessageView, TurnView, UsageView } from "../view.ts";
import { AttemptFold } from "./attempt-fold.ts";
import { createPartContent } from "./event-parts.ts";
import { GraphFold } from "./graph-fold.ts";
import { GrowingList, interruptEntries } from "./growing-list.ts";
import { MessageFold } from "./message-fold.ts";
import { ModelCallFold } from "./model-call-fold.ts";
import { NodeRuns } from "./node-runs.ts";
import { RunProof } from "./run-proof.ts";
import type { PartAuthor } from "./part-author.ts";
import { ToolCallFold } from "./tool-call-fold.ts";
import { TreeFold } from "./tree-fold.ts";
import { hasLongId, type TurnHost, TurnQuota } from "./turn-quota.ts";
import { TurnStates } from "./turn-states.ts";
import { findDuration, makeView, withFields } from "./with-fields.ts";

const NO_USAGE: UsageView = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };

export class TurnFold {
  readonly key: string;
  /** Run ID from the envelopes. */
  readonly runId: string | undefined;
  /** Index among all turns of the session, including removed ones. */
  number = 0;
  readonly proof: RunProof;
  /** Mismatch found at the end of the run. */
  proofFault: string | undefined;
  isOver = false;
  /** The session needs to update its view of this turn. */
  isStale = false;
  readonly #quota: TurnQuota;
  readonly #message: MessageFold;
  readonly #nodes: NodeRuns;
  readonly #attempts: AttemptFold;
  readonly #tools: ToolCallFold;
  readonly #models: ModelCallFold;
  #tree: TreeFold | undefined;
  #graph: GraphFold | undefined;
  readonly #checkpoints: GrowingList<CheckpointView>;
  readonly #states: TurnStates;
  readonly #compressions: GrowingList<CompressionView>;
  readonly #others: GrowingList<AnyEvent>;
  #userMessage: MessageView | undefined;
  #end: RunEndEvent | undefined;
  #startedAt: number | undefined;
  #usage = NO_USAGE;
  #hasFailedTool = false;
  /** Something other than the message may have changed. */
  #areOtherFieldsStale = false;
  /** Fields changed since the last `show`. */
  #changed: Partial<TurnView> = {};
  /** The view before the first event. */
  readonly first: TurnView;

  /** Created for the first record of a run. The record itself must still be applied. */
  constructor(key: string, { envelope, event }: EventRecord, host: TurnHost) {
    const runId = envelope.run_id;
    const isStarted = event.type === "run_start";
    this.key = key;
    this.runId = runId;
    this.proof = new RunProof(isStarted);
    const quota = new TurnQuota(`turn ${key}`, host);
    this.#quota = quota;
    this.#message = new MessageFold(`${key}:assistant`, { requestId: runId ?? key, startTime: 0 }, quota);
    this.#nodes = new NodeRuns(quota);
    this.#attempts = new AttemptFold(this.#message, this.#nodes);
    this.#tools = new ToolCallFold(this.#message);
    this.#models = new ModelCallFold(quota);
    this.#checkpoints = new GrowingList(quota);
    this.#states = new TurnStates(quota);
    this.#compressions = new GrowingList(quota);
    this.#others = new GrowingList(quota, host.limits.maxIssues);
    // Set all run_start fields now: the object is copied for every token, and fields added later are slower to copy.
    const { startedAt, ...named } = showStart(isStarted ? (event as RunStartEvent) : {}, runId, envelope.ts);
    this.first = {
      key,
      ...named,
      status: "running",
      ...(isStarted && startedAt !== undefined ? { startedAt } : {}),
      verified: isStarted,
      isPartial: !isStarted,
      messages: [this.#message.show(undefined)],
      nodes: this.#nodes.list.show(),
      usage: this.#usage,
      modelCalls: this.#models.list.show(),
      checkpoints: this.#checkpoints.show(),
      compressions: this.#compressions.show(),
      others: this.#others.show(),
      omitted: 0,
    };
  }

  apply(envelope: Envelope, event: AnyEvent, sure: boolean): void {
    const { proof } = this;
    const held = proof.holds;
    this.#quota.isCounted = false;
    this.#message.now = envelope.ts;
    proof.count(envelope, sure);
    if (proof.holds !== held) this.#set({ verified: false });
    // Unknown types fall through to the last branch, whatever their fields.
    const known = event as LoomEvent;
    if (this.#attempts.interruption !== undefined && this.#attempts.resume(known))
      this.#set({ attempt: this.#attempts.attempt });
    const { node_id } = envelope;
    switch (known.type) {
      case "message_chunk": {
        const author = this.#nodes.authorOf(node_id, known.id);
        if (isThinkingChannel(known.channel)) this.#message.appendThinking(author, "thought", undefined, known.content);
        else if (known.channel !== "break") this.#message.appendText(author, known);
        return;
      }
      case "tool_call_chunk":
        this.#tools.stream(this.#nodes.authorOf(node_id, undefined), known);
        return;
      case "reasoning_chunk":
        this.#message.appendThinking(this.#nodes.authorOf(node_id, known.id), "reasoning", known.stage, known.content);
        return;
      default:
        this.#areOtherFieldsStale = true;
        this.#applyRare(envelope, known);
    }
  }

  /** Ends the turn without its run_end, as failed. */
  abandon(code: string, reason: string): void {
    this.proof.holds = false;
    this.#set({ status: "error", code, reason, verified: false });
    this.#message.setError(reason);
    this.#close();
  }

  /** Marks the message as stale, because its `isStreaming` may have changed. */
  touch(): void {
    this.isStale = true;
    this.#message.isStale = true;
  }

  /** Returns the current view, or `before` if nothing changed since. */
  show(before: TurnView): TurnView {
    this.isStale = false;
    let view = before;
    const messageBefore = before.messages[before.messages.length - 1];
    const message = this.#message.show(messageBefore);
    if (message !== messageBefore) {
      const messages = this.#userMessage === undefined ? [message] : [this.#userMessage, message];
      view = { ...before, messages };
    }
    const { omitted } = this.#quota;
    if (!this.#areOtherFieldsStale && omitted === before.omitted) return view;
    this.#areOtherFieldsStale = false;
    const changed = this.#changed;
    this.#changed = {};
    const all = withFields<TurnView>(view, {
      values: this.#states.values,
      ...changed,
      omitted,
      nodes: this.#nodes.list.show(),
      tree: this.#tree?.show(),
      graph: this.#graph?.show(),
      modelCalls: this.#models.list.show(),
      checkpoints: this.#checkpoints.show(),
      compressions: this.#compressions.show(),
      others: this.#others.show(),
    });
    // A fresh literal is faster to copy, and every token copies it.
    return all === view ? view : { ...view, ...all };
  }

  #applyRare(envelope: Envelope, event: LoomEvent): void {
    const { ts, node_id } = envelope;
    const message = this.#message;
    switch (event.type) {
      case "run_start":
        this.#start(event, ts);
        return;
      case "node_enter":
        this.#attempts.enter(event);
        if (this.#attempts.attempt > 1) this.#set({ attempt: this.#attempts.attempt });
        this.#nodes.enter(node_id, event, ts, this.#graph);
        return;
      case "node_exit":
        message.closeTexts(this.#nodes.exit(node_id, event, ts));
        return;
      case "reasoning_end":
        message.endReasoning(this.#nodes.authorOf(node_id, event.id), event.duration_ms);
        return;
      case "updates": {
        const written = this.#states.update(event);
        if (written === undefined || this.#nodes.update(node_id, event.id, written)) return;
        this.#others.push(event);
        return;
      }
      case "values":
        this.#states.report(event);
        return;
      case "usage":
        this.#use(event);
        return;
      case "checkpoint": {
        const { checkpoint_id: id, step, checkpoint_ns: ns = "", timestamp } = event;
        this.#states.checkpoint(event);
        this.#checkpoints.push({ id, step, ns, timestamp });
        return;
      }
      case "compression_applied":
        this.#compressions.push(
          makeView<CompressionView>({
            beforeTokens: event.before_tokens,
            afterTokens: event.after_tokens,
            method: event.method,
          }),
        );
        return;
      case "llm_start":
        this.#models.start(event, ts);
        return;
      case "llm_end":
        this.#models.end(event, ts);
        return;
      case "run_end":
        this.#end = event;
        if (isTerminal(event)) this.#finish(envelope);
        return;
      case "reply": {
        const author = node_id === undefined ? undefined : this.#nodes.authorOf(node_id, undefined);
        message.settleReply(author, author ?? this.#nodes.authorOf(undefined, undefined), event.reply);
        this.#finish(envelope);
        return;
      }
      default:
        this.#applyContent(this.#nodes.authorOf(node_id, undefined), event, ts);
    }
  }

  #applyContent(author: PartAuthor, event: LoomEvent, ts: number | undefined): void {
    switch (event.type) {
      case "tool_call":
        this.#tools.call(author, event);
        return;
      case "tool_approval":
      case "tool_approval_result":
      case "tool_start":
      case "tool_progress":
      case "tool_output":
      case "tool_end":
        if (event.type === "tool_end" && event.is_error) this.#hasFailedTool = true;
        this.#tools.apply(author, event, ts);
        return;
      case "error":
        if (this.#attempts.interrupt(event)) return;
        if (!isToolFailure(event, this.#hasFailedTool)) this.#message.setError(event.message);
        this.#message.add(author, createPartContent(event, this.#quota.maxItems));
        return;
      case "data":
      case "image":
      case "retrieval_complete":
        this.#message.add(author, createPartContent(event, this.#quota.maxItems));
        return;
      case "todo_list":
      case "todo_update":
        if (this.#quota.host.takeTodo(event)) this.#message.add(author, { type: "todo", listId: event.list_id });
        return;
      case "tot_expand":
      case "tot_evaluate":
      case "tot_backtrack":
        if (hasLongId(event)) this.#quota.omit();
        else (this.#tree ??= new TreeFold(this.#quota)).apply(event);
        return;
      case "got_plan":
      case "got_node_start":
      case "got_node_complete":
      case "got_node_failed":
      case "got_expand":
        if (hasLongId(event)) this.#quota.omit();
        else (this.#graph ??= new GraphFold(this.#quota)).apply(event, ts);
        return;
      default:
        this.#others.push(event);
    }
  }

  #start(event: RunStartEvent, ts: number | undefined): void {
    this.proof.isStarted = true;
    this.#startedAt = ts ?? this.#startedAt;
    const requestId = event.request_id ?? this.runId ?? event.run_id ?? this.key;
    const metadata = { ...this.#message.metadata, requestId, startTime: ts ?? 0 };
    this.#message.metadata = metadata;
    this.#message.isStale = true;
    this.#set({ ...showStart(event, this.runId, ts), isPartial: false });
    const { attachments, message: text = attachments && "" } = event;
    if (text === undefined) return;
    this.#userMessage = {
      messageId: `${this.key}:user`,
      role: "user",
      thinkingContent: "",
      mainContent: text,
      toolCalls: [],
      dataBlocks: [],
      isStreaming: false,
      hasError: false,
      metadata,
      ...(attachments && { attachments }),
      parts: text === "" ? [] : [{ type: "text", key: "1", text, format: "markdown", isComplete: true }],
    };
  }

  #use({ prompt_tokens, completion_tokens, total_tokens }: UsageEvent): void {
    const { promptTokens, completionTokens, totalTokens } = this.#usage;
    this.#usage = {
      promptTokens: promptTokens + prompt_tokens,
      completionTokens: completionTokens + completion_tokens,
      totalTokens: totalTokens + total_tokens,
    };
    this.#set({ usage: this.#usage });
  }

  #finish(envelope: Envelope): void {
    const { status = "completed", reason, code, summary } = this.#end ?? {};
    const { ts } = envelope;
    this.proofFault = this.proof.findFault(this.#end, envelope);
    if (this.proofFault !== undefined) this.proof.holds = false;
    const durationMs = findDuration(summary?.duration_ms, this.#startedAt, ts);
    const { holds: verified } = this.proof;
    this.#set(makeView<Partial<TurnView>>({ status, reason, code, endedAt: ts, durationMs, verified }));
    // Some dialects report tokens only for the whole run.
    const {
      prompt_tokens = 0,
      completion_tokens = 0,
      total_tokens = prompt_tokens + completion_tokens,
    } = summary ?? {};
    if (this.#usage === NO_USAGE && total_tokens > 0)
      this.#use({ type: "usage", prompt_tokens, completion_tokens, total_tokens });
    const { interruption } = this.#attempts;
    if (status === "error" && interruption !== undefined && interruption.attempt === undefined) {
      this.#message.setError(interruption.message);
      this.#message.add(this.#nodes.runAuthor, createPartContent(interruption, this.#quota.maxItems));
    }
    if (status === "error") this.#message.setError(reason);
    if (ts !== undefined) this.#message.metadata = { ...this.#message.metadata, endTime: ts };
    this.#close();
  }

  #close(): void {
    this.isOver = true;
    this.#areOtherFieldsStale = true;
    this.#message.finish();
    interruptEntries(this.#nodes.list);
    interruptEntries(this.#models.list);
    this.#graph?.close();
  }

  #set(fields: Partial<TurnView>): void {
    this.#areOtherFieldsStale = true;
    this.#changed = { ...this.#changed, ...fields };
  }
}

/** Length of the longest instructions that a server accepts. */
const MAX_INSTRUCTIONS = 32 * 1024;

/** Returns the turn fields given by run_start. */
function showStart(
  { run_id, agent, request_id, instructions = "", strategy }: Omit<RunStartEvent, "type">,
  runId: string | undefined,
  ts: number | undefined,
): Pick<TurnView, "runId" | "requestId" | "agent" | "instructions" | "strategy" | "startedAt"> {
  // A part of them would be other instructions.
  const isShown = instructions !== "" && instructions.length <= MAX_INSTRUCTIONS;
  const given = isShown ? instructions : undefined;
  const settings = readStrategy(strategy);
  return makeView({
    runId: runId ?? run_id,
    requestId: request_id,
    agent,
    instructions: given,
    strategy: settings,
    startedAt: ts,
  });
}

/** More settings than any agent has. */
const MAX_SETTINGS = 50;

/** The settings are shown and sent again, whatever agent they belong to. */
function readStrategy(strategy: RunStartEvent["strategy"]): TurnView["strategy"] {
  const entries = Object.entries(strategy ?? {}).filter(
    (entry): entry is [string, string | number] => typeof entry[1] === "number" || typeof entry[1] === "string",
  );
  return entries.length === 0 || entries.length > MAX_SETTINGS ? undefined : Object.fromEntries(entries);
}

/**
 * True if only a tool failed and the run goes on. It is not an error of the message (003 §3.1). Senders that know only
 * the fields of 003 cannot name the tool, so the error has neither stage nor code, and a tool has failed before.
 */
function isToolFailure({ stage, call_id, code, recoverable }: ErrorEvent, hasFailedTool: boolean): boolean {
  if (recoverable !== true) return false;
  return call_id !== undefined || stage === "tool_execute" || (hasFailedTool && (stage ?? code) === undefined);
}
