// How much of a message is in the document.
import fc from "fast-check";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { createReceiver, type MessagePart } from "../../client/index.ts";
import { chooseRows, ROW_LIMITS, wishEarlier, wishRow } from "./choose-rows.ts";
import { MessageItem } from "./message-item.tsx";

describe("the rows of a message", () => {
  it("are all there while they are few, and bounded however many come", () => {
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

  it("are kept once somebody asked for them", () => {
    const wish = wishEarlier(chooseRows(10_000), 10_000);
    expect(chooseRows(10_000, wish)).toEqual({ first: 9850, end: 10_000 });
    expect(chooseRows(20_000, wish)).toEqual({ first: 9850, end: 20_000 });
    expect(chooseRows(60, wishEarlier({ first: 10, end: 60 }, 60))).toEqual({ first: 0, end: 60 });
  });

  it("are those around one that is asked for, and no more", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20_000 }), fc.nat(), (count, at) => {
        const row = at % count;
        const before = chooseRows(count);
        const wish = wishRow(row, before, count);
        const { first, end } = wish === undefined ? before : chooseRows(count, wish);
        expect(row >= first && row < end).toBe(true);
        expect(end - first).toBeLessThanOrEqual(2 * (ROW_LIMITS.shown + ROW_LIMITS.step));
      }),
    );
    expect(wishRow(9950, chooseRows(10_000), 10_000)).toBeUndefined();
  });

  it("are the last ones, and the others are offered", () => {
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
    expect(shown).toContain("Show earlier parts (9,900)");
  });
});
