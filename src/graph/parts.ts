/**
 * The parts that a node's work is divided into. Each part is done once: its result and the events that belong to it are
 * stored together, and later calls return the stored result, also after a restart. It does not know graphs.
 *
 * Invariants:
 * - A part with a stored result is not done again while its node runs.
 * - A part belongs to the attempt of its node that started it. When the attempt ends, its running parts are stopped,
 *   and the next attempt starts them again.
 * - The returned result equals the stored JSON and is not shared with other callers.
 */
import type { NodeRun } from "../engine/index.ts";
import { type AnyEvent, type Json, type JsonObject, LoomError } from "../protocol/index.ts";
import type { UpdatesEvent } from "../protocol/events.generated.ts";
import { isJsonObject, isPlainJson, repairJsonText } from "../protocol/json.ts";
import type { InterruptAnswer, OnceOptions, PartContext } from "./graph.ts";
import { createInterruptEnd } from "./graph-events.ts";
import type { GraphHost } from "./graph-host.ts";

/** Results by part path: those from the log and those of this process. */
export type PartResults = Map<string, Json>;

/** A question to the user, and its answer once there is one. */
export interface InterruptCall {
  readonly callId: string;
  answer: InterruptAnswer | undefined;
}

/** The attempt of a node that parts belong to. */
export interface PartOwner {
  /** Where the results of its parts are. */
  readonly spec: { readonly parts: PartResults };
  readonly host: GraphHost;
  /** Throws the reason if the attempt was aborted. */
  assertNotAborted(): void;
  waitForAnswer(
    call: InterruptCall,
    question: JsonObject,
    options: { readonly expiresInMs?: number },
    nodeId: string,
  ): Promise<InterruptAnswer>;
}

type PartWork<T> = (part: PartContext) => Promise<T> | T;

interface ActivePart {
  promise: Promise<Json>;
  /** The node run that was opened for the part. */
  span: NodeRun | undefined;
}

/** Placeholder until the work has been called. */
const NOT_YET: Promise<Json> = Promise.resolve(null);

/** The parts of one attempt of a node. */
export class TaskParts {
  readonly owner: PartOwner;
  /** Running parts by path. */
  readonly #active = new Map<string, ActivePart>();
  /** True if a part failed after it sent answer text. It cannot be retried. */
  isUnretryable = false;

  constructor(owner: PartOwner) {
    this.owner = owner;
  }

  get isOpen(): boolean {
    return this.#active.size > 0;
  }

  has(path: string): boolean {
    return this.owner.spec.parts.has(path) || this.#active.has(path);
  }

  /**
   * See `PartContext.once`. Returns the promise of the work itself, so that awaiting all parts handles every rejection.
   */
  once<T extends Json>(
    around: NodeRun,
    path: string,
    key: string,
    work: PartWork<T>,
    options: OnceOptions<T> = {},
  ): Promise<T> {
    const fault = findFault(key, options.name);
    if (fault !== undefined) return Promise.reject(new LoomError("graph_invalid", fault));
    const { parts: results } = this.owner.spec;
    const known = results.get(path);
    if (known !== undefined) return Promise.resolve(copy(known) as T);
    const going = this.#active.get(path);
    if (going !== undefined) return going.promise as Promise<T>;
    const begun: ActivePart = { promise: NOT_YET, span: undefined };
    this.#active.set(path, begun);
    const promise = this.#perform(around, path, work, options, begun);
    begun.promise = promise;
    return promise;
  }

