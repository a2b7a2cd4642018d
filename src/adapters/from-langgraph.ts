/**
 * A source from LangGraph: a compiled graph and its input, or a stream of one. Frames are read by their fields; the
 * package is loaded only to resume a graph after an interrupt.
 */
import { LoomError } from "../protocol/index.ts";
import { describeValue } from "../protocol/fault.ts";
import { loadPackage } from "../protocol/load-package.ts";
import type { ToResume } from "./langgraph/graph-interrupts.ts";
import { LangGraphEvents } from "./langgraph/langgraph-events.ts";
import { ReadGate } from "./langgraph/read-gate.ts";
import type { ForeignSource, SourceContext, SourceItem } from "./source.ts";

/** A compiled graph, or an agent of LangChain. Only these members are used. */
export interface LangGraph {
  // oxlint-disable-next-line typescript/no-explicit-any -- their types depend on the graph
  stream(input: any, config?: any): PromiseLike<AsyncIterable<unknown>>;
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  getState?(config: any): PromiseLike<unknown>;
  /** Stores the state of the graph, so that it can be resumed. */
  readonly checkpointer?: unknown;
}

/** Configuration of `graph.stream`, and how to record it. */
export interface LangGraphConfig {
  /**
   * Modes whose frames are recorded in addition to messages, tool calls, nodes, custom data and interrupts: `values` as
   * states, and `updates`, `tasks`, `checkpoints` and `debug` as `foreign` frames. Default: none.
   */
  readonly streamMode?: string | readonly string[];
  /**
   * `thread_id` selects the thread in the checkpointer. Default: a new thread per run, so that the conversation in the
   * log is the only memory.
   */
  readonly configurable?: { readonly [name: string]: unknown };
  readonly signal?: AbortSignal;
  /**
   * Maps the answer to an interrupt to what `interrupt` returns in the node. Default: `true` if it was approved, the
   * arguments if they were edited, else `false`. Requests of LangChain's human-in-the-loop middleware are answered with
   * its decisions.
   */
  readonly toResume?: ToResume;
  readonly [name: string]: unknown;
}

/** How to read a stream that the caller has opened. */
export interface LangGraphStreamOptions {
  /** The mode, if the stream has a single one. Default: derived from its frames, which cannot tell custom data. */
  readonly streamMode?: string | readonly string[];
}

/** Modes that are read in any case. */
const READ = ["messages", "updates", "custom", "tasks", "tools"];

/**
 * Creates a source from a graph. Interrupts of the graph become approvals, and the answers resume it; for that, the
 * graph needs a checkpointer. With `null` as input, the graph goes on from the last checkpoint of its thread.
 *
 * ```ts
 * const run = await record(log, { sessionId: "chat-7", message }, fromLangGraph(graph, { messages }));
 * ```
 */
export function fromLangGraph(graph: LangGraph, input: unknown, config?: LangGraphConfig): ForeignSource;
/** Creates a source from a stream, in any mode. Its interrupts cannot be answered. */
export function fromLangGraph(
  stream: AsyncIterable<unknown> | PromiseLike<AsyncIterable<unknown>>,
  options?: LangGraphStreamOptions,
): ForeignSource;
export function fromLangGraph(origin: unknown, second?: unknown, config: LangGraphConfig = {}): ForeignSource {
  if (isGraph(origin)) return new GraphSource(origin, second, config);
  const { streamMode } = (second ?? {}) as LangGraphStreamOptions;
  // The rejection is handled when the source starts.
  if ("then" in Object(origin)) (origin as PromiseLike<unknown>).then(undefined, () => undefined);
  const events = new LangGraphEvents(typeof streamMode === "string" ? { single: streamMode } : {});
  return {
    framework: "langgraph",
    async *start({ signal }) {
      const stream: unknown = await origin;
      if (!isStream(stream))
        throw new LoomError(
          "invalid_arguments",
          "compile" in Object(stream)
            ? "`fromLangGraph` needs a compiled graph: call `compile()` first"
            : `\`fromLangGraph\` needs a graph or a stream, not ${describeValue(stream)}`,
        );
      const stop = (): void => void stopStream(stream, signal.reason);
      signal.addEventListener("abort", stop, { once: true });
      try {
        yield* readEvents(stream, events);
      } finally {
        signal.removeEventListener("abort", stop);
      }
    },
  };
}

