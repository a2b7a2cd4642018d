/** The rules of thought trees within one run; those of graphs are in `thought-graph.ts`, and are asked from here. */
import { BoundedMap } from "../bounded-map.ts";
import type { LoomEvent, TotEvaluateEvent, TotExpandEvent } from "../events.generated.ts";
import { nameId, reportLong, reportOtherLength, reportTwice } from "./report-ids.ts";
import type { Report } from "./rules.ts";
import type { Spans } from "./spans.ts";
import { ThoughtGraph } from "./thought-graph.ts";

const MAX_THOUGHTS = 10_000;

export class Thoughts {
  /** Thoughts that an expansion named, and those it came from; undefined once one named none. */
  #thoughts: BoundedMap<true> | undefined = new BoundedMap(MAX_THOUGHTS);
  readonly #graph = new ThoughtGraph();

  /** `nodeId` is that of the frame; `spans` knows the node runs that are open. */
  check(event: LoomEvent, nodeId: string | undefined, spans: Spans, report: Report): void {
    switch (event.type) {
      case "tot_expand":
        this.#grow(event, report);
        return;
      case "tot_evaluate":
        this.#judge(event, spans, report);
        return;
      case "tot_backtrack":
        if (reportLong([event.from, event.to], report)) return;
        this.#knows(event.from, spans, report);
        if (event.to_depth > 0) this.#knows(event.to, spans, report);
        return;
      case "got_plan":
        if (reportLong([...event.node_ids, ...(event.edges ?? []).flat()], report)) this.#graph.forget();
        else this.#graph.check(event, nodeId, spans, report);
        return;
      case "got_expand":
        if (reportLong([event.node_id, ...(event.nodes ?? []), ...(event.edges ?? []).flat()], report))
          this.#graph.forget();
        else this.#graph.check(event, nodeId, spans, report);
        return;
      case "got_node_start":
      case "got_node_complete":
      case "got_node_failed":
        if (!reportLong([event.id], report)) this.#graph.check(event, nodeId, spans, report);
        return;
      default:
    }
  }

  /** The run ends with a reply. */
  close(spans: Spans, report: Report): void {
    this.#graph.close(spans, report);
  }

  #grow({ ids, candidates, parent }: TotExpandEvent, report: Report): void {
    reportOtherLength("ids", ids, "candidates", candidates.length, report);
    if (ids === undefined || reportLong([parent, ...ids], report)) {
      this.#thoughts = undefined;
      return;
    }
    reportTwice("ids", ids, report);
    // The root is named by those that come from it, and by nobody else.
    if (parent !== undefined) this.#thoughts?.set(parent, true);
    for (const id of ids) this.#thoughts?.set(id, true);
  }

  #judge({ chosen, scores, ids, kept }: TotEvaluateEvent, spans: Spans, report: Report): void {
    if (chosen >= scores.length) report("tot-chosen", `chosen is ${chosen}, but there are ${scores.length} scores`);
    reportOtherLength("ids", ids, "scores", scores.length, report);
    if (ids === undefined || reportLong([...ids, ...(kept ?? [])], report)) return;
    for (const id of ids) if (!this.#knows(id, spans, report)) break;
    const judged = new Set(ids);
    const stranger = kept?.find((id) => !judged.has(id));
    if (stranger !== undefined) report("tot-kept", `thought ${nameId(stranger)} is kept, and was not judged`);
    const best = ids[chosen];
    if (best !== undefined && kept !== undefined && kept.length > 0 && !kept.includes(best))
      report("tot-chosen-dropped", `thought ${nameId(best)} is chosen, and is not among those kept`);
  }

  /** A stream that has lost its beginning, or leaves something out, is not asked. */
  #knows(id: string | undefined, spans: Spans, report: Report): boolean {
    const known = this.#thoughts;
    if (id === undefined || known === undefined || known.evicted || spans.lenient || known.has(id)) return true;
    report("tot-thought-unknown", `no tot_expand has named thought ${nameId(id)}`);
    return false;
  }
}
