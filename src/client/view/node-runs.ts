/**
 * Tracks the node runs of one turn and finds the author of each frame. A frame with a node_id belongs to the latest
 * node run with that ID; without one, to the innermost open node run with that name. A frame that names no node belongs
 * to the run itself.
 */
import type { Json } from "../../protocol/index.ts";
import type { NodeEnterEvent, NodeExitEvent } from "../../protocol/events.generated.ts";
import type { GraphNodeView, NodeRunView } from "../view.ts";
import type { GraphFold } from "./graph-fold.ts";
import { changeEntry, GrowingList, type ViewQuota } from "./growing-list.ts";
import { PartAuthor } from "./part-author.ts";
import { UniqueKeys } from "./unique-keys.ts";
import { withFields } from "./with-fields.ts";

interface TrackedNodeRun {
  readonly author: PartAuthor;
  /** Index in the list. */
  readonly index: number;
  /** True if it is neither a node of the thought graph nor inside one. */
  readonly isOuter: boolean;
  isOpen: boolean;
}

export class NodeRuns {
  readonly list: GrowingList<NodeRunView>;
  readonly #quota: ViewQuota;
  readonly #keys = new UniqueKeys();
  readonly #byId = new Map<string, TrackedNodeRun>();
  /** Authors whose node_enter was not received, by node_id. */
  readonly #unknownAuthors = new Map<string, PartAuthor>();
  /** Stack of entered node runs; closed ones are removed when they reach the top. */
  readonly #entered: TrackedNodeRun[] = [];
  readonly #enteredOuter: TrackedNodeRun[] = [];
  /** Entered node runs without a node_id, by name; under undefined, all of them. */
  readonly #enteredBare = new Map<string | undefined, TrackedNodeRun[]>();
  /** The latest run of each thought-graph node, by name. */
  readonly #ofGraph = new Map<string | undefined, TrackedNodeRun>();
  /** The author of frames that belong to the run itself. */
  readonly runAuthor = new PartAuthor(undefined);
  /** Node runs that a crash ended and that are not superseded yet. */
  #interrupted: TrackedNodeRun[] = [];
  /** Cache of the last lookup, because consecutive frames usually have the same author. */
  #lastId: string | undefined;
  #lastName: string | undefined;
  #last: PartAuthor | undefined;

  constructor(quota: ViewQuota) {
    this.list = new GrowingList(quota);
    this.#quota = quota;
  }

  /** Returns the author of a frame. `name` is the node it names, for frames without a node_id. */
  authorOf(nodeId: string | undefined, name: string | undefined): PartAuthor {
    if (this.#last !== undefined && nodeId === this.#lastId && (nodeId !== undefined || name === this.#lastName)) {
      return this.#last;
    }
    this.#lastId = nodeId;
    this.#lastName = name;
    this.#last = this.#find(nodeId, name)?.author ?? this.#findUnknownAuthor(nodeId);
    return this.#last;
  }

  enter(nodeId: string | undefined, event: NodeEnterEvent, ts: number | undefined, graph?: GraphFold): void {
    const { id: name } = event;
    const index = this.list.length;
    const key = this.#keys.take(nodeId ?? name);
    const planned = graph?.find(name);
    const parent = this.#findParent(event, planned);
    const parentKey = parent?.author.nodeKey;
    const { attempt } = event;
    const view = { key, nodeId, name, parentKey, status: "running", startedAt: ts, attempt } as const;
    if (!this.list.push(withFields({} as NodeRunView, view))) return;
    const isOuter = planned === undefined && parent?.isOuter !== false;
    const run: TrackedNodeRun = { author: new PartAuthor(key), index, isOuter, isOpen: true };
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

  /** Closes a node run and returns its author. */
  exit(nodeId: string | undefined, { id: name, result }: NodeExitEvent, ts: number | undefined): PartAuthor {
    this.#last = undefined;
    const run = this.#find(nodeId, name);
    if (run === undefined) return this.#findUnknownAuthor(nodeId);
    if (run.isOpen) {
      run.isOpen = false;
      const error = result === "Ok" ? undefined : result.Err;
      changeEntry(this.list, run.index, { status: error === undefined ? "ok" : "failed", error, endedAt: ts });
      if (error === "interrupted") this.#interrupted.push(run);
    }
    return run.author;
  }

  /**
   * Marks the node run with this ID as repeated by an attempt, or without an ID all interrupted ones, also those that the
   * attempt does not enter again. Returns their authors.
   */
  supersede(attempt: number, nodeId?: string): readonly PartAuthor[] {
    const named = nodeId === undefined ? undefined : this.#byId.get(nodeId);
    const runs = nodeId === undefined ? this.#interrupted : named === undefined ? [] : [named];
    if (nodeId === undefined) this.#interrupted = [];
    for (const { index } of runs) changeEntry(this.list, index, { status: "interrupted", supersededBy: attempt });
    const unknown = nodeId === undefined ? undefined : this.#unknownAuthors.get(nodeId);
    return [...runs.map(({ author }) => author), ...(unknown === undefined ? [] : [unknown])];
  }

  /** Sets the updates of a node run. Returns false if it is unknown. */
  update(nodeId: string | undefined, name: string, updates: Json): boolean {
    const run = this.#find(nodeId, name);
    changeEntry(this.list, run?.index, { updates });
    return run !== undefined;
  }

  /**
   * Returns the enclosing node run. Nodes of a thought graph run side by side; their parent is the expanded node or the
   * graph.
   */
  #findParent({ parent }: NodeEnterEvent, planned: GraphNodeView | undefined): TrackedNodeRun | undefined {
    const named = parent === undefined ? undefined : this.#byId.get(parent);
    if (named !== undefined) return named;
    if (planned === undefined) return takeInnermost(this.#entered);
    const expanded = this.#ofGraph.get(planned.expandedFrom);
    return expanded?.isOpen === true ? expanded : takeInnermost(this.#enteredOuter);
  }

  #find(nodeId: string | undefined, name: string | undefined): TrackedNodeRun | undefined {
    return nodeId === undefined ? takeInnermost(this.#enteredBare.get(name)) : this.#byId.get(nodeId);
  }

  #findUnknownAuthor(nodeId: string | undefined): PartAuthor {
    let author = nodeId === undefined ? this.runAuthor : this.#unknownAuthors.get(nodeId);
    if (author === undefined) {
      if (this.#unknownAuthors.size >= this.#quota.maxItems) return this.runAuthor;
      author = new PartAuthor(undefined);
      this.#unknownAuthors.set(nodeId as string, author);
    }
    return author;
  }
}

/** Returns the innermost open node run. */
function takeInnermost(entered: TrackedNodeRun[] = []): TrackedNodeRun | undefined {
  while (entered.at(-1)?.isOpen === false) entered.pop();
  return entered.at(-1);
}
