/**
 * Folds the tree-of-thoughts events of one turn. IDs, parents and depths are optional on the wire. Missing IDs and
 * depths are derived from the order of events; missing parents stay unknown.
 */
import type { EventOf } from "../../protocol/index.ts";
import type { TotBacktrackEvent, TotEvaluateEvent, TotExpandEvent } from "../../protocol/events.generated.ts";
import type { BacktrackView, ThoughtView, TreeView } from "../view.ts";
import { changeEntry, GrowingList, type ViewQuota } from "./growing-list.ts";
import { makeView, withFields } from "./with-fields.ts";

export type TreeFoldEvent = EventOf<"tot_expand" | "tot_evaluate" | "tot_backtrack">;

/** Maximum number of levels visited per backtrack, so that its cost does not grow with the tree. */
const MAX_CLIMB = 1000;

export class TreeFold {
  readonly #thoughts: GrowingList<ThoughtView>;
  readonly #backtracks: GrowingList<BacktrackView>;
  readonly #quota: ViewQuota;
  readonly #atDepth = new Map<number, string[]>();
  #lastBatch: readonly string[] = [];
  /** Thoughts added since the last evaluation. */
  #unevaluated: string[] = [];
  /** Thoughts of the level the search last went back to. */
  #backtrackLevel: readonly string[] = [];
  /** Current depth of the search; the root has depth 0. */
  #depth = 0;
  #chosen: string | undefined;
  #path: readonly string[] = [];
  /** The path to the chosen thought may have changed. */
  #isPathStale = false;
  #view = {} as TreeView;

  constructor(quota: ViewQuota) {
    this.#quota = quota;
    this.#thoughts = new GrowingList(quota);
    this.#backtracks = new GrowingList(quota);
  }

  apply(event: TreeFoldEvent): void {
    if (event.type === "tot_expand") this.#expand(event);
    else if (event.type === "tot_evaluate") this.#evaluate(event);
    else this.#backtrack(event);
  }

