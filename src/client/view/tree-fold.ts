/**
 * The tree of thoughts of one turn. Ids, parents and depths are optional on the wire: what is missing is made up from
 * the order of events, except parents, which nobody can guess.
 */
import type { EventOf, TotBacktrackEvent, TotEvaluateEvent, TotExpandEvent } from "../../protocol/index.ts";
import type { BacktrackView, ThoughtView, TreeView } from "../view.ts";
import { changeEntry, GrowingList, type Room } from "./growing-list.ts";
import { makeView, withFields } from "./with-fields.ts";

export type TreeEvent = EventOf<"tot_expand" | "tot_evaluate" | "tot_backtrack">;

/** Levels that are looked at for one backtrack: what it costs does not grow with the tree. */
const MAX_CLIMB = 1000;

export class TreeFold {
  readonly #thoughts: GrowingList<ThoughtView>;
  readonly #backtracks: GrowingList<BacktrackView>;
  readonly #room: Room;
  readonly #atDepth = new Map<number, string[]>();
  #lastBatch: readonly string[] = [];
  /** New since thoughts were last judged. */
  #unjudged: string[] = [];
  /** Where the search has gone back to. */
  #backAt: readonly string[] = [];
  /** Where the search is: the root is 0. */
  #depth = 0;
  #chosen: string | undefined;
  #path: readonly string[] = [];
  /** The thoughts that lead to the chosen one may be others than those of the path. */
  #isPathStale = false;
  #view = {} as TreeView;

  constructor(room: Room) {
    this.#room = room;
    this.#thoughts = new GrowingList(room);
    this.#backtracks = new GrowingList(room);
  }

  apply(event: TreeEvent): void {
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

  #expand({ candidates, ids, parent, depth: given }: TotExpandEvent): void {
    const depth = given ?? (this.#thoughts.get(parent)?.depth ?? this.#depth) + 1;
    this.#depth = depth;
    this.#backAt = [];
    const batch: string[] = (this.#lastBatch = []);
    const level = this.#atDepth.get(depth) ?? [];
    for (const [i, text] of candidates.entries()) {
      const id = ids?.[i] ?? this.#makeId(depth, level.length);
      const fields = { id, text: this.#room.cut(text), parent, depth, score: undefined, status: "open" } as const;
      const thought = makeView<ThoughtView>(fields);
      const place = this.#thoughts.find(id);
      // Another parent, or one more thought before the first of the path.
      if (place !== undefined || id === (this.#thoughts.get(this.#path[0])?.parent ?? this.#chosen))
        this.#isPathStale = true;
      if (place !== undefined) this.#thoughts.set(place, thought);
      else if (!this.#thoughts.push(thought, id)) break;
      else {
        this.#atDepth.set(depth, level);
        level.push(id);
        this.#unjudged.push(id);
      }
      batch.push(id);
    }
  }

  #evaluate({ chosen, scores, ids = this.#findJudged(scores.length), kept }: TotEvaluateEvent): void {
    this.#unjudged = [];
    if (ids === undefined) return;
    // Where none is kept the best of them is a dead end too, and the search has no path.
    const best = kept?.length === 0 ? undefined : ids[chosen];
    const stay = new Set(kept ?? [best]);
    for (const [i, id] of ids.entries()) {
      // What was given up stays so, unless it is taken up again.
      const otherwise = this.#thoughts.get(id)?.status === "abandoned" ? "abandoned" : "pruned";
      changeEntry(this.#thoughts, this.#thoughts.find(id), {
        status: stay.has(id) ? "kept" : otherwise,
        score: scores[i],
      });
    }
    this.#isPathStale ||= this.#chosen !== best;
    this.#chosen = best;
  }

  /**
   * The thoughts that were judged, where they are not named: after a way back the level it led to, else those since
   * the last judgement, or of the last expansion. Without those the search came back from, or all; undefined if none fits.
   */
  #findJudged(count: number): readonly string[] | undefined {
    return [this.#backAt, this.#unjudged, this.#lastBatch]
      .flatMap((all) => [all.filter((id) => this.#thoughts.get(id)?.status !== "abandoned"), all])
      .find(({ length }) => length === count);
  }

  #backtrack({ reason, to_depth, from, to }: TotBacktrackEvent): void {
    this.#depth = to_depth;
    this.#backAt = this.#atDepth.get(to_depth || 1) ?? [];
    this.#abandon(from ?? this.#chosen, to, to_depth);
    this.#backtracks.push(makeView<BacktrackView>({ reason: this.#room.cut(reason), toDepth: to_depth, from, to }));
  }

  /**
   * The thought that was left, and those above it down from which the search went back: none above the depth it went back
   * to, since other branches of theirs may be going.
   */
  #abandon(from: string | undefined, to: string | undefined, toDepth: number): void {
    // Without a name the search went back to the thought of that depth itself.
    const end = to === undefined ? toDepth + 1 : toDepth;
    let left = this.#thoughts.get(from);
    for (let climbed = 0; left !== undefined && climbed < MAX_CLIMB; climbed++) {
      changeEntry(this.#thoughts, this.#thoughts.find(left.id), { status: "abandoned" });
      const above: ThoughtView | undefined = this.#thoughts.get(left.parent);
      if (above === undefined || above.id === to || above.depth < end) return;
      left = above;
    }
  }

  /** The path keeps its identity where it stayed the same. Parents may go round in a circle. */
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
