// What the reject corpus cannot show: streams that keep the rules, that lost frames, and that are larger than the memory.
import { describe, expect, it } from "vitest";
import type { LoomEvent } from "../events.generated.ts";
import { Verifier } from "./verifier.ts";

type Put = LoomEvent & { readonly at?: string };

/** The rules that are broken, in order; `isFiltered`: frames were left out before the second. */
function findBroken(events: readonly Put[], { start = true, isFiltered = false } = {}): string[] {
  const verifier = new Verifier();
  const all: readonly Put[] = start ? [{ type: "run_start" }, ...events] : events;
  return all.flatMap(({ at, ...event }, i) => {
    const envelope = { session_id: "s", run_id: "r", event_id: i + 1, ...(at === undefined ? {} : { node_id: at }) };
    const stamped = isFiltered && i === 1 ? { ...envelope, event_id: 5, prev_event_id: 1 } : envelope;
    return verifier
      .check({ envelope: stamped, event })
      .map(({ rule }) => rule)
      .filter((rule) => /^(?:tot|got|thought|span-parent)/.test(rule));
  });
}

const plan: Put = { type: "got_plan", node_count: 2, edge_count: 1, node_ids: ["a", "b"], edges: [["a", "b"]] };
const enter = (at: string, id: string, parent?: string): Put => ({
  type: "node_enter",
  id,
  at,
  ...(parent === undefined ? {} : { parent }),
});
const leave = (at: string, id: string): Put => ({ type: "node_exit", id, result: { Err: "lost" }, at });
const begin = (at: string | undefined, id: string): Put => ({
  type: "got_node_start",
  id,
  ...(at === undefined ? {} : { at }),
});
const judge = (...ids: string[]): Put => ({ type: "tot_evaluate", chosen: 0, scores: ids.map(() => 1), ids });

describe("the rules of thoughts", () => {
  it("let a node begin again when the node run it began in is over, and be done once", () => {
    const done: Put = { type: "got_node_complete", id: "a", result_summary: "x" };
    const twice = [plan, enter("1", "a"), begin("1", "a"), leave("1", "a"), enter("2", "a"), begin("2", "a"), done];
    expect(findBroken(twice)).toEqual([]);
    // The same node_id, used again.
    expect(
      findBroken([plan, enter("1", "a"), begin("1", "a"), leave("1", "a"), enter("1", "a"), begin("1", "a")]),
    ).toEqual([]);
    expect(findBroken([...twice, begin("2", "a")])).toEqual(["got-node-order"]);
    // Where nothing says in which node run it began, it is running until it ends.
    expect(findBroken([plan, begin(undefined, "a"), enter("1", "a"), leave("1", "a"), begin("1", "a")])).toEqual([
      "got-node-order",
    ]);
  });

  it("let a node that failed begin again, and one that is skipped not begin at all", () => {
    const failed: Put = { type: "got_node_failed", id: "a", error: "no" };
    const skipped: Put = { type: "got_node_failed", id: "b", error: "a has no result", skipped: true };
    expect(findBroken([plan, begin(undefined, "a"), failed, begin(undefined, "a"), failed, skipped])).toEqual([]);
    expect(findBroken([plan, skipped, skipped])).toEqual(["got-node-order"]);
  });

  it("know thoughts by expansions that name them, and do not ask where one named none", () => {
    const grow = (more: object): Put => ({ type: "tot_expand", candidates: ["x"], ...more });
    const back = (from: string, to: string, to_depth: number): Put => ({
      type: "tot_backtrack",
      reason: "no",
      to_depth,
      from,
      to,
    });
    expect(findBroken([grow({ ids: ["1"], parent: "top" }), judge("1"), back("1", "top", 0)])).toEqual([]);
    expect(findBroken([grow({ ids: ["1"] }), back("1", "wherever it began", 0)])).toEqual([]);
    expect(findBroken([grow({ ids: ["1"] }), judge("1", "2", "3")])).toEqual(["tot-thought-unknown"]);
    expect(findBroken([grow({}), judge("2"), back("3", "4", 2)])).toEqual([]);
  });

  it("do not ask for what was left out, or came before the stream began", () => {
    const inner = enter("2", "b", "1");
    expect(findBroken([judge("1"), inner])).toEqual(["tot-thought-unknown", "span-parent"]);
    expect(findBroken([judge("1"), inner], { start: false })).toEqual([]);
    expect(findBroken([judge("1"), inner], { isFiltered: true })).toEqual([]);
    expect(findBroken([enter("1", "a"), inner])).toEqual([]);
  });

  it("forget in time, and then do not ask", () => {
    const ids = Array.from({ length: 10_001 }, (_, n) => `t${n}`);
    const grow: Put = { type: "tot_expand", candidates: ids, ids };
    expect(findBroken([{ ...grow, candidates: ids.slice(1), ids: ids.slice(1) }, judge("t0")])).toEqual([
      "tot-thought-unknown",
    ]);
    expect(findBroken([grow, judge("t0")])).toEqual([]);
  });
});
