// Grouping by day, and highlighting of matches.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SessionListRow } from "../store/session-rows.ts";
import { groupByDay } from "./group-by-day.ts";
import { markMatch } from "./mark-match.ts";

const NOW = new Date(2026, 2, 30, 0, 30).getTime();
const row = (updatedAt: number): SessionListRow => ({
  session_id: String(updatedAt),
  root_id: String(updatedAt),
  updated_at: updatedAt,
  created_at: 0,
  first_event_id: 1,
  last_event_id: 0,
  bytes: 0,
  cursor: "",
});

describe("groupByDay", () => {
  it("uses calendar days", () => {
    const at = (day: number, hour: number, month = 2): number => new Date(2026, month, day, hour).getTime();
    const rows = [NOW, at(29, 23), at(29, 0), at(28, 23), at(23, 0), at(22, 23), at(5, 0, 1), at(4, 0, 1)];
    const groups = groupByDay(rows.map(row), NOW);
    expect(groups.map(({ day, rows: held }) => [typeof day === "string" ? day : day.getMonth(), held.length])).toEqual([
      ["today", 1],
      ["yesterday", 2],
      ["week", 2],
      ["month", 1],
      [1, 2],
    ]);
  });

  it("keeps every row once", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: NOW + 1e9 })), (times) => {
        const groups = groupByDay(times.map(row), NOW);
        expect(groups.flatMap(({ rows }) => rows)).toHaveLength(times.length);
        expect(new Set(groups.map(({ day }) => String(day))).size).toBe(groups.length);
      }),
    );
  });
});

describe("markMatch", () => {
  const mark = (text: string, query: string): string =>
    markMatch(text, query)
      .map(({ text: piece, isMatch }) => (isMatch ? `[${piece}]` : piece))
      .join("");

  it.each([
    ["The Graph of thoughts", "graph", "The [Graph] of thoughts"],
    ["graph of graphs", "graph", "[graph] of [graph]s"],
    ["a graph, a tree", "tree graph", "a [graph], a [tree]"],
    ["tree graph, tree", "tree graph", "[tree graph], tree"],
    ["知识库与图", "图", "知识库与[图]"],
    ["1 + 1 (.*)", "(.*)", "1 + 1 [(.*)]"],
    ["nothing", " ", "nothing"],
  ])("marks %j for %j as %j", (text, query, expected) => expect(mark(text, query)).toBe(expected));

  it("keeps the text for any query", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (text, query) => {
        expect(
          markMatch(text, query)
            .map((piece) => piece.text)
            .join(""),
        ).toBe(text);
      }),
    );
  });
});
