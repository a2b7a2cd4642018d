/**
 * The work of an agent as a tool, inside the run of the agent that calls the tool. It looks like a run to the strategy,
 * and writes into the run around it: under one node run, which names the call.
 *
 * - Answer text becomes output of the call, so that no client takes it for the answer of the run.
 * - The states and checkpoints of its graph are left out: a run has one graph, from which it is resumed.
 * - IDs of thoughts get a prefix, because two agents of one run may use the same.
 *
 * Invariant: after `end`, everything that it opened is closed, and it writes nothing more.
 */
import { AnswerText } from "../engine/answer-text.ts";
import { describeError, type NodeHost, NodeRun } from "../engine/node-run.ts";
import { OpenWork } from "../engine/open-work.ts";
import type { CloseCallsOptions, EmitOptions } from "../engine/run-contract.ts";
import { type PushResult, rejectHandled } from "../engine/sequencer.ts";
import { dropUndefined } from "../protocol/drop-undefined.ts";
import { type AnyEvent, type Json, type JsonObject, LoomError } from "../protocol/index.ts";
import type { MessageChunkEvent } from "../protocol/events.generated.ts";
import { type AgentRun, listOpenCalls } from "./agent-run.ts";
import type { ParentCall } from "./parent-call.ts";
import { isAnswerChannel } from "../protocol/record.ts";

/** What an agent works on as a tool. */
export interface NestedWork {
  /** Name of the tool, which the node run gets. */
  readonly name: string;
  readonly callId: string;
  readonly message: string;
  /** Aborted when the call ends. */
  readonly signal: AbortSignal;
  /** Writes output of the call. */
  readonly print: (text: string) => void;
  /** Reports an unexpected error and returns its ID. */
  readonly report: (error: unknown) => string;
}

const MAX_ANSWER_CHARACTERS = 1024 * 1024;
const LEFT_OUT: ReadonlySet<string> = new Set(["values", "updates", "checkpoint"]);
/** Model calls and graph nodes have no method that ends them. */
const CLOSED_BY_EVENT: ReadonlySet<string> = new Set(["llm_end", "got_node_failed"]);

export class NestedRun implements AgentRun {
  readonly message: string;
  readonly request: AgentRun["request"];
  readonly signal: AbortSignal;
  readonly requestApproval: AgentRun["requestApproval"];
  readonly callClient: AgentRun["callClient"];
  /** How many agents call each other around it, from 1. */
  readonly depth: number;
  readonly work: AgentRun["work"];
  readonly #parent: AgentRun;
  readonly #root: NodeRun;
  readonly #print: NestedWork["print"];
  readonly #report: NestedWork["report"];
  readonly #answer = new AnswerText(MAX_ANSWER_CHARACTERS);
  readonly #open = new OpenWork();
  readonly #nodes = new Map<string, NodeRun>();
  readonly #idPrefix: string;
  #isOver = false;

  constructor({ run: parent, nodeId, requestApproval, callClient }: ParentCall, work: NestedWork) {
    this.#parent = parent;
    this.message = work.message;
    const { runId, reasoning, toolRules } = parent.request;
    // The rest of the request is for the agent around this one.
    this.request = { runId, message: work.message, reasoning, toolRules };
    this.signal = work.signal;
    this.requestApproval = requestApproval;
    this.callClient = callClient;
    this.depth = findDepth(parent) + 1;
    this.#print = work.print;
    this.#report = work.report;
    this.#root = parent.enter(work.name, nodeId, work.callId);
    this.#idPrefix = `${/\d+$/.exec(this.#root.nodeId)?.[0] ?? ""}.`;
    const open = this.#open;
    this.work = {
      get calls() {
        return open.calls;
      },
      findCall: (callId) => parent.work.findCall(callId),
      hasUsedCallId: (callId) => parent.work.hasUsedCallId(callId),
      attempt: parent.work.attempt,
      startedAt: parent.work.startedAt,
      // It always starts from the beginning.
      checkpoint: undefined,
      nodeRuns: 0,
    };
  }

  get sessionId(): string {
    return this.#parent.sessionId;
  }

  get runId(): string {
    return this.#parent.runId;
  }

  get requestId(): AgentRun["requestId"] {
    return this.#parent.requestId;
  }

  /** A call of the agent does not outlive the process: it starts from the beginning. */
  recallClient(): undefined {
    return undefined;
  }

  get status(): AgentRun["status"] {
    return this.#isOver ? "cancelled" : this.#parent.status;
  }

  get isBehind(): boolean {
    return this.#parent.isBehind;
  }

  ready(): Promise<void> {
    return this.#parent.ready();
  }

  settled(): Promise<void> {
    return this.#parent.settled();
  }

  now(): number {
    return this.#parent.now();
  }

  /** The text that was answered last. */
  get answer(): string {
    return this.#answer.toString();
  }

  /** Fails the whole run. */
  fail(...failure: Parameters<AgentRun["fail"]>): ReturnType<AgentRun["fail"]> {
    return this.#parent.fail(...failure);
  }

  closeCalls(callIds: Iterable<string>, options?: CloseCallsOptions): void {
    this.#assertOpen();
    const ids = [...callIds];
    this.#parent.closeCalls(ids, options);
    for (const call_id of ids) this.#note({ type: "tool_end", call_id, name: "", result: "", is_error: true });
  }

