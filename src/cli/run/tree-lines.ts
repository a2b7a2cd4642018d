/**
 * A tree of thoughts in lines, as it grows: how many thoughts there are, which of them stay and how good they are, where
 * the search goes back. It writes nothing, and what it keeps is bounded, however large the tree.
 */
import { BoundedMap, type EventOf } from "../../protocol/index.ts";
import { plural } from "../fit-text.ts";
import type { Note } from "./format-note.ts";

/** Thoughts that are remembered, to be named when they are judged. */
const MAX_THOUGHTS = 10_000;
const MAX_DEPTHS = 100;
const MAX_TEXT = 300;
/** Of one judgement, and of the path. */
const SHOWN = 5;
const SHOWN_STEPS = 12;
const BAR_CELLS = 10;
/** Narrower lines have no room for bars. */
const BAR_COLUMNS = 60;

interface Thought {
  readonly text: string;
  readonly depth: number;
  readonly parent: string | undefined;
}

type TreeEvent = EventOf<"tot_expand" | "tot_evaluate" | "tot_backtrack">;

export class TreeLines {
  readonly #thoughts = new BoundedMap<Thought>(MAX_THOUGHTS);
  /** For scores that name no thoughts: the ids of each depth, of the last expansion, and of all since the last scores. */
  readonly #atDepth = new BoundedMap<string[]>(MAX_DEPTHS);
  #batch: readonly string[] = [];
  #unjudged: string[] = [];
  #count = 0;
  #depth = 0;
  /** The best thought, as long as the search stays with it. */
  #best: string | undefined;
  /** What was said of the last event, where that went back. */
  #lastBack: string | undefined;

  describe(event: TreeEvent, width: number): readonly Note[] {
    if (event.type === "tot_backtrack") return this.#goBack(event);
    // After a way back, thoughts that were shown before are judged again: only where it goes on is new.
    const isBack = this.#lastBack !== undefined;
    this.#lastBack = undefined;
    if (event.type === "tot_expand") return [this.#expand(event)];
    const ids = event.ids ?? this.#findJudged(event.scores.length, isBack);
    this.#unjudged = [];
    // Nobody can tell which thoughts they are of.
    return ids === undefined ? [] : this.#evaluate({ ...event, ids }, isBack ? 1 : SHOWN, width);
  }

  /** Where the search is; the root is 0. */
  get depth(): number {
    return this.#depth;
  }

  /** The same, in a few words. */
  get summary(): string {
    return `${plural(this.#count, "thought")}, depth ${this.#depth}`;
  }

  /** The thoughts that lead to the best one; none where the search has given it up. */
  describePath(): readonly Note[] {
    const steps: Thought[] = [];
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
      { sign: "★", style: "green", name: "path taken", text: before > 0 ? `… after ${plural(before, "step")}` : "" },
      ...shown.map(({ text, depth }): Note => ({ indent: 1, sign: `${depth}.`, name: "", text })),
    ];
  }

  /** Branches that are left together, for the same reason, are one line. */
  #goBack({ reason, to_depth }: EventOf<"tot_backtrack">): readonly Note[] {
    this.#depth = to_depth;
    this.#best = undefined;
    const name = to_depth === 0 ? "back to the start:" : `back to depth ${to_depth}:`;
    const isSame = this.#lastBack === `${name}${reason}`;
    this.#lastBack = `${name}${reason}`;
    return isSame ? [] : [{ indent: to_depth, style: "yellow", sign: "↩", name, text: reason }];
  }

  #expand({ candidates, ids, parent, depth }: EventOf<"tot_expand">): Note {
    const above = parent === undefined ? undefined : this.#thoughts.get(parent);
    this.#depth = depth ?? (above?.depth ?? this.#depth) + 1;
    const batch: string[] = [];
    const level = this.#atDepth.getOrCreate(`${this.#depth}`, () => []);
    for (const [i, text] of candidates.entries()) {
      const id = ids?.[i] ?? `#${this.#count}`;
      this.#count++;
      this.#thoughts.set(id, { text: text.slice(0, MAX_TEXT), depth: this.#depth, parent });
      batch.push(id);
      for (const list of [level, this.#unjudged]) if (list.length < MAX_THOUGHTS) list.push(id);
    }
    this.#batch = batch;
    return {
      indent: this.#depth - 1,
      style: "cyan",
      sign: "+",
      name: plural(candidates.length, "thought"),
      ...(above === undefined ? {} : { text: `after ${above.text}` }),
    };
  }

  /** After a way back the level it led to, else those since the last scores, or of the last expansion. */
  #findJudged(count: number, isBack: boolean): readonly string[] | undefined {
    const level = isBack ? this.#atDepth.get(`${this.#depth || 1}`) : undefined;
    return [level ?? [], this.#unjudged, this.#batch].find(({ length }) => length === count);
  }

  #evaluate(
    { chosen, scores, ids, kept, depth }: EventOf<"tot_evaluate"> & { readonly ids: readonly string[] },
    shown: number,
    width: number,
  ): Note[] {
    const best = ids[chosen];
    const stay = new Set(kept ?? (best === undefined ? [] : [best]));
    this.#depth = depth ?? this.#thoughts.get(best ?? "")?.depth ?? this.#depth;
    this.#best = best !== undefined && stay.has(best) ? best : undefined;
    const indent = this.#depth;
    const judged = ids.map((id, i) => ({ id, score: scores[i] ?? 0 }));
    const staying = judged.filter(({ id }) => stay.has(id));
    // The chosen one leads, whatever the others have.
    staying.sort((a, b) => Number(b.id === best) - Number(a.id === best) || b.score - a.score);
    const notes = staying.slice(0, shown).map(({ id, score }): Note => {
      const [sign, style] = id === best ? (["★", "green"] as const) : (["•", "dim"] as const);
      return { indent, sign, style, name: formatScore(score), text: this.#describe(id, score, width) };
    });
    const more = staying.length - notes.length;
    const dropped = judged.length - staying.length;
    const rest = [...(more > 0 ? [`${more} more kept`] : []), ...(dropped > 0 ? [`${dropped} dropped`] : [])].join(
      ", ",
    );
    if (staying.length === 0) {
      const score = scores[chosen];
      const text = best === undefined || score === undefined ? rest : `${rest}, the best had ${formatScore(score)}`;
      notes.push({ indent, style: "dim", sign: "–", name: "none kept:", text });
    } else if (rest !== "") notes.push({ indent, style: "dim", sign: "…", name: "", text: rest });
    return notes;
  }

  #describe(id: string, score: number, width: number): string {
    const text = this.#thoughts.get(id)?.text ?? id;
    if (width < BAR_COLUMNS || score < 0 || score > 1) return text;
    // Only what is certain has a full bar.
    const full = Math.floor(score * BAR_CELLS);
    return `${"▰".repeat(full)}${"▱".repeat(BAR_CELLS - full)} ${text}`;
  }
}

function formatScore(score: number): string {
  return score >= -1 && score <= 1 ? score.toFixed(2) : String(Number(score.toPrecision(4)));
}
