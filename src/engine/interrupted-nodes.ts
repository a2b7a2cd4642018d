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

export class InterruptedNodes {
  /** Open node runs by ID. A place is the enclosing place and the name. */
  readonly #open = new BoundedMap<{ readonly place: string; hasAnswered: boolean }>(MAX_TRACKED);
  /** The last node run of each place that failed after it had sent answer text. It is repeated only by a next attempt. */
  readonly #failed = new BoundedMap<string>(MAX_TRACKED);
  /** For each node run that repeats another: the first of them. Places are named after it. */
  readonly #origins = new BoundedMap<string>(MAX_TRACKED);
  /** Interrupted node runs by place, oldest first. */
  readonly #waiting = new BoundedMap<Set<string>>(MAX_TRACKED);

  /** Returns the node run that a new one repeats; undefined if it repeats none. */
  find(name: string, parent: string | undefined): string | undefined {
    return this.#waiting.get(this.#place(name, parent))?.values().next().value;
  }

  enter(nodeId: string, { id, parent, supersedes }: NodeEnterEvent): void {
    const place = this.#place(id, parent);
    this.#open.set(nodeId, { place, hasAnswered: false });
    if (supersedes === undefined) return;
    this.#origins.set(nodeId, this.#origins.get(supersedes) ?? supersedes);
    this.#waiting.get(place)?.delete(supersedes);
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
    if (isInterrupted(result)) this.#wait(node.place, nodeId);
    else if (node.hasAnswered) this.#failed.set(node.place, nodeId);
  }

  /** Another attempt begins. */
  restart(): void {
    for (const place of this.#failed.keys()) this.#wait(place, this.#failed.get(place) ?? "");
    this.#failed.clear();
  }

  #wait(place: string, nodeId: string): void {
    this.#waiting.getOrCreate(place, () => new Set()).add(nodeId);
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
