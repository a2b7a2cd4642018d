/**
 * The tree of thoughts of one turn. Ids, parents and depths are optional on the wire: what is missing is made up from
 * the order of events, except parents, which nobody can guess.
 */
import type { EventOf, TotBacktrackEvent, TotEvaluateEvent, TotExpandEvent } from "../../protocol/index.ts";
import type { BacktrackView, ThoughtView, TreeView } from "../view.ts";
import { changeEntry, GrowingList, type Room } from "./growing-list.ts";
import { makeView, withFields } from "./with-fields.ts";

export type TreeEvent = EventOf<"tot_expand" | "tot_evaluate" | "tot_backtrack">;

export class TreeFold {
  readonly #thoughts: GrowingList<ThoughtView>;
  readonly #backtracks: GrowingList<BacktrackView>;
  readonly #madeAtDepth = new Map<number, number>();
  #lastBatch: readonly string[] = [];
  /** Where the search is: the root is 0. */
  #depth = 0;
  #chosen: string | undefined;
  #view = {} as TreeView;

  constructor(room: Room) {
    this.#thoughts = new GrowingList(room);
    this.#backtracks = new GrowingList(room);
  }

  apply(event: TreeEvent): void {
    if (event.type === "tot_expand") this.#expand(event);
    else if (event.type === "tot_evaluate") this.#evaluate(event);
    else this.#backtrack(event);
  }

  show(): TreeView {
    const now = { thoughts: this.#thoughts.show(), chosen: this.#chosen, backtracks: this.#backtracks.show() };
    if (withFields(this.#view, now) !== this.#view || now.chosen !== this.#view.chosen)
      this.#view = makeView<TreeView>(now);
    return this.#view;
  }

  #expand({ candidates, ids, parent, depth: given }: TotExpandEvent): void {
    const depth = given ?? (this.#thoughts.get(parent)?.depth ?? this.#depth) + 1;
    this.#depth = depth;
    const batch: string[] = [];
    for (const [i, text] of candidates.entries()) {
      const id = ids?.[i] ?? this.#makeId(depth);
      const thought = makeView<ThoughtView>({ id, text, parent, depth, score: undefined, status: "open" });
      const place = this.#thoughts.find(id);
      if (place !== undefined) this.#thoughts.set(place, thought);
      else if (!this.#thoughts.push(thought, id)) break;
      batch.push(id);
    }
    this.#lastBatch = batch;
  }

  #evaluate({ chosen, scores, ids = this.#findBatch(scores.length), kept }: TotEvaluateEvent): void {
    const best = ids[chosen];
    const stay = new Set(kept ?? [best]);
    for (const [i, id] of ids.entries())
      changeEntry(this.#thoughts, this.#thoughts.find(id), {
        status: stay.has(id) ? "kept" : "pruned",
        score: scores[i],
      });
    this.#chosen = best;
  }

  /** The thoughts that were judged: the last ones without those the search came back from, or all; none if neither fits. */
  #findBatch(count: number): readonly string[] {
    const all = this.#lastBatch;
    const open = all.filter((id) => this.#thoughts.get(id)?.status !== "abandoned");
    return [open, all].find(({ length }) => length === count) ?? [];
  }

  #backtrack({ reason, to_depth, from, to }: TotBacktrackEvent): void {
    this.#depth = to_depth;
    const left = from ?? this.#chosen;
    if (left !== undefined) changeEntry(this.#thoughts, this.#thoughts.find(left), { status: "abandoned" });
    this.#backtracks.push(makeView<BacktrackView>({ reason, toDepth: to_depth, from, to }));
  }

  #makeId(depth: number): string {
    let n = this.#madeAtDepth.get(depth) ?? 0;
    while (this.#thoughts.find(`d${depth}.${n}`) !== undefined) n++;
    this.#madeAtDepth.set(depth, n + 1);
    return `d${depth}.${n}`;
  }
}
