/**
 * The node runs of one turn, and who a frame is from. A node run is known by its node_id, the last one that carried it;
 * frames without one are matched by the node's name, the innermost first. What names no node is from the run itself.
 */
import type { Json, NodeEnterEvent, NodeExitEvent } from "../../protocol/index.ts";
import type { GraphNodeView, NodeRunView } from "../view.ts";
import type { GraphFold } from "./graph-fold.ts";
import { changeEntry, GrowingList, type Room } from "./growing-list.ts";
import { Speaker } from "./speaker.ts";
import { UniqueKeys } from "./unique-keys.ts";
import { withFields } from "./with-fields.ts";

interface NodeRun {
  readonly speaker: Speaker;
  /** Place in the list. */
  readonly index: number;
  /** It is no node of the graph, nor inside one. */
  readonly isOuter: boolean;
  isOpen: boolean;
}

export class NodeRuns {
  readonly list: GrowingList<NodeRunView>;
  readonly #room: Room;
  readonly #keys = new UniqueKeys();
  readonly #byId = new Map<string, NodeRun>();
  /** Speakers whose node run was never entered, as far as was received. */
  readonly #strangers = new Map<string, Speaker>();
  /** Entered, the innermost last; those that were left are dropped when they come to the end. */
  readonly #entered: NodeRun[] = [];
  readonly #enteredOuter: NodeRun[] = [];
  /** Those without a node_id by name; under undefined all of them. */
  readonly #enteredBare = new Map<string | undefined, NodeRun[]>();
  /** The last runs of the graph's nodes, by name. */
  readonly #ofGraph = new Map<string | undefined, NodeRun>();
  /** The run itself. */
  readonly #self = new Speaker(undefined);
  /** The last answer, since most frames are from whom the last one was. */
  #lastId: string | undefined;
  #lastName: string | undefined;
  #last: Speaker | undefined;

  constructor(room: Room) {
    this.list = new GrowingList(room);
    this.#room = room;
  }

  /** Who a frame is from. `name` is the node it names, for frames that carry no node_id. */
  speakerOf(nodeId: string | undefined, name: string | undefined): Speaker {
    if (this.#last !== undefined && nodeId === this.#lastId && (nodeId !== undefined || name === this.#lastName)) {
      return this.#last;
    }
    this.#lastId = nodeId;
    this.#lastName = name;
    this.#last = this.#find(nodeId, name)?.speaker ?? this.#findStranger(nodeId);
    return this.#last;
  }

  enter(nodeId: string | undefined, event: NodeEnterEvent, ts: number | undefined, graph?: GraphFold): void {
    const { id: name } = event;
    const index = this.list.length;
    const key = this.#keys.take(nodeId ?? name);
    const planned = graph?.find(name);
    const parent = this.#findAround(event, planned);
    const parentKey = parent?.speaker.nodeKey;
    const view = { key, nodeId, name, parentKey, status: "running", startedAt: ts } as const;
    if (!this.list.push(withFields({} as NodeRunView, view))) return;
    const isOuter = planned === undefined && parent?.isOuter !== false;
    const run: NodeRun = { speaker: new Speaker(key), index, isOuter, isOpen: true };
    this.#entered.push(run);
    if (isOuter) this.#enteredOuter.push(run);
    if (planned !== undefined) this.#ofGraph.set(name, run);
    this.#last = undefined;
    if (nodeId !== undefined) this.#byId.set(nodeId, run);
    else
      for (const each of [name, undefined]) {
        const entered = this.#enteredBare.get(each);
        if (entered === undefined) this.#enteredBare.set(each, [run]);
        else entered.push(run);
      }
  }

  /** The speaker that has fallen silent. */
  exit(nodeId: string | undefined, { id: name, result }: NodeExitEvent, ts: number | undefined): Speaker {
    this.#last = undefined;
    const run = this.#find(nodeId, name);
    if (run === undefined) return this.#findStranger(nodeId);
    if (run.isOpen) {
      run.isOpen = false;
      const error = result === "Ok" ? undefined : result.Err;
      changeEntry(this.list, run.index, { status: error === undefined ? "ok" : "failed", error, endedAt: ts });
    }
    return run.speaker;
  }

  /** False when no such node run is known. */
  update(nodeId: string | undefined, name: string, updates: Json): boolean {
    const run = this.#find(nodeId, name);
    changeEntry(this.list, run?.index, { updates });
    return run !== undefined;
  }

  /** Nodes of the graph run side by side: what they have around them is the node that was expanded, or the graph. */
  #findAround({ parent }: NodeEnterEvent, planned: GraphNodeView | undefined): NodeRun | undefined {
    const named = parent === undefined ? undefined : this.#byId.get(parent);
    if (named !== undefined) return named;
    if (planned === undefined) return takeInnermost(this.#entered);
    const expanded = this.#ofGraph.get(planned.expandedFrom);
    return expanded?.isOpen === true ? expanded : takeInnermost(this.#enteredOuter);
  }

  #find(nodeId: string | undefined, name: string | undefined): NodeRun | undefined {
    return nodeId === undefined ? takeInnermost(this.#enteredBare.get(name)) : this.#byId.get(nodeId);
  }

  #findStranger(nodeId: string | undefined): Speaker {
    let speaker = nodeId === undefined ? this.#self : this.#strangers.get(nodeId);
    if (speaker === undefined) {
      if (this.#strangers.size >= this.#room.maxItems) return this.#self;
      speaker = new Speaker(undefined);
      this.#strangers.set(nodeId as string, speaker);
    }
    return speaker;
  }
}

/** The innermost that is open. */
function takeInnermost(entered: NodeRun[] = []): NodeRun | undefined {
  while (entered.at(-1)?.isOpen === false) entered.pop();
  return entered.at(-1);
}
