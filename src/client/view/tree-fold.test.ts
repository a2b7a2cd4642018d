// The tree of thoughts, with and without optional fields.
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { ViewFeed } from "../../../test/view-feed.ts";
import type { LoomEvent } from "../../protocol/index.ts";

describe("the tree of thoughts", () => {
  it("is built from IDs and parents", () => {
    const made = new ViewFeed().start();
    made.put({ type: "tot_expand", candidates: ["x", "y"], ids: ["1", "2"], depth: 1 });
    made.put({ type: "tot_evaluate", chosen: 1, scores: [0.1, 0.9], ids: ["1", "2"], kept: ["1", "2"] });
    made.put({ type: "tot_expand", candidates: ["z"], ids: ["3"], parent: "2" });
    expect(made.turn.tree).toEqual({
      thoughts: [
        { id: "1", text: "x", depth: 1, status: "kept", score: 0.1 },
        { id: "2", text: "y", depth: 1, status: "kept", score: 0.9 },
        { id: "3", text: "z", parent: "2", depth: 2, status: "open" },
      ],
      chosen: "2",
      path: ["2"],
      backtracks: [],
    });
    made.put({ type: "tot_backtrack", reason: "dead end", code: "dead_end", to_depth: 1, from: "3", to: "2" });
    expect(made.turn.tree).toMatchObject({
      thoughts: [{}, {}, { status: "abandoned" }],
      backtracks: [{ reason: "dead end", code: "dead_end", toDepth: 1, from: "3", to: "2" }],
    });
  });

  it("has one expansion and one evaluation per level, and continues with what a backtrack keeps", () => {
    const made = new ViewFeed().start();
    made.put({ type: "tot_expand", candidates: ["x", "y"], ids: ["1", "2"], depth: 1 });
    made.put({ type: "tot_evaluate", chosen: 0, scores: [0.9, 0.8], ids: ["1", "2"], kept: ["1", "2"] });
    const ids = ["1.1", "2.1", "2.2"];
    made.put({ type: "tot_expand", candidates: ["a", "b", "c"], ids, parents: ["1", "2", "2"] });
    made.put({ type: "tot_evaluate", chosen: 0, scores: [0.7, 0, 0.5], ids, kept: ["1.1"], unrated: ["2.2"] });
    expect(made.turn.tree?.thoughts.slice(2)).toEqual([
      { id: "1.1", text: "a", parent: "1", depth: 2, status: "kept", score: 0.7 },
      { id: "2.1", text: "b", parent: "2", depth: 2, status: "pruned", score: 0 },
      { id: "2.2", text: "c", parent: "2", depth: 2, status: "open" },
    ]);
    made.put({ type: "tot_backtrack", reason: "no", to_depth: 2, from: "1.1", to: "2.2", kept: ["2", "2.2"] });
    expect(made.turn.tree).toMatchObject({ chosen: "2.2", path: ["2", "2.2"] });
    expect(made.turn.tree?.thoughts[4]).toEqual({ id: "2.2", text: "c", parent: "2", depth: 2, status: "kept" });
    made.put({ type: "tot_backtrack", reason: "no", to_depth: 0, from: "2.2", kept: [] });
    expect(made.turn.tree?.path).toEqual([]);
    expect(made.turn.tree).not.toHaveProperty("chosen");
  });

  it("derives missing fields from the order of events", () => {
    const made = new ViewFeed().start();
    made.put({ type: "tot_expand", candidates: ["x", "y"] }).put({ type: "tot_evaluate", chosen: 0, scores: [3, 1] });
    made.put({ type: "tot_expand", candidates: ["z"] }).put({ type: "tot_evaluate", chosen: 0, scores: [2] });
    made.put({ type: "tot_backtrack", reason: "no", to_depth: 0 }).put({ type: "tot_expand", candidates: ["w"] });
    expect(made.turn.tree?.thoughts).toEqual([
      { id: "d1.0", text: "x", depth: 1, status: "kept", score: 3 },
      { id: "d1.1", text: "y", depth: 1, status: "pruned", score: 1 },
      { id: "d2.0", text: "z", depth: 2, status: "abandoned", score: 2 },
      { id: "d1.2", text: "w", depth: 1, status: "open" },
    ]);
  });

  it("assigns scores without IDs to the last thoughts that are not abandoned", () => {
    const made = new ViewFeed().start().put({ type: "tot_expand", candidates: ["x", "y", "z"] });
    const judge = (...scores: number[]) => made.put({ type: "tot_evaluate", chosen: 0, scores }).turn.tree;
    judge(7, 6, 4);
    made.put({ type: "tot_backtrack", reason: "no", to_depth: 0 });
    expect(judge(8, 5)).toMatchObject({
      thoughts: [
        { score: 7, status: "abandoned" },
        { score: 8, status: "kept" },
        { score: 5, status: "pruned" },
      ],
      chosen: "d1.1",
    });
    const { thoughts } = made.turn.tree ?? {};
    // No group fits, so the choice stays.
    expect(judge(1)).toHaveProperty("chosen", "d1.1");
    expect(made.turn.tree?.thoughts).toBe(thoughts);
    expect(judge(3, 2, 1)).toMatchObject({ thoughts: [{ score: 3 }, { score: 2 }, { score: 1 }], chosen: "d1.0" });
  });

  it.each([
    ["the level it returned to", ["ab", "0", "cd", "0", "<1", "1"], "b"],
    ["the first level, when it returned to the root", ["ab", "1", "cde", "<0", "0"], "a"],
    ["all since the last evaluation", ["ab", "0", "c", "d", "1"], "d"],
    ["the last expansion", ["ab", "cd", "0"], "c"],
    ["none", ["ab", "0", "c", "def", "1"], "a"],
  ])("assigns scores without IDs to %s", (_, steps, chosen) => {
    const made = new ViewFeed().start();
    for (const step of steps) {
      if (step.startsWith("<")) made.put({ type: "tot_backtrack", reason: "no", to_depth: Number(step.slice(1)) });
      else if (/^\d/.test(step)) made.put({ type: "tot_evaluate", chosen: Number(step), scores: [1, 1] });
      else made.put({ type: "tot_expand", candidates: step.split(""), depth: step < "c" ? 1 : 2 });
    }
    const { tree } = made.turn;
    expect(tree?.thoughts.find(({ id }) => id === tree.chosen)?.text).toBe(chosen);
  });

  it("cuts long texts, ignores long IDs, and counts them", () => {
    const long = "x".repeat(1001);
    const made = new ViewFeed({ maxText: 10 }).start();
    made.put({ type: "tot_expand", candidates: [long, "y"], ids: ["1", "2"] });
    made.put({ type: "tot_expand", candidates: ["z"], ids: ["3"], parent: long });
    made.put({ type: "tot_evaluate", chosen: 0, scores: [1], ids: [long] });
    made.put({ type: "tot_backtrack", reason: long, to_depth: 0 });
    made.put({ type: "tot_backtrack", reason: "no", to_depth: 0, to: long });
    expect(made.turn.tree).toMatchObject({
      thoughts: [{ id: "1", text: "x".repeat(10) }, { id: "2" }],
      backtracks: [{ reason: "x".repeat(10), toDepth: 0 }],
    });
    expect(JSON.stringify(made.turn.tree)).not.toContain("x".repeat(11));
    expect(made.turn.omitted).toBe(5);
  });

  it("keeps thoughts without a score", () => {
    const made = new ViewFeed().start().put({ type: "tot_expand", candidates: ["x", "y"], ids: ["1", "2"] });
    const [first, second] = made.turn.tree?.thoughts ?? [];
    made.put({ type: "tot_evaluate", chosen: 7, scores: [5], ids: ["2", "unknown"] });
    expect(made.turn.tree?.thoughts[0]).toBe(first);
    expect(made.turn.tree?.thoughts[1]).toEqual({ ...second, score: 5, status: "pruned" });
    expect(made.turn.tree).not.toHaveProperty("chosen");
  });

  it("shows the path, and keeps its identity while unchanged", () => {
    const made = new ViewFeed().start().put({ type: "tot_expand", candidates: ["x"], ids: ["1"], parent: "root" });
    expect(made.turn.tree?.path).toEqual([]);
    const judge = (id: string) => made.put({ type: "tot_evaluate", chosen: 0, scores: [1], ids: [id] }).turn.tree?.path;
    made.put({ type: "tot_expand", candidates: ["y", "z"], ids: ["2", "3"], parent: "1" });
    expect(judge("3")).toEqual(["1", "3"]);
    const { path } = made.turn.tree ?? {};
    made.put({ type: "tot_expand", candidates: ["w"], ids: ["4"], parent: "3" });
    expect(made.turn.tree?.path).toBe(path);
    expect(judge("4")).toEqual(["1", "3", "4"]);
    // Faulty input: thoughts that are each other's parents.
    made.put({ type: "tot_expand", candidates: ["x"], ids: ["1"], parent: "4" });
    expect(made.turn.tree?.path).toEqual(["1", "3", "4"]);
  });

  it("has no path if nothing is kept", () => {
    const made = new ViewFeed().start().put({ type: "tot_expand", candidates: ["x", "y"], ids: ["1", "2"] });
    made.put({ type: "tot_evaluate", chosen: 0, scores: [1, 0], ids: ["1", "2"], kept: ["1"] });
    expect(made.turn.tree).toMatchObject({ chosen: "1", path: ["1"] });
    made.put({ type: "tot_evaluate", chosen: 0, scores: [1], ids: ["1"], kept: [] });
    expect(made.turn.tree).toMatchObject({ path: [], thoughts: [{ status: "pruned" }, { status: "pruned" }] });
    expect(made.turn.tree).not.toHaveProperty("chosen");
  });

  it("abandons the branch that was left, up to the level returned to", () => {
    const made = new ViewFeed().start();
    made.put({ type: "tot_expand", candidates: ["a", "b"], ids: ["a", "b"], parent: "root", depth: 1 });
    for (const [parent, id] of ["a:c", "c:d", "d:e", "b:f", "a:g", "g:h", "f:i"].map(
      (pair) => pair.split(":") as [string, string],
    ))
      made.put({ type: "tot_expand", candidates: [id], ids: [id], parent });
    const back = (fields: { to_depth: number; from?: string; to?: string }) =>
      made
        .put({ type: "tot_backtrack", reason: "no", ...fields })
        .turn.tree?.thoughts.flatMap(({ id, status }) => (status === "abandoned" ? [id] : []))
        .join("");
    expect(back({ to_depth: 3, from: "e", to: "d" })).toBe("e");
    expect(back({ to_depth: 3, from: "e", to: "h" })).toBe("de");
    expect(back({ to_depth: 1, from: "e", to: "a" })).toBe("cde");
    // Ancestors above may have other active branches.
    expect(back({ to_depth: 3, from: "e", to: "i" })).toBe("cde");
    made.put({ type: "tot_evaluate", chosen: 0, scores: [1, 0.5], ids: ["a", "c"], kept: ["a"] });
    expect(made.turn.tree?.thoughts.map(({ status }) => status).join(" ")).toBe(
      "kept open abandoned abandoned abandoned open open open open",
    );
    expect(back({ to_depth: 1, from: "f" })).toBe("cdef");
    expect(back({ to_depth: 0, from: "f", to: "root" })).toBe("bcdef");
  });

  it("does not hang on cycles", () => {
    const made = new ViewFeed().start();
    made.put({ type: "tot_expand", candidates: ["a"], ids: ["a"], parent: "b", depth: 5 });
    made.put({ type: "tot_expand", candidates: ["b"], ids: ["b"], parent: "a", depth: 5 });
    made.put({ type: "tot_expand", candidates: ["c"], ids: ["c"], parent: "c", depth: 4 });
    made.put({ type: "tot_backtrack", reason: "no", to_depth: 0, from: "a", to: "c" });
    made.put({ type: "tot_evaluate", chosen: 0, scores: [1], ids: ["a"] });
    expect(made.turn.tree).toMatchObject({
      path: ["b", "a"],
      thoughts: [{ status: "kept" }, { status: "abandoned" }, {}],
    });
  });

  it("is the same for any batches, and its path keeps its identity while unchanged", () => {
    const id = fc.constantFrom("a", "b", "c", "d", "e", "root");
    const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
    const ids = fc.uniqueArray(id, { maxLength: 3 });
    const depth = fc.nat({ max: 4 });
    const event: fc.Arbitrary<object> = fc.oneof(
      fc.record({ type: fc.constant("tot_expand"), ids, parent: maybe(id), depth: maybe(depth) }),
      fc.record({ type: fc.constant("tot_evaluate"), chosen: depth, ids, kept: maybe(ids) }),
      fc.record({ type: fc.constant("tot_backtrack"), to_depth: depth, from: maybe(id), to: maybe(id) }),
    );
    const complete = ({ ids: named = [], ...fields }: { readonly ids?: readonly string[] }): LoomEvent => {
      const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
      return {
        candidates: named,
        scores: named.map(() => 1),
        ids: named,
        reason: "no",
        ...given,
      } as unknown as LoomEvent;
    };
    fc.assert(
      fc.property(fc.array(event, { maxLength: 20 }), (events) => {
        const [whole, made] = [new ViewFeed().start(), new ViewFeed().start()];
        let path: readonly string[] | undefined;
        for (const one of events) {
          whole.put(complete(one));
          const { tree } = made.put(complete(one)).turn;
          if (JSON.stringify(tree?.path) === JSON.stringify(path)) expect(tree?.path).toBe(path);
          path = tree?.path;
          const known = new Set(tree?.thoughts.map((thought) => thought.id));
          expect(path?.every((step) => known.has(step)) ?? true).toBe(true);
          expect(path?.at(-1)).toBe(known.has(tree?.chosen ?? "") ? tree?.chosen : undefined);
        }
        expect(made.turn.tree).toEqual(whole.turn.tree);
      }),
    );
  });

  it("has a constant cost per thought, for any number and depth", () => {
    const count = (thoughts: number): number => {
      const made = new ViewFeed({ maxItems: 20_000 }).start();
      const spy = vi.spyOn(Map.prototype, "get");
      for (let n = 1; n <= thoughts; n++) {
        const id = `t${n}`;
        made.put({ type: "tot_expand", candidates: [id], ids: [id], parent: `t${n - 1}` });
        made.put({ type: "tot_evaluate", chosen: 0, scores: [1], ids: [id] });
        made.put({ type: "tot_backtrack", reason: "no", to_depth: n - 1, from: id, to: `t${n - 1}` });
      }
      const calls = spy.mock.calls.length;
      spy.mockRestore();
      expect(made.turn.tree?.path).toHaveLength(thoughts);
      return calls / thoughts;
    };
    expect(count(4000)).toBeLessThan(1.1 * count(500));
    // From the bottom to the top, again and again.
    const made = new ViewFeed({ maxItems: 20_000 }).start();
    for (let n = 1; n <= 5000; n++)
      made.put({ type: "tot_expand", candidates: ["x"], ids: [`t${n}`], parent: `t${n - 1}` });
    const spy = vi.spyOn(Map.prototype, "get");
    made.put({ type: "tot_backtrack", reason: "no", to_depth: 0, from: "t5000", to: "t1" });
    expect(spy.mock.calls.length).toBeLessThan(5000);
    spy.mockRestore();
  });
});
