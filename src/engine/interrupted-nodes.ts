/**
 * Tracks the node runs that a dead process left unfinished, until they are run again. A node run that is entered with the
 * same name in the same place repeats the oldest of them. It is a fold over the run's records.
 */
import { BoundedMap } from "../protocol/bounded-map.ts";
import type { NodeEnterEvent, NodeExitEvent } from "../protocol/events.generated.ts";

/** As many as a run may have open. */
const MAX_TRACKED = 10_000;

/** True if the node run ended because its process died. Then its text does not count. */
export function isInterrupted(result: NodeExitEvent["result"]): boolean {
  return result !== "Ok" && result.Err === "interrupted";
}

interface TrackedNode {
  readonly nodeId: string;
  /** The enclosing place and the name. */
  readonly place: string;
  /** Position in the order of entry. */
  readonly order: number;
  hasAnswered: boolean;
}

/** Node runs of one place. Recovery closes inner node runs first, so that they arrive in no useful order. */
interface WaitingNodes {
  runs: Map<string, TrackedNode>;
  isSorted: boolean;
}

export class InterruptedNodes {
  /** Open node runs by ID. */
  readonly #open = new BoundedMap<TrackedNode>(MAX_TRACKED);
  /** The last node run of each place that failed after it had sent answer text. It is repeated only by a next attempt. */
  readonly #failed = new BoundedMap<TrackedNode>(MAX_TRACKED);
  /** For each node run that repeats another: the first of them. Places are named after it. */
  readonly #origins = new BoundedMap<string>(MAX_TRACKED);
  /** Interrupted node runs by place. */
  readonly #waiting = new BoundedMap<WaitingNodes>(MAX_TRACKED);
  #entered = 0;

  /** Returns the node run that a new one repeats; undefined if it repeats none. */
  find(name: string, parent: string | undefined): string | undefined {
    const waiting = this.#waiting.get(this.#place(name, parent));
    if (waiting === undefined) return undefined;
    if (!waiting.isSorted) waiting.runs = new Map([...waiting.runs].sort(([, a], [, b]) => a.order - b.order));
    waiting.isSorted = true;
    return waiting.runs.keys().next().value;
  }

  enter(nodeId: string, { id, parent, supersedes }: NodeEnterEvent): void {
    const place = this.#place(id, parent);
    this.#open.set(nodeId, { nodeId, place, order: this.#entered++, hasAnswered: false });
    if (supersedes === undefined) return;
    this.#origins.set(nodeId, this.#origins.get(supersedes) ?? supersedes);
    this.#waiting.get(place)?.runs.delete(supersedes);
  }

  /** The node run has sent answer text. */
  answer(nodeId: string): void {
    const node = this.#open.get(nodeId);
    if (node !== undefined) node.hasAnswered = true;
  }

  exit(nodeId: string, result: NodeExitEvent["result"]): void {
    const node = this.#open.get(nodeId);
    this.#open.delete(nodeId);
    if (node === undefined || result === "Ok") return;
    if (isInterrupted(result)) this.#wait(node);
    else if (node.hasAnswered) this.#failed.set(node.place, node);
  }

  /** Another attempt begins. */
  restart(): void {
    for (const node of this.#failed.values()) this.#wait(node);
    this.#failed.clear();
  }

  #wait(node: TrackedNode): void {
    const waiting = this.#waiting.getOrCreate(node.place, () => ({ runs: new Map(), isSorted: true }));
    waiting.runs.set(node.nodeId, node);
    waiting.isSorted = false;
  }

  /** Forgets everything: after a checkpoint of the root graph, no earlier node run is repeated. */
  clear(): void {
    this.#origins.clear();
    this.#failed.clear();
    this.#waiting.clear();
  }

  #place(name: string, parent: string | undefined): string {
    return parent === undefined ? `\n${name}` : `${this.#origins.get(parent) ?? parent}\n${name}`;
  }
}
