import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { record, type Recording, run, toolOf } from "../../test/tool-recorder.ts";

describe("what a tool prints", () => {
  const contents = (host: Recording): string[] =>
    host.events.flatMap((event) => (event.type === "tool_output" ? [event.content] : []));

  it("is split into events, never within a character, and cut at its limit", async () => {
    const host = record();
    const text = "x" + "🙂".repeat(40_000);
    await run(
      toolOf((_input, { print }) => print(text), { maxPrintedCharacters: 60_000 }),
      host,
    );
    const pieces = contents(host);
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThanOrEqual(32 * 1024);
    expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
    expect(pieces.join("")).toBe(`${text.slice(0, 59_999)}\n[cut: a call may print 60000 characters]\n`);
  });

  it("is whole characters, however they were cut", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: fc.constantFrom("a", "龍", "🙂") }),
        fc.array(fc.nat(8), { minLength: 1 }),
        async (text, sizes) => {
          const host = record();
          const tool = toolOf((_input, { print }) => {
            for (let at = 0, step = 0; at < text.length; step++) {
              const size = (sizes[step % sizes.length] ?? 0) + (step % 2);
              print(text.slice(at, at + size));
              at += size;
            }
          });
          await run(tool, host);
          expect(contents(host).join("")).toBe(text);
        },
      ),
    );
    const host = record();
    await run(
      toolOf((_input, { print }) => print("half \ud83d")),
      host,
    );
    expect(contents(host).join("")).toBe("half \ufffd");
  });

  it("is cut once, and nothing follows", async () => {
    const host = record();
    await run(
      toolOf(
        (_input, { print }) => {
          for (let i = 0; i < 10; i++) print("abcd");
        },
        { maxPrintedCharacters: 10 },
      ),
      host,
    );
    expect(contents(host)).toEqual(["abcd", "abcd", "ab", "\n[cut: a call may print 10 characters]\n"]);
  });

  it("is cut after so many events", async () => {
    const host = record();
    const tool = toolOf(
      async (_input, { print, report, ready }) => {
        for (let i = 0; i < 10; i++) {
          print("a");
          report(i);
          await ready();
        }
      },
      { maxEvents: 5 },
    );
    await run(tool, host);
    expect(contents(host)).toEqual(["a", "a", "a", "\n[cut: a call may print 5 events]\n"]);
    expect(host.events.length).toBeLessThan(10);
  });

  it("waits for the log, in order, and all of it is there before the end", async () => {
    let isFull = true;
    const waiting: (() => void)[] = [];
    const host = record({
      ready: () => (isFull ? new Promise<void>((resolve) => waiting.push(resolve)) : Promise.resolve()),
    });
    const text = Array.from({ length: 200_000 }, (_, index) => String(index % 10)).join("");
    const done = run(
      toolOf((_input, { print, report }) => {
        for (let at = 0; at < text.length; at += 100) print(text.slice(at, at + 100));
        for (let i = 0; i <= 100; i++) report(i);
        print("end");
      }),
      host,
    );
    await turn();
    const before = contents(host).join("");
    // As much as may be written at once, and not all.
    expect(before.length).toBeLessThan(64 * 1024);
    expect(host.types()).not.toContain("tool_end");
    isFull = false;
    for (const resolve of waiting) resolve();
    await done;
    expect(contents(host).join("")).toBe(`${text}end`);
    // While it waits, pieces are put together, and of the progress only the latest is left.
    expect(host.events.length).toBeLessThan(300);
    expect(host.events.filter(({ type }) => type === "tool_progress")).toHaveLength(1);
    expect(host.types().at(-1)).toBe("tool_end");
  });

  it("costs no more than its length, however small the pieces", async () => {
    const measure = async (count: number): Promise<number> => {
      const host = record({ ready: () => turn() });
      const start = performance.now();
      await run(
        toolOf((_input, { print }) => {
          for (let i = 0; i < count; i++) print("x");
        }),
        host,
      );
      expect(contents(host).join("")).toHaveLength(count);
      return performance.now() - start;
    };
    const best = async (count: number): Promise<number> =>
      Math.min(await measure(count), await measure(count), await measure(count));
    // Eight times as much would take 64 times as long if each piece were joined to all before it anew.
    expect((await best(400_000)) / (await best(50_000))).toBeLessThan(30);
  });

  it("reports what makes sense", async () => {
    const host = record();
    await run(
      toolOf((_input, { report }) => {
        for (const progress of [-5, 0, 0, Number.NaN, 30, 30, 400]) report(progress);
        report(100, "m".repeat(2000));
      }),
      host,
    );
    const progress = host.events.flatMap((event) => (event.type === "tool_progress" ? [event.progress] : []));
    expect(progress).toEqual([0, 30, 100, 100]);
  });
});
