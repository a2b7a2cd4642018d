/**
 * Formats a tree of thoughts as lines: new thoughts, which of them are kept with their scores, and backtracking. Memory
 * is bounded.
 */
import type { EventOf } from "../../protocol/index.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { plural } from "../fit-text.ts";
import type { Note } from "./format-note.ts";

/** Thoughts kept, to show their text with the score. */
const MAX_THOUGHTS = 10_000;
const MAX_DEPTHS = 100;
const MAX_TEXT = 300;
/** Thoughts shown of one evaluation, and steps shown of the path. */
const SHOWN = 5;
const SHOWN_STEPS = 12;
const BAR_CELLS = 10;
/** Narrower lines show no score bars. */
const BAR_COLUMNS = 60;

interface ShownThought {
  readonly text: string;
  readonly depth: number;
  readonly parent: string | undefined;
  readonly score?: number;
}

type TreeLineEvent = EventOf<"tot_expand" | "tot_evaluate" | "tot_backtrack">;

export class TreeLines {
  readonly #thoughts = new BoundedMap<ShownThought>(MAX_THOUGHTS);
  /**
   * For evaluations without ids: the thoughts of each depth, of the last expansion, and of all expansions since the
   * last evaluation.
   */
  readonly #atDepth = new BoundedMap<string[]>(MAX_DEPTHS);
  #batch: readonly string[] = [];
  #unjudged: string[] = [];
  #count = 0;
  #depth = 0;
  /** The best thought, until the search backtracks. */
  #best: string | undefined;
  /** The last backtracking, if it was the last event. */
  #lastBacktrack: string | undefined;

