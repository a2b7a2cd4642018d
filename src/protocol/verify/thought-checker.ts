/** Checks the trees of thoughts in one run. */
import { BoundedMap } from "../bounded-map.ts";
import type { LoomEvent, TotEvaluateEvent, TotExpandEvent } from "../events.generated.ts";
import { shortenId, reportLongId, reportLengthMismatch, reportDuplicate } from "./report-ids.ts";
import type { IssueReporter } from "./lifecycle-rules.ts";
import type { SpanChecker } from "./span-checker.ts";

const MAX_THOUGHTS = 10_000;

export class ThoughtChecker {
  /** Thoughts named by expansions, and their parents; undefined once an expansion has no IDs. */
  #thoughts: BoundedMap<true> | undefined = new BoundedMap(MAX_THOUGHTS);
  /** Number of candidates of each expansion since the last evaluation. */
  #expansions: number[] = [];

  /** `spans` knows the open node runs. */
  check(event: LoomEvent, spans: SpanChecker, report: IssueReporter): void {
    switch (event.type) {
      case "tot_expand":
        this.#expand(event, report);
        return;
      case "tot_evaluate":
        this.#evaluate(event, spans, report);
        return;
      case "tot_backtrack":
        if (reportLongId([event.from, event.to, ...(event.kept ?? [])], report)) return;
        for (const id of event.kept ?? []) if (!this.#checkKnown(id, spans, report)) break;
        this.#checkKnown(event.from, spans, report);
        if (event.to_depth > 0) this.#checkKnown(event.to, spans, report);
        return;
      default:
    }
  }

  #expand({ ids, candidates, parent, parents = [] }: TotExpandEvent, report: IssueReporter): void {
    reportLengthMismatch("ids", ids, "candidates", candidates.length, report);
    if (parents.length > 0) reportLengthMismatch("parents", parents, "candidates", candidates.length, report);
    if (this.#expansions.length < MAX_THOUGHTS) this.#expansions.push(candidates.length);
    if (ids === undefined || reportLongId([parent, ...parents, ...ids], report)) {
      this.#thoughts = undefined;
      return;
    }
    reportDuplicate("ids", ids, report);
    // The root is named only as a parent.
    for (const id of parent === undefined ? parents : [parent, ...parents]) this.#thoughts?.set(id, true);
    for (const id of ids) this.#thoughts?.set(id, true);
  }

  #evaluate({ chosen, scores, ids, kept }: TotEvaluateEvent, spans: SpanChecker, report: IssueReporter): void {
    if (chosen >= scores.length) report("tot-chosen", `chosen is ${chosen}, but there are ${scores.length} scores`);
    reportLengthMismatch("ids", ids, "scores", scores.length, report);
    // With IDs, an evaluation may cover any thoughts.
    if (ids === undefined) this.#checkScores(scores.length, spans, report);
    this.#expansions = [];
    if (ids === undefined || reportLongId([...ids, ...(kept ?? [])], report)) return;
    for (const id of ids) if (!this.#checkKnown(id, spans, report)) break;
    const judged = new Set(ids);
    const unscored = kept?.find((id) => !judged.has(id));
    if (unscored !== undefined) report("tot-kept", `thought ${shortenId(unscored)} is kept but was not scored`);
    const best = ids[chosen];
    if (best !== undefined && kept !== undefined && kept.length > 0 && !kept.includes(best))
      report("tot-chosen-dropped", `thought ${shortenId(best)} is chosen but not kept`);
  }

  /**
   * An evaluation covers one of the expansions before it, or all of them. A later one without a new expansion may cover
   * what is left.
   */
  #checkScores(scores: number, { lenient }: SpanChecker, report: IssueReporter): void {
    const counts = this.#expansions;
    const all = counts.reduce((sum, count) => sum + count, 0);
    if (lenient || counts.length === 0 || counts.length === MAX_THOUGHTS || scores === all || counts.includes(scores))
      return;
    report("tot-scores", `there are ${scores} scores, but ${all} candidates`);
  }

  /** Reports an unknown thought and returns false. Skipped if the stream is filtered or its start is missing. */
  #checkKnown(id: string | undefined, spans: SpanChecker, report: IssueReporter): boolean {
    const known = this.#thoughts;
    if (id === undefined || known === undefined || known.evicted || spans.lenient || known.has(id)) return true;
    report("tot-thought-unknown", `thought ${shortenId(id)} appears in no tot_expand`);
    return false;
  }
}