class GraphSource implements ForeignSource {
  readonly framework = "langgraph";
  readonly #graph: LangGraph;
  readonly #input: unknown;
  readonly #config: LangGraphConfig;
  readonly #toResume: ToResume | undefined;
  readonly #events: LangGraphEvents;

  constructor(graph: LangGraph, input: unknown, { toResume, streamMode = [], ...config }: LangGraphConfig) {
    const kept = new Set([streamMode].flat());
    this.#graph = graph;
    this.#input = input;
    this.#toResume = toResume;
    this.#config = { ...config, streamMode: [...new Set([...READ, ...kept])], subgraphs: true };
    // A remote graph has no such member; its threads are created elsewhere.
    if ("checkpointer" in graph)
      this.#config = { ...this.#config, configurable: { thread_id: crypto.randomUUID(), ...config.configurable } };
    this.#events = new LangGraphEvents({ kept });
  }

  async *start(context: SourceContext): AsyncGenerator<SourceItem> {
    // Without input, the graph goes on from the checkpoint of its thread.
    if (this.#input === null) {
      const { values } = Object(await this.#graph.getState?.(this.#config)) as { readonly values?: unknown };
      this.#events.continue(context.openCalls, values);
    }
    yield* this.#read(this.#input, context);
  }

  async *resume(
    answers: Parameters<NonNullable<ForeignSource["resume"]>>[0],
    context: SourceContext,
  ): AsyncGenerator<SourceItem> {
    const { resumption, events } = this.#events.answer(answers, this.#toResume);
    yield* events;
    if (resumption === "stop") return;
    yield* this.#read(resumption === "continue" ? null : await createCommand(resumption), context);
  }

  async *#read(input: unknown, context: SourceContext): AsyncGenerator<SourceItem> {
    const gate = new ReadGate();
    const { signal: own, callbacks } = this.#config as { signal?: AbortSignal; callbacks?: unknown };
    const signal = own === undefined ? context.signal : AbortSignal.any([own, context.signal]);
    try {
      const stream = await this.#graph.stream(input, {
        ...this.#config,
        signal,
        callbacks: gate.addTo(callbacks),
      });
      yield* readEvents(gate.pass(stream), this.#events, () => this.#assertCanResume());
    } catch (error) {
      throw describeFailure(error);
    }
  }

  /** Called before the user is asked. */
  async #assertCanResume(): Promise<void> {
    // A remote graph has its checkpointer elsewhere.
    if ("checkpointer" in this.#graph && (this.#graph.checkpointer == null || this.#graph.checkpointer === false))
      throw noCheckpointer();
    await loadLangGraph();
  }
}

async function* readEvents(
  stream: AsyncIterable<unknown>,
  events: LangGraphEvents,
  onPaused?: () => Promise<void>,
): AsyncGenerator<SourceItem> {
  for await (const frame of stream) yield* events.add(frame);
  if (events.isPaused) await onPaused?.();
  yield* events.finish();
}

/** Errors whose cause the user should see. All others may contain secrets. */
function describeFailure(error: unknown): unknown {
  const { lc_error_code: code } = Object(error) as { readonly lc_error_code?: unknown };
  if (code === "GRAPH_RECURSION_LIMIT")
    return new LoomError("iteration_limit", "The graph reached its recursion limit", {}, { cause: error });
  return code === "MISSING_CHECKPOINTER" ? noCheckpointer(error) : error;
}

function noCheckpointer(cause?: unknown): LoomError {
  const message = "The graph was interrupted but has no checkpointer; compile it with one to resume it";
  return new LoomError("run_failed", message, {}, { cause });
}

async function createCommand(fields: { readonly resume: unknown }): Promise<unknown> {
  const { Command } = await loadLangGraph();
  return new Command(fields);
}

function loadLangGraph() {
  return loadPackage("@langchain/langgraph", "to resume graphs", () => import("@langchain/langgraph"));
}

function isGraph(value: unknown): value is LangGraph {
  return typeof (Object(value) as { readonly stream?: unknown }).stream === "function";
}

function isStream(value: unknown): value is AsyncIterable<unknown> {
  return typeof (Object(value) as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator] === "function";
}

/** A stream of LangGraph aborts its graph when it is cancelled. */
async function stopStream(stream: AsyncIterable<unknown>, reason: unknown): Promise<void> {
  const { cancel } = stream as { readonly cancel?: (reason: unknown) => unknown };
  try {
    await cancel?.call(stream, reason);
  } catch {
    // The stream is not read any more.
  }
}
