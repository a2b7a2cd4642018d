/**
 * Finds the records of agents that work as tools. They are stored in the run of the agent that calls the tool, but only
 * the result of the call belongs to its conversation. It is a fold over the records of one run.
 */
import type { EventRecord } from "../protocol/index.ts";
import type { NodeEnterEvent } from "../protocol/events.generated.ts";

export class NestedNodes {
  /** IDs of the open node runs that carry out a tool call, and of those inside them. */
  readonly #open = new Set<string>();

  /** Returns true if the record belongs to an agent that works as a tool. */
  add({ envelope: { node_id: nodeId }, event }: EventRecord): boolean {
    if (nodeId === undefined) return false;
    if (event.type === "node_enter") {
      const { call_id: callId, parent = "" } = event as NodeEnterEvent;
      if (callId !== undefined || this.#open.has(parent)) this.#open.add(nodeId);
    }
    return event.type === "node_exit" ? this.#open.delete(nodeId) : this.#open.has(nodeId);
  }
}