  /** Resolves when no part is running. Rejects if a part failed that was not awaited. */
  async join(): Promise<void> {
    while (this.#active.size > 0) await Promise.all(this.#listPromises());
  }

  /** Waits for the aborted parts, up to the grace period. Then abandons the others and ends their node runs. */
  async stop(reason: unknown, graceMs: number): Promise<void> {
    const { promise: grace, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, graceMs);
    await Promise.race([Promise.allSettled(this.#listPromises()), grace]);
    clearTimeout(timer);
    // Inner node runs were started later and end first.
    for (const { span } of [...this.#active.values()].toReversed()) {
      if (span === undefined) continue;
      if (span.hasAnswered) this.isUnretryable = true;
      void span.fail(reason);
    }
  }

  #listPromises(): readonly Promise<Json>[] {
    return Array.from(this.#active.values(), (going) => going.promise);
  }

  async #perform<T extends Json>(
    around: NodeRun,
    path: string,
    work: PartWork<T>,
    { name, recover }: OnceOptions<T>,
    begun: ActivePart,
  ): Promise<T> {
    const { host } = this.owner;
    let span = around;
    try {
      this.owner.assertNotAborted();
      while (host.isBehind) await host.ready();
      this.owner.assertNotAborted();
      if (name !== undefined) begun.span = span = host.enter(name, around.nodeId);
      const part = new PartRun(this, span, path, path);
      let failure: { readonly error: unknown } | undefined;
      let result: T;
      try {
        result = await work(part);
      } catch (error) {
        // An aborted part has not failed.
        this.owner.assertNotAborted();
        const instead = recover?.(error, part);
        if (instead === undefined) throw error;
        failure = { error };
        result = instead;
      }
      while (host.isBehind) await host.ready();
      this.owner.assertNotAborted();
      const stored = copy(result);
      if (host.isSilent !== true) writeResult(host, part, path, stored, name === undefined ? undefined : { failure });
      this.owner.spec.parts.set(path, stored);
      // Returns the caller's own object if JSON does not change it.
      return isPlainJson(result) ? result : (copy(stored) as T);
    } catch (error) {
      if (span !== around) {
        if (span.hasAnswered) this.isUnretryable = true;
        void span.fail(error);
      }
      throw error;
    } finally {
      this.#active.delete(path);
    }
  }
}

/** The context of a part, or of the node itself. */
export class PartRun implements PartContext {
  readonly span: NodeRun;
  readonly #parts: TaskParts;
  readonly #path: string;
  readonly #questions: string;
  readonly #withResult: AnyEvent[] = [];
  readonly #interrupts: InterruptCall[] = [];

  /** `path` is the path of its parts; the call IDs of its questions begin with `questions`. */
  constructor(parts: TaskParts, span: NodeRun, path: string, questions: string) {
    this.#parts = parts;
    this.span = span;
    this.#path = path;
    this.#questions = questions;
  }

  /** The events to write with the result: ends of answered interrupts, and events of `emitWithResult`. */
  listEndings(): readonly AnyEvent[] {
    const ends = this.#interrupts.flatMap(({ callId, answer }) =>
      answer === undefined ? [] : createInterruptEnd(callId, answer),
    );
    return [...ends, ...this.#withResult];
  }

  /** True if `listEndings` has only events of the runtime. */
  get areChecked(): boolean {
    return this.#withResult.length === 0;
  }

  // A getter, because nodes destructure the context.
  get emitWithResult(): PartContext["emitWithResult"] {
    return (event) => void this.#withResult.push(event);
  }

  get once(): PartContext["once"] {
    return (key, work, options) => this.#parts.once(this.span, `${this.#path}|${key}`, key, work, options);
  }

  get has(): PartContext["has"] {
    return (key) => this.#parts.has(`${this.#path}|${key}`);
  }

  get interrupt(): PartContext["interrupt"] {
    return (question, options = {}) => {
      const call: InterruptCall = { callId: `ask-${this.#questions}-${this.#interrupts.length}`, answer: undefined };
      this.#interrupts.push(call);
      return this.#parts.owner.waitForAnswer(call, question, options, this.span.nodeId);
    };
  }
}

function findFault(key: string, name: string | undefined): string | undefined {
  if (key === "" || key.includes("|"))
    return `The key of a part must be a non-empty string without "|", not ${JSON.stringify(key)}`;
  return name === "" ? "The name of a part must not be empty" : undefined;
}

/** Returns the value as JSON; undefined becomes null, and an unpaired surrogate U+FFFD. */
function copy(value: unknown): Json {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value === "boolean") return value;
  return JSON.parse(repairJsonText(JSON.stringify(value ?? null) ?? "null")) as Json;
}

/** Writes the events of the part, its result, and the end of its node run, in one append. */
function writeResult(
  host: GraphHost,
  part: PartRun,
  path: string,
  result: Json,
  own: { readonly failure: { readonly error: unknown } | undefined } | undefined,
): void {
  const { span } = part;
  // Not a delta, and with a path: clients never receive it, because it reports no merge.
  const updates: UpdatesEvent = {
    type: "updates",
    id: span.name,
    state: { result },
    checkpoint_ns: path,
    delta: false,
  };
  const events = [...part.listEndings(), updates];
  if (own === undefined) host.postUnit(events, { nodeId: span.nodeId, isHandled: true });
  else span.commit({ before: events, failure: own.failure });
}

/** Reads the result of a part from an event; undefined if the event is not one. */
export function readPartResult(event: AnyEvent): { readonly path: string; readonly result: Json } | undefined {
  if (event.type !== "updates") return undefined;
  const { checkpoint_ns: path = "", delta, state } = event as UpdatesEvent;
  if (delta !== false || path === "" || !isJsonObject(state)) return undefined;
  const { result } = state;
  return result === undefined ? undefined : { path, result };
}
