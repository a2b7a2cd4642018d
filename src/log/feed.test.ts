import { describe, expect, test, vi } from "vitest";
import { Feed } from "./feed.ts";
import { Page } from "./page.ts";

/** One line per record, so that a page of `n` records has `n` lines. */
function linesOf(from: number, count: number): string {
  return Array.from({ length: count }, (_, index) => `line ${from + index}`).join("\n");
}

function publish(feed: Feed, after: number, count: number, incarnation = "i"): void {
  feed.publish(new Page("s", after, after + count, linesOf(after + 1, count), incarnation));
}

describe("the feed", () => {
  test("keeps pages only while a session is watched", () => {
    const feed = new Feed({ maxFeedBytes: 1000 });
    publish(feed, 0, 1);
    expect(feed.peek("s", 0)).toBeUndefined();
    expect(feed.size).toBe(0);
    const unwatch = feed.watch("s", () => undefined);
    const other = feed.watch("s", () => undefined);
    publish(feed, 1, 1);
    expect([feed.size, ...feed.watched]).toEqual([1, "s"]);
    unwatch();
    expect(feed.peek("s", 1)?.text).toBe("line 2");
    other();
    expect(feed.peek("s", 1)).toBeUndefined();
    expect(feed.size).toBe(0);
  });

  test("keeps no pages for listeners that only want hints", () => {
    const feed = new Feed({ maxFeedBytes: 1000 });
    const listener = vi.fn<() => void>();
    feed.watch("s", listener, { hintsOnly: true });
    publish(feed, 0, 1);
    expect(listener).toHaveBeenCalledTimes(1);
    expect(feed.peek("s", 0)).toBeUndefined();
    const unwatch = feed.watch("s", listener);
    publish(feed, 1, 1);
    expect(feed.peek("s", 1)?.text).toBe("line 2");
    unwatch();
    expect(feed.peek("s", 1)).toBeUndefined();
    unwatch();
    publish(feed, 2, 1);
    expect(listener).toHaveBeenCalledTimes(4);
  });

  test("does not notify listeners that only want commands about records", () => {
    const feed = new Feed({ maxFeedBytes: 1000 });
    const listener = vi.fn<() => void>();
    const unwatch = feed.watch("s", listener, { commandsOnly: true });
    publish(feed, 0, 1);
    expect(listener).not.toHaveBeenCalled();
    expect(feed.peek("s", 0)).toBeUndefined();
    feed.hint("s");
    feed.forget("s");
    expect(listener).toHaveBeenCalledTimes(2);
    unwatch();
    expect(feed.size).toBe(0);
  });

  test("does not join pages of different incarnations", () => {
    const feed = new Feed({ maxFeedBytes: 1000 });
    feed.watch("s", () => undefined);
    publish(feed, 0, 2);
    publish(feed, 2, 1, "another");
    expect(feed.peek("s", 0)).toBeUndefined();
    expect(feed.peek("s", 2)?.incarnation).toBe("another");
  });

  test("returns pages from any position it has, and no other", () => {
    const feed = new Feed({ maxFeedBytes: 1000 });
    feed.watch("s", () => undefined);
    publish(feed, 10, 3);
    publish(feed, 13, 2);
    const peek = (after: number) => {
      const page = feed.peek("s", after);
      return page === undefined ? undefined : [page.after, page.lastId, ...page.texts];
    };
    expect(peek(9)).toBeUndefined();
    expect(peek(10)).toEqual([10, 13, "line 11", "line 12", "line 13"]);
    expect(peek(11)).toEqual([11, 13, "line 12", "line 13"]);
    expect(peek(12)).toEqual([12, 13, "line 13"]);
    expect(peek(13)).toEqual([13, 15, "line 14", "line 15"]);
    expect(peek(14)).toEqual([14, 15, "line 15"]);
    expect(peek(15)).toBeUndefined();
    expect(peek(16)).toBeUndefined();
    expect(feed.peek("t", 10)).toBeUndefined();
  });

  test("returns one shared page to all readers at its start", () => {
    const feed = new Feed({ maxFeedBytes: 1000 });
    feed.watch("s", () => undefined);
    publish(feed, 0, 2);
    expect(feed.peek("s", 0)).toBe(feed.peek("s", 0));
  });

  test("is bounded: drops the oldest pages, but keeps the newest whatever its size", () => {
    // Five pages of one short record.
    const feed = new Feed({ maxFeedBytes: 2000 });
    feed.watch("s", () => undefined);
    for (let after = 0; after < 100; after++) publish(feed, after, 1);
    const held = Array.from({ length: 100 }, (_, after) => feed.peek("s", after)).filter((page) => page !== undefined);
    expect(held.map(({ after }) => after)).toEqual([95, 96, 97, 98, 99]);
    publish(feed, 100, 50);
    expect(feed.peek("s", 99)).toBeUndefined();
    expect(feed.peek("s", 100)?.length).toBe(50);
    publish(feed, 150, 1);
    expect(feed.peek("s", 100)).toBeUndefined();
    expect(feed.peek("s", 150)?.length).toBe(1);
  });

  test("is bounded in total: drops the pages of the session published longest ago", () => {
    const feed = new Feed({ maxFeedBytes: 100_000, maxTotalFeedBytes: 5000 });
    const publishTo = (name: string, after: number): void =>
      feed.publish(new Page(name, after, after + 1, "x".repeat(1000), "i"));
    const stops = ["a", "b", "c", "d"].map((name) => feed.watch(name, () => undefined));
    for (const name of ["a", "b", "c"]) publishTo(name, 0);
    publishTo("a", 1);
    expect(feed.bytes).toBeGreaterThan(4000);
    expect(feed.bytes).toBeLessThanOrEqual(5600);
    publishTo("d", 0);
    // `b` was published before the second page of `a`.
    const kept = ["a", "b", "c", "d"].filter((name) => feed.peek(name, 0) !== undefined);
    expect(kept).toContain("d");
    expect(kept).not.toContain("b");
    expect(feed.bytes).toBeLessThanOrEqual(5000);
    feed.publish(new Page("d", 1, 2, "第".repeat(5000), "i"));
    expect(feed.bytes).toBe(0);
    for (const stop of stops) stop();
  });

  test("splits long appends into pages no larger than a read returns", () => {
    const feed = new Feed({ maxFeedBytes: 10_000, maxPageRecords: 4, maxPageBytes: 26 });
    feed.watch("s", () => undefined);
    publish(feed, 0, 12);
    const pages: Page[] = [];
    for (let page = feed.peek("s", 0); page !== undefined; page = feed.peek("s", page.lastId)) pages.push(page);
    expect(pages.map(({ length }) => length)).toEqual([4, 4, 3, 1]);
    expect(pages.map(({ text }) => text).join("\n")).toBe(linesOf(1, 12));
    expect(pages.every(({ text, incarnation }) => Buffer.byteLength(text) <= 30 && incarnation === "i")).toBe(true);
    expect(feed.peek("s", 4)).toBe(pages[1]);
    // A single record is never split, and the limit counts bytes.
    feed.publish(new Page("s", 12, 15, `${"x".repeat(50)}\n${"第".repeat(9)}\n第`, "i"));
    expect([12, 13, 14].map((after) => feed.peek("s", after)?.length)).toEqual([1, 1, 1]);
  });

  test("has no gaps: a page that does not follow replaces the others", () => {
    const feed = new Feed({ maxFeedBytes: 1000 });
    feed.watch("s", () => undefined);
    publish(feed, 0, 2);
    publish(feed, 5, 1);
    expect(feed.peek("s", 0)).toBeUndefined();
    expect(feed.peek("s", 1)).toBeUndefined();
    expect(feed.peek("s", 5)?.text).toBe("line 6");
  });

  test("drops its pages on request and keeps its listeners", () => {
    const feed = new Feed({ maxFeedBytes: 1000 });
    const listener = vi.fn<() => void>();
    feed.watch("s", listener);
    publish(feed, 0, 2);
    feed.forget("s");
    expect(listener).toHaveBeenCalledTimes(2);
    expect(feed.peek("s", 0)).toBeUndefined();
    publish(feed, 0, 1);
    expect(feed.peek("s", 0)?.text).toBe("line 1");
    feed.forget("not watched");
  });
});

