import fc from "fast-check";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { createReceiver, type MessagePart } from "../../client/index.ts";
import { chooseRows, ROW_LIMITS, extendToEarlierRows, rangeAroundRow } from "./choose-rows.ts";
import { MessageItem } from "./message-item.tsx";

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
