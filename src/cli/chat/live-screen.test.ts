import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TestTerminal } from "../../../test/test-terminal.ts";
import { LiveScreen } from "./live-screen.ts";
import stringWidth from "string-width";
import { measureColumns } from "../fit-text.ts";
import { InputEditor } from "./input-editor.ts";
import { paintRow, splitGraphemes, wrapRows } from "../screen/text-rows.ts";

describe("LiveScreen", () => {
  it("keeps the printed rows, shows the latest live rows, and puts the cursor into them", () => {
    const rows = (max: number) =>
      fc.array(fc.constantFrom("", "a", "one two", "你好", "x".repeat(19)), { maxLength: max });
    const step = fc.record({ stay: rows(4), live: rows(8).map((all) => [...all, "› input"]), at: fc.nat(8) });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
        const terminal = new TestTerminal(20, 10);
        const screen = new LiveScreen(terminal);
        const kept: string[] = [];
        for (const { stay, live, at } of steps) {
          const cursor = { row: at % live.length, column: at };
          const before = terminal.writes;
          screen.print(stay, live, cursor);
          expect(terminal.writes - before).toBe(1);
          kept.push(...stay);
          expect(terminal.shown.slice(0, kept.length + live.length)).toEqual([...kept, ...live]);
          expect([terminal.row, terminal.column]).toEqual([kept.length + cursor.row, cursor.column]);
        }
        screen[Symbol.dispose]();
        expect(terminal.shown.join("\n").trimEnd()).toBe(kept.join("\n").trimEnd());
      }),
    );
  });

  it.each([
    ["one character", stringWidth],
    ["several", measureColumns],
  ])("leaves no row behind in a terminal that shows an emoji with a skin tone as %s", (_how, measure) => {
    const terminal = new TestTerminal(20, 10, measure);
    const screen = new LiveScreen(terminal);
    const words = "👍🏽👍🏽 ☝🏽 👨‍👩‍👧 क्षि ".repeat(3).trim();
    const editor = new InputEditor();
    editor.insert("ab👍🏽👍🏽c");
    for (let drawn = 0; drawn < 3; drawn++) {
      const rows = wrapRows([{ text: words }], { width: screen.width }).map((row) => paintRow(row, (_s, text) => text));
      const { rows: input, cursor } = editor.layOut(screen.width - 2);
      const live = [...rows, ...input.map((row) => `› ${row}`)];
      screen.print([], live, { row: rows.length + cursor.row, column: cursor.column + 2 });
      expect(terminal.shown.slice(0, live.length)).toEqual(live.map((row) => row.trimEnd()));
      expect([terminal.row, terminal.column]).toEqual([live.length - 1, measure("› ab👍🏽👍🏽c")]);
    }
    screen[Symbol.dispose]();
    expect(terminal.shown.join("")).toBe("");
  });

  it("leaves no row of the narrower window behind when the width changes", () => {
    const terminal = new TestTerminal(20, 10);
    const screen = new LiveScreen(terminal);
    screen.print(["kept"], ["a".repeat(18), "› input"], { row: 1, column: 7 });
    // The terminal wraps the first live row again.
    terminal.columns = 10;
    terminal.lines = ["kept", "a".repeat(10), "a".repeat(8), "› input"].map((line) => splitGraphemes(line).slice());
    [terminal.row, terminal.column] = [3, 7];
    screen.print([], ["aaaa", "› input"], { row: 1, column: 7 });
    expect(terminal.shown.join("\n").trimEnd()).toBe("kept\naaaa\n› input");
    expect([terminal.row, terminal.column]).toEqual([2, 7]);
  });
});
