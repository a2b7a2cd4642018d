import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { createReceiver, type MessagePart } from "../../client/index.ts";
import type { ThinkingPart } from "../../client/view.ts";
import { chooseRows, extendToEarlierRows, groupParts, hasPart, rangeAroundRow, ROW_LIMITS } from "./group-parts.ts";
import { MessageItem } from "./message-item.tsx";

const think = (key: string): ThinkingPart => ({
  type: "thinking",
  key,
  text: "",
  channel: "thought",
  isComplete: true,
});
const write = (key: string): MessagePart => ({ type: "text", key, text: "", format: "markdown", isComplete: true });

describe("groupParts", () => {
  it("groups only consecutive thoughts", () => {
    const few = ["a", "b", "c"].map(think);
    expect(groupParts([...few, write("d")])).toEqual([...few, write("d")]);
    const many = [...few, think("d")];
    expect(groupParts([write("x"), ...many, write("y"), think("z")])).toEqual([
      write("x"),
      { type: "thoughts", key: "thoughts a", parts: many },
      write("y"),
      think("z"),
    ]);
  });

  it("groups the parts of each superseded attempt, where the next one begins", () => {
    const old = (part: MessagePart, supersededBy = 2): MessagePart => ({ ...part, supersededBy });
    const parts = [old(think("a")), write("tool"), old(write("b")), old(write("c"), 3), write("d")];
    expect(groupParts(parts)).toEqual([
      write("tool"),
      { type: "superseded", key: "superseded 2", parts: [parts[0], parts[2]] },
      { type: "superseded", key: "superseded 3", parts: [parts[3]] },
      write("d"),
    ]);
    expect(groupParts(parts).findIndex((row) => hasPart(row, "a"))).toBe(1);
  });

  it("keeps all parts in order, with unique row keys", () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 30 }), (kinds) => {
        const parts = kinds.map((isThought, index) => (isThought ? think(`${index}`) : write(`${index}`)));
        const rows = groupParts(parts);
        const flat = rows.flatMap((row): readonly MessagePart[] => ("parts" in row ? row.parts : [row]));
        expect(flat.every((part, index) => part === parts[index])).toBe(true);
        expect(flat).toHaveLength(parts.length);
        expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
      }),
    );
  });
});

describe("chooseRows", () => {
  it("renders few rows completely and limits many", () => {
    expect([0, 1, 100, 149].map((count) => chooseRows(count).first)).toEqual([0, 0, 0, 0]);
    expect([150, 199, 200, 10_000].map((count) => chooseRows(count).first)).toEqual([50, 50, 100, 9900]);
    fc.assert(
      fc.property(fc.nat(), (count) => {
        const { first, end } = chooseRows(count);
        expect(end).toBe(count);
        expect(count - first).toBeLessThan(ROW_LIMITS.shown + ROW_LIMITS.step);
        expect(chooseRows(count + 1).first).toBeGreaterThanOrEqual(first);
      }),
    );
  });

  it("keeps requested rows", () => {
    const range = extendToEarlierRows(chooseRows(10_000), 10_000);
    expect(chooseRows(10_000, range)).toEqual({ first: 9850, end: 10_000 });
    expect(chooseRows(20_000, range)).toEqual({ first: 9850, end: 20_000 });
    expect(chooseRows(60, extendToEarlierRows({ first: 10, end: 60 }, 60))).toEqual({ first: 0, end: 60 });
  });

  it("renders the rows around a requested one", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20_000 }), fc.nat(), (count, at) => {
        const row = at % count;
        const before = chooseRows(count);
        const range = rangeAroundRow(row, before, count);
        const { first, end } = range === undefined ? before : chooseRows(count, range);
        expect(row >= first && row < end).toBe(true);
        expect(end - first).toBeLessThanOrEqual(2 * (ROW_LIMITS.shown + ROW_LIMITS.step));
      }),
    );
    expect(rangeAroundRow(9950, chooseRows(10_000), 10_000)).toBeUndefined();
  });

  it("renders the last rows and offers the earlier ones", () => {
    const parts = Array.from({ length: 10_000 }, (_, index): MessagePart => ({
      type: "image",
      key: `p${index}`,
      url: `x:${index}`,
    }));
    const message = {
      messageId: "m",
      role: "assistant",
      thinkingContent: "",
      mainContent: "",
      toolCalls: [],
      dataBlocks: [],
      isStreaming: true,
      hasError: false,
      metadata: { requestId: "", startTime: 0 },
      parts,
    } as const;
    const place = { receiver: createReceiver(), sessionId: "s", turnKey: "t", runId: "r", isLive: true };
    const shown = renderToStaticMarkup(createElement(MessageItem, { ...place, message }));
    expect(shown.match(/data-part="/g)).toHaveLength(ROW_LIMITS.shown);
    expect(shown).toContain('data-part="p9999"');
    expect(shown).toContain("Show earlier (9,900)");
  });
});