describe("listeners", () => {
  test("are called once per registration", () => {
    const feed = new Feed({ maxFeedBytes: 1000 });
    const listener = vi.fn<() => void>();
    const [first, second] = [feed.watch("s", listener), feed.watch("s", listener)];
    feed.hint("s");
    expect(listener).toHaveBeenCalledTimes(2);
    first();
    first();
    feed.hint("s");
    expect(listener).toHaveBeenCalledTimes(3);
    second();
    feed.hint("s");
    feed.hint("t");
    expect(listener).toHaveBeenCalledTimes(3);
  });

  test("find the new page when called", () => {
    const feed = new Feed({ maxFeedBytes: 1000 });
    const texts: (string | undefined)[] = [];
    feed.watch("s", () => texts.push(feed.peek("s", 0)?.text));
    publish(feed, 0, 1);
    expect(texts).toEqual(["line 1"]);
  });

  test("may remove another listener or register again while called", () => {
    const feed = new Feed({ maxFeedBytes: 1000 });
    const stopped = vi.fn<() => void>();
    let count = 0;
    const again = () => {
      count++;
      stop();
      unwatch();
      unwatch = feed.watch("s", again);
    };
    let unwatch = feed.watch("s", again);
    const stop = feed.watch("s", stopped);
    feed.watch("s", () => undefined);
    feed.hint("s");
    expect([count, stopped.mock.calls.length]).toEqual([1, 0]);
    feed.hint("s");
    expect(count).toBe(2);
  });

  test("that unregister twice do not affect later ones", () => {
    const feed = new Feed({ maxFeedBytes: 1000 });
    const unwatch = feed.watch("s", () => undefined);
    unwatch();
    feed.watch("s", () => undefined);
    unwatch();
    publish(feed, 0, 1);
    expect(feed.peek("s", 0)).toBeDefined();
  });

  test("that throw cause a warning and do not stop the others", () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    try {
      const feed = new Feed({ maxFeedBytes: 1000 });
      const error = new Error("broken");
      feed.watch("s", () => {
        throw error;
      });
      const listener = vi.fn<() => void>();
      feed.watch("s", listener);
      publish(feed, 0, 1);
      expect(listener).toHaveBeenCalledTimes(1);
      expect(warn.mock.calls).toEqual([[error]]);
    } finally {
      warn.mockRestore();
    }
  });
});
