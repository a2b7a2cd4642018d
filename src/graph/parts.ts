/**
 * The parts a node's work is made of. Each is done once: its result is in the log together with all that was concluded
 * with it, and whoever asks again, in this process or the next, is given it. It knows no graph.
 *
 * Invariants:
 * - A part whose result was written is not done again while its node runs.
 * - A part belongs to the try of its node that began it, and ends with it: what is still going then is stopped, and the
 *   next try begins it anew.
 * - What is given is what is stored: JSON, and nobody else's object.
 */
import type { NodeRun } from "../engine/index.ts";
import { isPlainJson } from "../engine/plain-json.ts";
import {
  type AnyEvent,
  isJsonObject,
  type Json,
  type JsonObject,
  LoomError,
  type UpdatesEvent,
} from "../protocol/index.ts";
import type { InterruptAnswer, OnceOptions, Part } from "./graph.ts";
import { createAskEnd } from "./graph-events.ts";
import type { GraphHost } from "./graph-host.ts";

/** Results by the path of their part: those that the log held, and those that came since. */
export type PartResults = Map<string, Json>;

/** A question, and its answer once there is one. */
export interface Ask {
  readonly callId: string;
  answer: InterruptAnswer | undefined;
}

/** What parts need of the try of a node they belong to. */
export interface PartOwner {
  readonly results: PartResults;
  readonly host: GraphHost;
  /** Throws when it was told to stop. */
  assertGoing(): void;
  ask(
    ask: Ask,
    question: JsonObject,
    options: { readonly expiresInMs?: number },
    nodeId: string,
  ): Promise<InterruptAnswer>;
}

type Work<T> = (part: Part) => Promise<T> | T;

interface Going {
  promise: Promise<Json>;
  /** The node run that was opened for it. */
  span: NodeRun | undefined;
}

/** Of a part that was not called yet, for as long as that takes. */
const NOT_YET: Promise<Json> = Promise.resolve(null);

/** The parts that one try of a node has begun. */
export class TaskParts {
  readonly #owner: PartOwner;
  /** Those that are going, by their path. */
  readonly #going = new Map<string, Going>();
  /** One has sent answer text and failed: it cannot be done again. */
  isSpoiled = false;

  constructor(owner: PartOwner) {
    this.#owner = owner;
  }

  get isOpen(): boolean {
    return this.#going.size > 0;
  }

  has(path: string): boolean {
    return this.#owner.results.has(path) || this.#going.has(path);
  }

  /** See `Part.once`. The promise is that of the work itself: whoever waits for all of them has looked at it. */
  once<T extends Json>(
    around: NodeRun,
    path: string,
    key: string,
    work: Work<T>,
    options: OnceOptions<T> = {},
  ): Promise<T> {
    const fault = findFault(key, options.name);
    if (fault !== undefined) return Promise.reject(new LoomError("graph_invalid", fault));
    const { results } = this.#owner;
    const known = results.get(path);
    if (known !== undefined) return Promise.resolve(copy(known) as T);
    const going = this.#going.get(path);
    if (going !== undefined) return going.promise as Promise<T>;
    const begun: Going = { promise: NOT_YET, span: undefined };
    this.#going.set(path, begun);
    const promise = this.#perform(around, path, work, options, begun);
    begun.promise = promise;
    return promise;
  }