  enter(name: string, parent = this.#root.nodeId, call_id?: string): NodeRun {
    this.#assertOpen();
    const inner = this.#parent.enter(name, parent, call_id);
    const { nodeId } = inner;
    this.#note({ type: "node_enter", id: name, parent, ...dropUndefined({ call_id }) }, nodeId);
    const host: NodeHost = {
      emit: (posted) => {
        try {
          return this.post(posted, { nodeId }).durable;
        } catch (error) {
          return rejectHandled(error);
        }
      },
      exit: (_nodeId, id, result, { before = [] }) => {
        const kept = this.#take(before, nodeId);
        const failure = result === "Ok" ? undefined : { error: new LoomError("node_failed", result.Err) };
        const pushed = inner.commit({ before: kept, failure });
        for (const written of kept) this.#note(written, nodeId);
        this.#note({ type: "node_exit", id, result }, nodeId);
        this.#nodes.delete(nodeId);
        return pushed;
      },
      describe: (error) => describeError(error, (thrown) => this.#report(thrown)),
    };
    const node = new NodeRun(host, nodeId, name);
    this.#nodes.set(nodeId, node);
    return node;
  }

  post(event: AnyEvent, { nodeId }: EmitOptions = {}): PushResult {
    return this.postUnit([event], { nodeId });
  }

  postUnit(
    events: readonly AnyEvent[],
    { nodeId = this.#root.nodeId, isHandled = false }: EmitOptions & { readonly isHandled?: boolean } = {},
  ): PushResult {
    this.#assertOpen();
    const kept = this.#take(events, nodeId);
    if (kept.length === 0) return { lastId: 0, ts: this.now(), durable: Promise.resolve(0) };
    const pushed = this.#parent.postUnit(kept, { nodeId, isHandled });
    for (const event of kept) this.#note(event, nodeId);
    return pushed;
  }

  /** Ends it: closes what is open, as failed, and ends the node run of the call. Does not throw. */
  end(failure?: { readonly error: unknown }): void {
    // The end of the run has closed everything.
    if (this.status !== "live") return;
    try {
      this.#close(failure);
    } catch (error) {
      this.#report(error);
    }
    this.#isOver = true;
  }

  #close(failure: { readonly error: unknown } | undefined): void {
    const { error = new LoomError("run_ended", "The agent has answered") } = failure ?? {};
    const reason = describeError(error);
    const callIds = listOpenCalls(this);
    if (callIds.length > 0) this.closeCalls(callIds, { reason });
    for (const { event, nodeId } of this.#open.listClosings({ reason, code: "interrupted", now: this.now() }))
      if (CLOSED_BY_EVENT.has(event.type)) this.#parent.post(event, { nodeId: nodeId ?? this.#root.nodeId });
    for (const node of [...this.#nodes.values()].toReversed()) void node.fail(error);
    if (failure === undefined) void this.#root.done();
    else void this.#root.fail(error);
  }

  #assertOpen(): void {
    if (this.#isOver) throw new LoomError("run_ended", "The call of this agent has ended");
  }

  /** Returns the events that are written into the run. */
  #take(events: readonly AnyEvent[], nodeId: string): readonly AnyEvent[] {
    return events.flatMap((event) => {
      if (LEFT_OUT.has(event.type)) return [];
      if (event.type !== "message_chunk" || !isAnswerChannel((event as MessageChunkEvent).channel))
        return [prefixIds(event, this.#idPrefix)];
      this.#answer.add({ envelope: { node_id: nodeId }, event });
      this.#print((event as MessageChunkEvent).content);
      return [];
    });
  }

  #note(event: AnyEvent, nodeId?: string): void {
    const record = { envelope: nodeId === undefined ? {} : { node_id: nodeId }, event };
    this.#open.add(record);
    this.#answer.add(record);
  }
}

/** How many agents call each other around the code of this run; 0 for a run of a session. */
export function findDepth(run: AgentRun): number {
  return run instanceof NestedRun ? run.depth : 0;
}

/** Fields of events with IDs of thoughts. */
const THOUGHT_IDS: { readonly [type: string]: readonly string[] } = {
  tot_expand: ["ids", "parent", "parents"],
  tot_evaluate: ["ids", "kept", "unrated"],
  tot_backtrack: ["from", "to", "kept"],
  got_plan: ["node_ids", "edges", "parent"],
  got_expand: ["node_id", "nodes", "edges"],
  got_node_start: ["id"],
  got_node_complete: ["id", "scored"],
  got_node_failed: ["id"],
};

function prefixIds(event: AnyEvent, prefix: string): AnyEvent {
  const names = THOUGHT_IDS[event.type];
  if (names === undefined) return event;
  const prefixed: { [name: string]: Json } = { ...(event as unknown as JsonObject) };
  for (const name of names) if (prefixed[name] !== undefined) prefixed[name] = prefixAll(prefixed[name], prefix);
  return prefixed as unknown as AnyEvent;
}

function prefixAll(value: Json, prefix: string): Json {
  if (typeof value === "string") return prefix + value;
  return Array.isArray(value) ? (value as readonly Json[]).map((each) => prefixAll(each, prefix)) : value;
}