  describe(event: TreeLineEvent, width: number): readonly Note[] {
    if (event.type === "tot_backtrack") return [...this.#backtrack(event), ...this.#continueWith(event, width)];
    // Some senders evaluate thoughts that were shown before again after backtracking; only the best one is shown.
    const isBack = this.#lastBacktrack !== undefined;
    this.#lastBacktrack = undefined;
    if (event.type === "tot_expand") return [this.#expand(event)];
    const ids = event.ids ?? this.#findJudged(event.scores.length, isBack);
    this.#unjudged = [];
    // Without IDs, it is unknown which thoughts were evaluated.
    return ids === undefined ? [] : this.#evaluate({ ...event, ids }, isBack ? 1 : SHOWN, width);
  }

  /** Current depth of the search; the root is 0. */
  get depth(): number {
    return this.#depth;
  }

  /** Progress in a few words. */
  get summary(): string {
    return `${plural(this.#count, "thought")}, depth ${this.#depth}`;
  }

  /** Formats the path to the best thought; none if the search abandoned it. */
  describePath(): readonly Note[] {
    const steps: ShownThought[] = [];
    const seen = new Set<string>();
    for (let id = this.#best; id !== undefined && !seen.has(id);) {
      const thought = this.#thoughts.get(id);
      if (thought === undefined) break;
      seen.add(id);
      steps.push(thought);
      id = thought.parent;
    }
    if (steps.length < 2) return [];
    const shown = steps.slice(0, SHOWN_STEPS).toReversed();
    const before = (shown[0]?.depth ?? 1) - 1;
    return [
      { sign: "★", style: "green", name: "chosen path", text: before > 0 ? `… after ${plural(before, "step")}` : "" },
      ...shown.map(({ text, depth }): Note => ({ indent: 1, sign: `${depth}.`, name: "", text })),
    ];
  }

  /** Branches abandoned together for the same reason share one line. */
  #backtrack({ reason, to_depth }: EventOf<"tot_backtrack">): readonly Note[] {
    this.#depth = to_depth;
    this.#best = undefined;
    const name = to_depth === 0 ? "backtrack to the start:" : `backtrack to depth ${to_depth}:`;
    const isSame = this.#lastBacktrack === `${name}${reason}`;
    this.#lastBacktrack = `${name}${reason}`;
    return isSame ? [] : [{ indent: to_depth, style: "yellow", sign: "↩", name, text: reason }];
  }

  /** Shows the thought that the search goes on with. */
  #continueWith({ to, kept = [] }: EventOf<"tot_backtrack">, width: number): readonly Note[] {
    const thought = to === undefined || !kept.includes(to) ? undefined : this.#thoughts.get(to);
    if (to === undefined || thought === undefined) return [];
    this.#best = to;
    return [this.#showThought(to, { indent: thought.depth, sign: "★", style: "green" }, thought.score, width)];
  }

  #expand({ candidates, ids, parent, parents, depth }: EventOf<"tot_expand">): Note {
    const growing = new Set(parents ?? (parent === undefined ? [] : [parent]));
    const [first = ""] = growing;
    const above = this.#thoughts.get(first);
    this.#depth = depth ?? (above?.depth ?? this.#depth) + 1;
    const batch: string[] = [];
    const level = this.#atDepth.getOrCreate(`${this.#depth}`, () => []);
    for (const [i, text] of candidates.entries()) {
      const id = ids?.[i] ?? `#${this.#count}`;
      this.#count++;
      this.#thoughts.set(id, { text: text.slice(0, MAX_TEXT), depth: this.#depth, parent: parents?.[i] ?? parent });
      batch.push(id);
      for (const list of [level, this.#unjudged]) if (list.length < MAX_THOUGHTS) list.push(id);
    }
    this.#batch = batch;
    return {
      indent: Math.max(0, this.#depth - 1),
      style: "cyan",
      sign: "+",
      name: plural(candidates.length, "thought"),
      ...(above === undefined
        ? {}
        : { text: `from ${growing.size > 1 ? plural(growing.size, "thought") : above.text}` }),
    };
  }

  /**
   * Finds the thoughts of an evaluation without ids: after backtracking those of the level, otherwise those since the
   * last evaluation, or those of the last expansion.
   */
  #findJudged(count: number, isBack: boolean): readonly string[] | undefined {
    const level = isBack ? this.#atDepth.get(`${this.#depth || 1}`) : undefined;
    return [level ?? [], this.#unjudged, this.#batch].find(({ length }) => length === count);
  }

  #evaluate(
    { chosen, scores, ids, kept, unrated = [], depth }: EventOf<"tot_evaluate"> & { readonly ids: readonly string[] },
    shown: number,
    width: number,
  ): Note[] {
    const best = ids[chosen];
    const stay = new Set(kept ?? (best === undefined ? [] : [best]));
    this.#depth = depth ?? this.#thoughts.get(best ?? "")?.depth ?? this.#depth;
    this.#best = best !== undefined && stay.has(best) ? best : undefined;
    const indent = this.#depth;
    const unknown = new Set(unrated);
    const judged = ids
      .map((id, i) => ({ id, score: unknown.has(id) ? undefined : (scores[i] ?? 0) }))
      .filter(({ id }) => stay.has(id) || !unknown.has(id));
    for (const { id, score } of judged) {
      const thought = this.#thoughts.get(id);
      if (thought !== undefined && score !== undefined) this.#thoughts.set(id, { ...thought, score });
    }
    const staying = judged.filter(({ id }) => stay.has(id));
    // The chosen thought comes first, whatever its score.
    staying.sort((a, b) => Number(b.id === best) - Number(a.id === best) || (b.score ?? 0) - (a.score ?? 0));
    const notes = staying.slice(0, shown).map(({ id, score }): Note => {
      const look = id === best ? ({ sign: "★", style: "green" } as const) : ({ sign: "•", style: "dim" } as const);
      return this.#showThought(id, { indent, ...look }, score, width);
    });
    const more = staying.length - notes.length;
    const dropped = judged.length - staying.length;
    const rest = [...(more > 0 ? [`${more} more kept`] : []), ...(dropped > 0 ? [`${dropped} dropped`] : [])].join(
      ", ",
    );
    if (staying.length === 0) {
      const score = scores[chosen];
      const text = best === undefined || score === undefined ? rest : `${rest}, best score ${formatScore(score)}`;
      notes.push({ indent, style: "dim", sign: "–", name: "none kept:", text });
    } else if (rest !== "") notes.push({ indent, style: "dim", sign: "…", name: "", text: rest });
    return notes;
  }

  #showThought(
    id: string,
    look: Pick<Note, "indent" | "sign" | "style">,
    score: number | undefined,
    width: number,
  ): Note {
    const text = this.#thoughts.get(id)?.text ?? id;
    const name = score === undefined ? "" : formatScore(score);
    if (width < BAR_COLUMNS || score === undefined || score < 0 || score > 1) return { ...look, name, text };
    // Only a score of 1 fills the bar.
    const full = Math.floor(score * BAR_CELLS);
    return { ...look, name, text: `${"▰".repeat(full)}${"▱".repeat(BAR_CELLS - full)} ${text}` };
  }
}

function formatScore(score: number): string {
  return score >= -1 && score <= 1 ? score.toFixed(2) : String(Number(score.toPrecision(4)));
}