  show(): TreeView {
    if (this.#isPathStale) this.#tracePath();
    const now = {
      thoughts: this.#thoughts.show(),
      chosen: this.#chosen,
      path: this.#path,
      backtracks: this.#backtracks.show(),
    };
    if (withFields(this.#view, now) !== this.#view || now.chosen !== this.#view.chosen)
      this.#view = makeView<TreeView>(now);
    return this.#view;
  }

  #expand({ candidates, ids, parent, parents, depth: given }: TotExpandEvent): void {
    const depth = given ?? (this.#thoughts.get(parent ?? parents?.[0])?.depth ?? this.#depth) + 1;
    this.#depth = depth;
    this.#backtrackLevel = [];
    const batch: string[] = (this.#lastBatch = []);
    const level = this.#atDepth.get(depth) ?? [];
    for (const [i, text] of candidates.entries()) {
      const id = ids?.[i] ?? this.#makeId(depth, level.length);
      const above = parents?.[i] ?? parent;
      const fields = {
        id,
        text: this.#quota.cut(text),
        parent: above,
        depth,
        score: undefined,
        status: "open",
      } as const;
      const thought = makeView<ThoughtView>(fields);
      const index = this.#thoughts.find(id);
      // The thought gets another parent, or extends the path upwards.
      if (index !== undefined || id === (this.#thoughts.get(this.#path[0])?.parent ?? this.#chosen))
        this.#isPathStale = true;
      if (index !== undefined) this.#thoughts.set(index, thought);
      else if (!this.#thoughts.push(thought, id)) break;
      else {
        this.#atDepth.set(depth, level);
        level.push(id);
        this.#unevaluated.push(id);
      }
      batch.push(id);
    }
  }

  #evaluate({ chosen, scores, ids = this.#findEvaluated(scores.length), kept, unrated = [] }: TotEvaluateEvent): void {
    this.#unevaluated = [];
    if (ids === undefined) return;
    // If none is kept, the best one is a dead end too, and there is no path.
    const best = kept?.length === 0 ? undefined : ids[chosen];
    const stay = new Set(kept ?? [best]);
    const unknown = new Set(unrated);
    for (const [i, id] of ids.entries()) {
      // A thought without a rating is not a dead end.
      if (unknown.has(id) && !stay.has(id)) continue;
      // An abandoned thought stays abandoned unless it is kept again.
      const otherwise = this.#thoughts.get(id)?.status === "abandoned" ? "abandoned" : "pruned";
      changeEntry(this.#thoughts, this.#thoughts.find(id), {
        status: stay.has(id) ? "kept" : otherwise,
        ...(unknown.has(id) ? {} : { score: scores[i] }),
      });
    }
    this.#isPathStale ||= this.#chosen !== best;
    this.#chosen = best;
  }

  /**
   * Returns the evaluated thoughts when the event does not name them: those of the level just returned to, those added
   * since the last evaluation, or those of the last expansion, first without abandoned thoughts, then with them. The
   * first group of the right size is used; undefined if there is none.
   */
  #findEvaluated(count: number): readonly string[] | undefined {
    return [this.#backtrackLevel, this.#unevaluated, this.#lastBatch]
      .flatMap((all) => [all.filter((id) => this.#thoughts.get(id)?.status !== "abandoned"), all])
      .find(({ length }) => length === count);
  }

  #backtrack({ reason, code, to_depth, from, to, kept }: TotBacktrackEvent): void {
    this.#depth = to_depth;
    this.#backtrackLevel = this.#atDepth.get(to_depth || 1) ?? [];
    this.#abandon(from ?? this.#chosen, to, to_depth);
    if (kept !== undefined) this.#continueWith(kept, to);
    const said = { reason: this.#quota.cut(reason), code: code === undefined ? undefined : this.#quota.cut(code) };
    this.#backtracks.push(makeView<BacktrackView>({ ...said, toDepth: to_depth, from, to }));
  }

  /** Chooses `to` if it is kept. Streams that evaluate the level again instead have no `kept`. */
  #continueWith(kept: readonly string[], to: string | undefined): void {
    for (const id of kept) changeEntry(this.#thoughts, this.#thoughts.find(id), { status: "kept" });
    const best = to !== undefined && kept.includes(to) ? to : undefined;
    this.#isPathStale ||= this.#chosen !== best;
    this.#chosen = best;
  }

  /**
   * Marks the thought the search left as abandoned, and its ancestors up to the depth it returned to. The target
   * thought and those above it stay, because they may have other active branches.
   */
  #abandon(from: string | undefined, to: string | undefined, toDepth: number): void {
    // Without a target thought, the search returned to the thought at that depth itself.
    const end = to === undefined ? toDepth + 1 : toDepth;
    let left = this.#thoughts.get(from);
    for (let climbed = 0; left !== undefined && climbed < MAX_CLIMB; climbed++) {
      changeEntry(this.#thoughts, this.#thoughts.find(left.id), { status: "abandoned" });
      const above: ThoughtView | undefined = this.#thoughts.get(left.parent);
      if (above === undefined || above.id === to || above.depth < end) return;
      left = above;
    }
  }

  /** Updates the path, keeping its identity if it is unchanged. Faulty input may contain cycles. */
  #tracePath(): void {
    this.#isPathStale = false;
    const seen = new Set<string>();
    let thought = this.#thoughts.get(this.#chosen);
    while (thought !== undefined && !seen.has(thought.id)) {
      seen.add(thought.id);
      thought = this.#thoughts.get(thought.parent);
    }
    const path = [...seen].toReversed();
    if (JSON.stringify(path) !== JSON.stringify(this.#path)) this.#path = path;
  }

  #makeId(depth: number, n: number): string {
    let id;
    while (this.#thoughts.find((id = `d${depth}.${n}`)) !== undefined) n++;
    return id;
  }
}