  /** Resolves when none is going any more; rejects when one has failed that nobody waited for. */
  async join(): Promise<void> {
    while (this.#going.size > 0) await Promise.all(this.#listPromises());
  }

  /** They were told to stop: waits for them, but not for ever. Those that stay are left behind, and their spans closed. */
  async leave(reason: unknown, graceMs: number): Promise<void> {
    const { promise: grace, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, graceMs);
    await Promise.race([Promise.allSettled(this.#listPromises()), grace]);
    clearTimeout(timer);
    // Those inside were begun after those around them.
    for (const { span } of [...this.#going.values()].toReversed()) {
      if (span === undefined) continue;
      if (span.answered) this.isSpoiled = true;
      void span.fail(reason);
    }
  }

  #listPromises(): readonly Promise<Json>[] {
    return Array.from(this.#going.values(), (going) => going.promise);
  }

  async #perform<T extends Json>(
    around: NodeRun,
    path: string,
    work: Work<T>,
    { name, recover }: OnceOptions<T>,
    begun: Going,
  ): Promise<T> {
    const { host } = this.#owner;
    let span = around;
    try {
      this.#owner.assertGoing();
      while (host.isBehind) await host.ready();
      this.#owner.assertGoing();
      if (name !== undefined) begun.span = span = host.enter(name, around.nodeId);
      const part = new PartRun(this, this.#owner, span, path);
      let failure: { readonly error: unknown } | undefined;
      let result: T;
      try {
        result = await work(part);
      } catch (error) {
        // What is told to stop has not failed.
        this.#owner.assertGoing();
        const instead = recover?.(error, part);
        if (instead === undefined) throw error;
        failure = { error };
        result = instead;
      }
      while (host.isBehind) await host.ready();
      this.#owner.assertGoing();
      const stored = copy(result);
      if (host.isSilent !== true) write(host, part, path, stored, name === undefined ? undefined : { failure });
      this.#owner.results.set(path, stored);
      // The caller's own object, where JSON changed nothing of it.
      return isPlainJson(result) ? result : (copy(stored) as T);
    } catch (error) {
      if (span !== around) {
        if (span.answered) this.isSpoiled = true;
        void span.fail(error);
      }
      throw error;
    } finally {
      this.#going.delete(path);
    }
  }
}

class PartRun implements Part {
  readonly span: NodeRun;
  readonly #parts: TaskParts;
  readonly #owner: PartOwner;
  readonly #path: string;
  readonly #concluded: AnyEvent[] = [];
  readonly #asks: Ask[] = [];

  constructor(parts: TaskParts, owner: PartOwner, span: NodeRun, path: string) {
    this.#parts = parts;
    this.#owner = owner;
    this.span = span;
    this.#path = path;
  }

  /** What is written with the result. */
  listEndings(): readonly AnyEvent[] {
    return [...listAskEnds(this.#asks), ...this.#concluded];
  }

  // Taken out of the context by nodes, like all of it.
  get conclude(): Part["conclude"] {
    return (event) => void this.#concluded.push(event);
  }

  get once(): Part["once"] {
    return (key, work, options) => this.#parts.once(this.span, `${this.#path}|${key}`, key, work, options);
  }

  get has(): Part["has"] {
    return (key) => this.#parts.has(`${this.#path}|${key}`);
  }

  get interrupt(): Part["interrupt"] {
    return (question, options = {}) => {
      const ask: Ask = { callId: `ask-${this.#path}-${this.#asks.length}`, answer: undefined };
      this.#asks.push(ask);
      return this.#owner.ask(ask, question, options, this.span.nodeId);
    };
  }
}

/** What ends the questions that were answered. */
export function listAskEnds(asks: readonly Ask[]): readonly AnyEvent[] {
  return asks.flatMap(({ callId, answer }) => (answer === undefined ? [] : createAskEnd(callId, answer)));
}

function findFault(key: string, name: string | undefined): string | undefined {
  if (key === "" || key.includes("|")) return `the key of a part is a text without "|", not ${JSON.stringify(key)}`;
  return name === "" ? "the name of a part's node run must not be empty" : undefined;
}

/** What JSON makes of it; of nothing it makes null. */
function copy(value: unknown): Json {
  if (typeof value === "string" || typeof value === "boolean") return value;
  return JSON.parse(JSON.stringify(value ?? null) ?? "null") as Json;
}

/** What was concluded, the result, and the end of the node run that was opened for it: one append. */
function write(
  host: GraphHost,
  part: PartRun,
  path: string,
  result: Json,
  own: { readonly failure: { readonly error: unknown } | undefined } | undefined,
): void {
  const { span } = part;
  // Whole, and of a graph's states: those who did not ask for them are not sent it.
  const updates: UpdatesEvent = {
    type: "updates",
    id: span.name,
    state: { result },
    checkpoint_ns: path,
    delta: false,
  };
  const events = [...part.listEndings(), updates];
  if (own === undefined) host.postUnit(events, { nodeId: span.nodeId, isTold: true });
  else span.commit({ before: events, failure: own.failure });
}

/** The result that an event holds, with the path of its part; undefined where it is none. */
export function readPart(event: AnyEvent): { readonly path: string; readonly result: Json } | undefined {
  if (event.type !== "updates") return undefined;
  const { checkpoint_ns: path = "", delta, state } = event as UpdatesEvent;
  if (delta !== false || path === "" || !isJsonObject(state)) return undefined;
  const { result } = state;
  return result === undefined ? undefined : { path, result };
}
