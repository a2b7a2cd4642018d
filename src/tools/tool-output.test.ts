import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createToolRecorder, type ToolRecorder, run, toolOf } from "../../test/tool-recorder.ts";

describe("ToolOutput", () => {
  const contents = (host: ToolRecorder): string[] =>
    host.events.flatMap((event) => (event.type === "tool_output" ? [event.content] : []));

  it("splits printed text into events between characters, and truncates it at the limit", async () => {
    const host = createToolRecorder();
    const text = "x" + "🙂".repeat(40_000);
    await run(
      toolOf((_input, { print }) => print(text), { maxPrintedCharacters: 60_000 }),
      host,
    );
    const pieces = contents(host);
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThanOrEqual(32 * 1024);
    expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
    expect(pieces.join("")).toBe(`${text.slice(0, 59_999)}\n[truncated: a call can print at most 60000 characters]\n`);
  });

  it("joins surrogate pairs that were printed in halves", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: fc.constantFrom("a", "龍", "🙂") }),
        fc.array(fc.nat(8), { minLength: 1 }),
        async (text, sizes) => {
          const host = createToolRecorder();
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
    const host = createToolRecorder();
    await run(
      toolOf((_input, { print }) => print("half \ud83d")),
      host,
    );
    expect(contents(host).join("")).toBe("half \ufffd");
  });

  it("truncates once, and writes nothing after that", async () => {
    const host = createToolRecorder();
    await run(
      toolOf(
        (_input, { print }) => {
          for (let i = 0; i < 10; i++) print("abcd");
        },
        { maxPrintedCharacters: 10 },
      ),
      host,
    );
    expect(contents(host)).toEqual(["abcd", "abcd", "ab", "\n[truncated: a call can print at most 10 characters]\n"]);
  });

  it("truncates after the maximum number of events", async () => {
    const host = createToolRecorder();
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
    expect(contents(host)).toEqual(["a", "a", "a", "\n[truncated: a call can print at most 5 events]\n"]);
    expect(host.events.length).toBeLessThan(10);
  });

  it("waits for the log, keeps the order, and writes everything before tool_end", async () => {
    let isFull = true;
    const waiting: (() => void)[] = [];
    const host = createToolRecorder({
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
    // The budget is used up, and the rest waits.
    expect(before.length).toBeLessThan(64 * 1024);
    expect(host.types()).not.toContain("tool_end");
    isFull = false;
    for (const resolve of waiting) resolve();
    await done;
    expect(contents(host).join("")).toBe(`${text}end`);
    // While waiting, printed pieces are joined and only the latest progress is kept.
    expect(host.events.length).toBeLessThan(300);
    expect(host.events.filter(({ type }) => type === "tool_progress")).toHaveLength(1);
    expect(host.types().at(-1)).toBe("tool_end");
  });

  it("measures each small piece once", async () => {
    const host = createToolRecorder({ ready: () => turn() });
    const measured = vi.spyOn(Buffer, "byteLength");
    onTestFinished(() => measured.mockRestore());
    const count = 100_000;
    await run(
      toolOf((_input, { print }) => {
        for (let i = 0; i < count; i++) print("x");
      }),
      host,
    );
    expect(contents(host).join("")).toHaveLength(count);
    const characters = measured.mock.calls.reduce((sum, [text]) => sum + (text as string).length, 0);
    // Measuring the joined text after each piece would take more than a billion.
    expect(characters).toBeLessThan(3 * count);
  });

  it("ignores invalid and repeated progress", async () => {
    const host = createToolRecorder();
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
