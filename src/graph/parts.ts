/**
 * The parts a node's work is made of. Each is done once: its result is in the log together with all that was concluded
 * with it, and whoever asks again, in this process or the next, is given it. It knows no graph.
 *
 * Invariant: a part whose result was written is not done again while its node runs.
 */
import type { NodeRun } from "../engine/index.ts";
import { type AnyEvent, isJsonObject, type Json, LoomError, type UpdatesEvent } from "../protocol/index.ts";
import type { OnceOptions, Part } from "./graph.ts";
import type { GraphHost } from "./graph-host.ts";

/** Results by the path of their part: those that the log held, and those that came since. */
export class PartResults {
  readonly #results: Map<string, Promise<Json>>;

  constructor(stored: ReadonlyMap<string, Json> = new Map()) {
    this.#results = new Map([...stored].map(([path, result]) => [path, Promise.resolve(result)]));
  }

  /** The result; made by `work` where there is none. What fails is forgotten. */
  getOrMake(path: string, work: () => Promise<Json>): Promise<Json> {
    const known = this.#results.get(path);
    if (known !== undefined) return known;
    const made = work();
    this.#results.set(path, made);
    made.catch(() => this.#results.delete(path));
    return made;
  }

  /** The super-step is over: nobody will ask again. */
  clear(): void {
    this.#results.clear();
  }
}

/** What a part needs of the task it is part of. */
export interface PartOwner {
  readonly results: PartResults;
  readonly host: GraphHost;
  /** Throws when the task was told to stop. */
  assertGoing(): void;
  /** A part that had sent answer text has failed: it cannot be done again. */
  onSpoiled(): void;
}

class PartRun implements Part {
  readonly span: NodeRun;
  readonly #owner: PartOwner;
  readonly #path: string;
  readonly #concluded: AnyEvent[] = [];

  constructor(owner: PartOwner, span: NodeRun, path: string) {
    this.#owner = owner;
    this.span = span;
    this.#path = path;
  }

  get concluded(): readonly AnyEvent[] {
    return this.#concluded;
  }

  // Taken out of the context by nodes, like all of it.
  get conclude(): Part["conclude"] {
    return (event) => void this.#concluded.push(event);
  }

  get once(): Part["once"] {
    return (key, work, options) => doOnce(this.#owner, this.span, `${this.#path}|${key}`, key, work, options);
  }
}

/** Gives a part's result; see `Part.once`. */
export async function doOnce<T extends Json>(
  owner: PartOwner,
  around: NodeRun,
  path: string,
  key: string,
  work: (part: Part) => Promise<T> | T,
  options: OnceOptions<T> = {},
): Promise<T> {
  if (key === "" || key.includes("|"))
    throw new LoomError("graph_invalid", `the key of a part is a text without "|", not ${JSON.stringify(key)}`);
  owner.assertGoing();
  return (await owner.results.getOrMake(path, () => perform(owner, around, path, work, options))) as T;
}

async function perform<T extends Json>(
  owner: PartOwner,
  around: NodeRun,
  path: string,
  work: (part: Part) => Promise<T> | T,
  { name, recover }: OnceOptions<T>,
): Promise<T> {
  const { host } = owner;
  while (host.isBehind) await host.ready();
  owner.assertGoing();
  const span = name === undefined ? around : host.enter(name, around.nodeId);
  const part = new PartRun(owner, span, path);
  let failure: { readonly error: unknown } | undefined;
  try {
    let result: T;
    try {
      result = await work(part);
    } catch (error) {
      // What is told to stop has not failed.
      owner.assertGoing();
      const instead = recover?.(error, part);
      if (instead === undefined) throw error;
      failure = { error };
      result = instead;
    }
    while (host.isBehind) await host.ready();
    owner.assertGoing();
    if (host.isSilent !== true) write(host, part, path, result, name === undefined ? undefined : { failure });
    return result;
  } catch (error) {
    if (span.answered) owner.onSpoiled();
    if (name !== undefined) void span.fail(error);
    throw error;
  }
}

/** What was concluded, the result, and the end of the node run that was opened for it: one append. */
function write(
  host: GraphHost,
  { span, concluded }: PartRun,
  path: string,
  result: Json,
  own: { readonly failure: { readonly error: unknown } | undefined } | undefined,
): void {
  const updates: UpdatesEvent = { type: "updates", id: span.name, state: { result }, checkpoint_ns: path };
  const events = [...concluded, updates];
  if (own === undefined) host.postUnit(events, { nodeId: span.nodeId });
  else span.commit({ before: events, failure: own.failure });
}

/** The result that an event holds, with the path of its part; undefined where it is none. */
export function readPart(event: AnyEvent): { readonly path: string; readonly result: Json } | undefined {
  if (event.type !== "updates") return undefined;
  const { checkpoint_ns: path = "", delta, state } = event as UpdatesEvent;
  if (delta !== undefined || path === "" || !isJsonObject(state)) return undefined;
  const { result } = state;
  return result === undefined ? undefined : { path, result };
}
