import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chooseThoughts, type JudgedThought } from "./choose-thoughts.ts";

const judge = (...scores: number[]): readonly JudgedThought[] =>
  scores.map((score, index) => ({ id: String(index + 1), score, isSolved: false }));

describe("chooseThoughts", () => {
  const breadth = { strategy: "breadth", evaluate: "value", beam: 2, threshold: 0.1, maxDepth: 3 } as const;
  const depth = { ...breadth, strategy: "depth" } as const;

  it("in breadth has a beam, spares and dead ends", () => {
    expect(chooseThoughts(judge(0.2, 0.9, 0.05, 0.2, 0.5), 1, breadth)).toEqual({
      chosen: 1,
      solved: undefined,
      continuing: ["2", "5"],
      kept: ["2", "5"],
      statuses: { "1": "spare", "2": "kept", "3": "pruned", "4": "spare", "5": "kept" },
      hasSpares: true,
    });
    expect(chooseThoughts(judge(0.2, 0.9, 0.5), 3, breadth)).toMatchObject({ hasSpares: false });
  });

  it("in depth continues with one thought and keeps others open", () => {
    expect(chooseThoughts(judge(0.2, 0.9, 0.05), 1, depth)).toMatchObject({
      continuing: ["2"],
      kept: ["2", "1"],
      statuses: { "1": "open", "2": "kept", "3": "pruned" },
    });
    expect(chooseThoughts(judge(0.2, 0.9), 3, depth)).toMatchObject({ kept: ["2"], statuses: { "1": "pruned" } });
  });

  it("does not prune a thought because it has no votes", () => {
    const votes = { evaluate: "vote", threshold: 0.9 } as const;
    expect(chooseThoughts(judge(0, 1, 0), 1, { ...breadth, ...votes })).toMatchObject({
      kept: ["2", "1"],
      statuses: { "3": "spare" },
    });
    expect(chooseThoughts(judge(0, 1, 0), 1, { ...depth, ...votes })).toMatchObject({
      continuing: ["2"],
      statuses: { "1": "open", "3": "open" },
    });
  });

  it("prunes a value of 0 even if the threshold is 0", () => {
    expect(chooseThoughts(judge(0, 0.01), 1, { ...breadth, threshold: 0 })).toMatchObject({ kept: ["2"] });
  });

  it("keeps its invariants for any scores", () => {
    const thought = fc.record({ score: fc.double({ min: 0, max: 1, noNaN: true }), isSolved: fc.boolean() });
    const search = fc.record({
      strategy: fc.constantFrom("breadth" as const, "depth" as const),
      evaluate: fc.constantFrom("value" as const, "vote" as const),
      beam: fc.integer({ min: 1, max: 6 }),
      threshold: fc.double({ min: 0, max: 1, noNaN: true }),
      maxDepth: fc.integer({ min: 1, max: 3 }),
    });
    fc.assert(
      fc.property(fc.array(thought, { minLength: 1, maxLength: 12 }), search, (thoughts, settings) => {
        const judged = thoughts.map((one, index) => ({ ...one, id: String(index) }));
        const { chosen, solved, continuing, kept, statuses, hasSpares } = chooseThoughts(judged, 1, settings);
        const isVote = settings.evaluate === "vote";
        const find = (id: string): JudgedThought | undefined => judged.find((one) => one.id === id);
        expect(Object.keys(statuses)).toHaveLength(judged.length);
        expect(solved !== undefined).toBe(judged.some(({ isSolved }) => isSolved));
        if (solved !== undefined) expect([judged[chosen]?.id, continuing]).toEqual([solved, [solved]]);
        else for (const { score } of judged) expect(score).toBeLessThanOrEqual(judged[chosen]?.score ?? -1);
        for (const id of continuing) expect(kept).toContain(id);
        for (const id of kept) {
          const { score = 0, isSolved } = find(id) ?? {};
          if (!isVote) expect(isSolved === true || (score > 0 && score >= settings.threshold)).toBe(true);
          expect(["kept", "open"]).toContain(statuses[id]);
        }
        if (settings.strategy === "breadth") expect(kept.length).toBeLessThanOrEqual(settings.beam);
        expect(hasSpares).toBe(Object.values(statuses).includes("spare"));
        for (const { id, score, isSolved } of judged)
          if (statuses[id] === "pruned" && settings.maxDepth > 1)
            expect(!isVote && !isSolved && (score === 0 || score < settings.threshold)).toBe(true);
      }),
    );
  });
});
