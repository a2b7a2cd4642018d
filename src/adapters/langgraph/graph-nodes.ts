/**
 * The node runs of a LangGraph run. A key is the path of a task: a segment `node:task` per level, so that the key of a
 * subgraph's node begins with the key of the node around it.
 *
 * Tasks tell when nodes begin and end. Without them, a node begins with its first message and ends with its update or
 * with a message of a later step.
 */
import type { NodeExitEvent } from "../../protocol/events.generated.ts";
import type { SourceEvent } from "../source.ts";

const SEPARATOR = "|";

export class GraphNodes {
  readonly #emit: (event: SourceEvent, node: string | undefined) => void;
  readonly #onExit: (node: string) => void;
  /** Steps of the open node runs, by key. */
  readonly #open = new Map<string, number>();
  readonly #finished = new Set<string>();
  /** A node that failed ends like one that wrote nothing; only the next frame shows that it did not fail. */
  readonly #held: string[] = [];
  #hasTasks = false;

  constructor(emit: (event: SourceEvent, node: string | undefined) => void, onExit: (node: string) => void) {
    this.#emit = emit;
    this.#onExit = onExit;
  }

  /** Opens the node run and those around it, unless they are open. */
  enter(key: string, step = 0): void {
    if (this.#open.has(key)) return;
    if (!this.#hasTasks) this.#exitBefore(parentOf(key), step);
    const parent = parentOf(key);
    if (parent !== "") this.enter(parent);
    this.#open.set(key, step);
    this.#emit({ type: "node_enter", id: nameOf(key), ...(parent === "" ? {} : { parent }) }, key);
  }

  /**
   * A task began. When the graph resumes, tasks that have finished are listed again, and one that was interrupted runs
   * from its start: what it said before no longer counts.
   */
  enterTask(key: string, hasSpoken: boolean): void {
    this.#hasTasks = true;
    if (this.#finished.has(key)) return;
    if (hasSpoken && this.#open.has(key)) this.#exit(key, { Err: "interrupted" });
    this.enter(key);
  }

  /** A task ended. */
  exitTask(key: string, hasWritten: boolean): void {
    this.#finished.add(key);
    if (hasWritten) this.#exit(key);
    else this.#held.push(key);
  }

  /** The graph has gone on, so the tasks that ended did not fail. */
  release(): void {
    for (const key of this.#held.splice(0)) this.#exit(key);
  }

  /** Ends the oldest node run with this name in a graph. */
  exitUpdated(ns: string, name: string): void {
    if (this.#hasTasks) return;
    const key = this.#in(ns).find((open) => nameOf(open) === name);
    if (key !== undefined) this.#exit(key);
  }

  /** The node run that an event of a graph belongs to, if there is only one candidate. */
  findIn(ns: string): string | undefined {
    const inside = this.#in(ns);
    if (inside.length === 1) return inside[0];
    return this.#open.has(ns) ? ns : undefined;
  }

  /** The oldest node run with this name in a graph, opened if there is none. */
  require(ns: string, name: string): string {
    const known = this.#in(ns).find((open) => nameOf(open) === name);
    const key = known ?? `${ns === "" ? "" : ns + SEPARATOR}${name}:${crypto.randomUUID()}`;
    this.enter(key, Number.MAX_SAFE_INTEGER);
    return key;
  }

  #in(ns: string): readonly string[] {
    return [...this.#open.keys()].filter((key) => parentOf(key) === ns);
  }

  #exitBefore(ns: string, step: number): void {
    for (const key of this.#in(ns)) if ((this.#open.get(key) ?? 0) < step) this.#exit(key);
  }

  #exit(key: string, result: NodeExitEvent["result"] = "Ok"): void {
    if (!this.#open.has(key)) return;
    for (const inner of this.#in(key)) this.#exit(inner);
    this.#onExit(key);
    this.#open.delete(key);
    this.#emit({ type: "node_exit", id: nameOf(key), result }, key);
  }
}

export function joinPath(segments: readonly string[]): string {
  return segments.join(SEPARATOR);
}

function parentOf(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf(SEPARATOR)));
}

/** Task IDs have no colon; names of nodes may. */
function nameOf(key: string): string {
  const segment = key.slice(key.lastIndexOf(SEPARATOR) + 1);
  const end = segment.lastIndexOf(":");
  return end > 0 ? segment.slice(0, end) : segment;
}
