/**
 * Turns the frames of a LangGraph stream into events of a source. One object reads all streams of a run: the first one,
 * and one per answer to its interrupts.
 */
import type { Json } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import type { SourceAnswer, SourceCall, SourceEvent } from "../source.ts";
import { GraphCalls } from "./graph-calls.ts";
import { GraphInterrupts, type GraphResumption, type ToResume } from "./graph-interrupts.ts";
import { GraphNodes, joinPath } from "./graph-nodes.ts";
import { GraphStates } from "./graph-states.ts";
import { findMessages, isReported, kindOf, type MessageFields, toFields, toPlainJson } from "./langchain-message.ts";
import { MessageEvents } from "./message-events.ts";
import { type GraphFrame, readGraphFrame } from "./read-graph-frame.ts";

/** How to read a stream. */
export interface LangGraphEventsOptions {
  /** Modes whose frames are recorded although nothing needs them. Default: all. */
  readonly kept?: ReadonlySet<string>;
  /** The mode of a stream with a single one. */
  readonly single?: string | undefined;
}

const INTERRUPT = "__interrupt__";
const METADATA = "__metadata__";

export class LangGraphEvents {
  readonly #kept: ReadonlySet<string> | undefined;
  readonly #single: string | undefined;
  #events: SourceEvent[] = [];
  readonly #emit = (event: SourceEvent, node?: string): void => {
    this.#events.push(node === undefined ? event : { ...event, node });
  };
  readonly #keep = (frame: unknown, node?: string): void => {
    const { mode, ns } = toFields(frame);
    const plain = toPlainJson(frame) ?? toPlainJson({ mode, ns, omitted: "not JSON" }) ?? null;
    this.#emit({ type: "foreign", dialect: "langgraph", frame: plain }, node);
  };
  readonly #calls = new GraphCalls(this.#emit);
  readonly #messages = new MessageEvents(this.#emit, this.#keep, this.#calls);
  readonly #nodes = new GraphNodes(this.#emit, (node) => this.#messages.endIn(node));
  readonly #states = new GraphStates(this.#emit);
  readonly #interrupts = new GraphInterrupts(this.#emit, this.#calls);
  /** Graphs whose first state in this stream was read: the state before the first node. */
  readonly #begun = new Set<string>();
  #hasMessages = false;
  #hasUpdates = false;

  constructor({ kept, single }: LangGraphEventsOptions = {}) {
    this.#kept = kept;
    this.#single = single;
  }

  /** Continues a graph that an earlier process of the run left. `state` has the messages that it recorded. */
  continue(openCalls: readonly SourceCall[], state: unknown): void {
    for (const call of openCalls) this.#calls.adopt(call);
    for (const message of findMessages(state)) this.#messages.see(message);
  }

  /** Reads a frame and returns its events. */
  add(raw: unknown): readonly SourceEvent[] {
    const frame = readGraphFrame(raw, this.#single);
    this.#nodes.release();
    switch (frame.mode) {
      case "messages":
        this.#addMessage(frame);
        break;
      case "updates":
        this.#addUpdates(frame);
        break;
      case "values":
        this.#addValues(frame);
        break;
      case "custom":
        this.#addCustom(frame);
        break;
      case "tools":
        this.#addTool(frame);
        break;
      case "tasks":
        this.#addTask(frame.ns, frame.data);
        this.#keepFrame(frame);
        break;
      case "debug":
        this.#addDebug(frame);
        this.#keepFrame(frame);
        break;
      default:
        this.#keepFrame(frame);
    }
    return this.#drain();
  }

  /** The stream has ended. Returns the events that complete its messages and ask for its approvals. */
  finish(): readonly SourceEvent[] {
    this.#nodes.release();
    this.#messages.endAll();
    if (this.#interrupts.isPaused) this.#interrupts.ask();
    return this.#drain();
  }

  /** True if the graph waits for the user. */
  get isPaused(): boolean {
    return this.#interrupts.isPaused;
  }

  /** Returns how the graph goes on after its approvals were answered, and the events of the answers. */
  answer(
    answers: readonly SourceAnswer[],
    toResume: ToResume | undefined,
  ): { readonly resumption: GraphResumption; readonly events: readonly SourceEvent[] } {
    const resumption = this.#interrupts.answer(answers, toResume);
    this.#begun.clear();
    return { resumption, events: this.#drain() };
  }

  #drain(): readonly SourceEvent[] {
    const events = this.#events;
    if (events.length > 0) this.#events = [];
    return events;
  }

  #addMessage({ ns, data }: GraphFrame): void {
    this.#hasMessages = true;
    const [message, rest] = data as readonly [MessageFields, unknown];
    const metadata = toFields(rest);
    const { langgraph_checkpoint_ns: path, langgraph_step: step } = metadata;
    const node = typeof path === "string" && path !== "" ? path : joinPath(ns);
    if (node !== "") this.#nodes.enter(node, typeof step === "number" ? step : 0);
    this.#record(message, node === "" ? undefined : node, metadata);
  }

  #record(message: MessageFields, node: string | undefined, metadata: { readonly [name: string]: unknown }): void {
    const kind = kindOf(message);
    if (kind === "ai") {
      this.#messages.add(message, { node, metadata });
      return;
    }
    if (this.#messages.hasSeen(message)) return;
    this.#messages.see(message);
    this.#messages.endWith(message.tool_call_id);
    if (kind !== "tool" || !this.#calls.finish(message, node)) this.#keep({ mode: "messages", message }, node);
  }

  #addUpdates({ ns, data }: GraphFrame): void {
    const path = joinPath(ns);
    for (const [name, written] of Object.entries(toFields(data))) {
      if (name === METADATA) continue;
      if (name === INTERRUPT) {
        this.#interrupts.add(Array.isArray(written) ? written : [], undefined);
        continue;
      }
      this.#hasUpdates = true;
      this.#recordNew(written, () => this.#nodes.require(path, name));
      this.#nodes.exitUpdated(path, name);
      // Our `updates` has the state after the merge; LangGraph reports what the node wrote.
      if (this.#isKept("updates")) this.#keep({ mode: "updates", ns: path, data: { [name]: written } });
    }
  }

  #addValues({ ns, data }: GraphFrame): void {
    const { [INTERRUPT]: interrupts, ...state } = toFields(data);
    if (Array.isArray(interrupts)) this.#interrupts.add(interrupts, undefined);
    // A graph whose state is one value has no channels.
    if (Array.isArray(interrupts) && Object.keys(state).length === 0) return;
    const path = joinPath(ns);
    if (this.#begun.has(path)) {
      if (!this.#hasUpdates) this.#recordNew(state, () => this.#nodes.findIn(path));
    } else {
      this.#begun.add(path);
      for (const message of findMessages(state)) this.#messages.see(message);
    }
    if (!this.#isKept("values")) return;
    const plain = toPlainJson(data);
    if (isJsonObject(plain)) this.#states.add(path, plain);
    else this.#keep({ mode: "values", ns: path, data });
  }

  /** Records messages that were not streamed. */
  #recordNew(value: unknown, findNode: () => string | undefined): void {
    for (const message of findMessages(value)) {
      if (this.#messages.hasSeen(message) || (this.#hasMessages && isReported(message))) continue;
      const kind = kindOf(message);
      if (kind !== "ai" && kind !== "tool") this.#messages.see(message);
      else this.#record(message, findNode(), {});
    }
  }

  #addCustom({ ns, data }: GraphFrame): void {
    const value: Json | undefined = toPlainJson(data);
    const node = this.#nodes.findIn(joinPath(ns));
    if (value === undefined) this.#keep({ mode: "custom", data }, node);
    else this.#emit({ type: "custom", value }, node);
  }

  #addTool(frame: GraphFrame): void {
    const { event, toolCallId, data } = toFields(frame.data);
    const path = joinPath(frame.ns);
    this.#messages.endWith(toolCallId);
    if (path !== "") this.#nodes.enter(path);
    const node = path === "" ? undefined : path;
    if (event === "on_tool_start") this.#calls.start(toolCallId, node);
    if (event !== "on_tool_event") return;
    const content = typeof data === "string" ? data : JSON.stringify(toPlainJson(data) ?? null);
    if (!this.#calls.output(toolCallId, content, node)) this.#keep({ mode: "tools", data: frame.data }, node);
  }

  #addTask(ns: readonly string[], data: unknown): void {
    const { id, name, result, interrupts } = toFields(data);
    const key = joinPath([...ns, `${String(name)}:${String(id)}`]);
    if (result === undefined) this.#nodes.enterTask(key, this.#messages.hasSpoken(key));
    // A node that was interrupted stays open: it runs again.
    else if (Array.isArray(interrupts) && interrupts.length > 0) this.#interrupts.locate(interrupts, key);
    else {
      this.#messages.endIn(key);
      this.#nodes.exitTask(key, !isJsonObject(result) || Object.keys(result).length > 0);
    }
  }

  #addDebug({ ns, data }: GraphFrame): void {
    const { type, payload } = toFields(data);
    if (type === "task" || type === "task_result") this.#addTask(ns, payload);
  }

  #isKept(mode: string): boolean {
    return this.#kept?.has(mode) ?? true;
  }

  #keepFrame({ ns, mode, data }: GraphFrame): void {
    if (this.#isKept(mode)) this.#keep({ mode, ns: joinPath(ns), data: withoutRuntime(data) });
  }
}

/** Leaves the handlers and functions of a checkpoint's configuration out. They are not data. */
function withoutRuntime(data: unknown): unknown {
  const { config, parentConfig, payload } = toFields(data);
  if (payload !== undefined) return { ...toFields(data), payload: withoutRuntime(payload) };
  if (config === undefined) return data;
  const kept = {
    config: readIds(config),
    ...(parentConfig === undefined ? {} : { parentConfig: readIds(parentConfig) }),
  };
  return { ...toFields(data), ...kept };
}

function readIds(config: unknown): unknown {
  const { configurable } = toFields(config);
  const isId = ([, value]: readonly [string, unknown]) => typeof value === "string";
  return { configurable: Object.fromEntries(Object.entries(toFields(configurable)).filter(isId)) };
}
