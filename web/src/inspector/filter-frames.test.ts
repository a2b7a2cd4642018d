// Filtering of frames.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createLongRun } from "../../../test/page/long-run.ts";
import { countTypes, filterFrames, isFiltering, type ListedFrame, NO_FILTER } from "./filter-frames.ts";
import { findType } from "./use-recording.ts";

describe("filterFrames", () => {
  const target = { turn: "t", kind: "part", key: "1" } as const;
  const frames: ListedFrame[] = [
    { type: "a", text: "One", target },
    { type: "b", text: "two" },
    { type: "a", text: "oNe more", target: { ...target, key: "2" } },
  ];
  const frameAt = (index: number): ListedFrame | undefined => frames[index];

  it("filters by type, text and element", () => {
    const find = (filter: Partial<typeof NO_FILTER>): number[] => filterFrames(frameAt, 3, { ...NO_FILTER, ...filter });
    expect([
      find({}),
      find({ type: "a" }),
      find({ text: " ONE" }),
      find({ target }),
      find({ type: "b", text: "one" }),
    ]).toEqual([[0, 1, 2], [0, 2], [0, 2], [0], []]);
    expect([
      isFiltering(NO_FILTER),
      isFiltering({ ...NO_FILTER, text: " " }),
      isFiltering({ ...NO_FILTER, target }),
    ]).toEqual([false, false, true]);
    expect(countTypes(frameAt, 3)).toEqual([
      ["a", 2],
      ["b", 1],
    ]);
  });

  it("finds the same incrementally as at once", () => {
    const { texts } = createLongRun(300);
    const all = (index: number): ListedFrame => ({ type: findType(texts[index] ?? ""), text: texts[index] ?? "" });
    const filter = { ...NO_FILTER, type: "message_chunk" };
    fc.assert(
      fc.property(fc.nat(300), (middle) => {
        const first = filterFrames(all, middle, filter);
        expect(filterFrames(all, 300, filter, first, middle)).toEqual(filterFrames(all, 300, filter));
      }),
      { numRuns: 20 },
    );
  });
});
