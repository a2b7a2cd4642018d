import { measureColumns } from "../fit-text.ts";
import { stripVTControlCharacters, styleText } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createLoomReceiver, type SessionView, type TurnView } from "../../client/index.ts";
import type { AnyEvent } from "../../protocol/index.ts";
import { composeChatRows } from "../chat/chat-rows.ts";
import { InputEditor } from "../chat/input-editor.ts";
import { formatMarkdown } from "./markdown-rows.ts";
import { PlainTurns } from "../chat/plain-turns.ts";
import { formatThoughts } from "./thought-rows.ts";
import { type PaintText, paintRow } from "./text-rows.ts";
import { TurnRows } from "./turn-rows.ts";
import { TurnWriter } from "./turn-writer.ts";

const plain: PaintText = (_style, text) => text;
const colours: PaintText = (style, text) => styleText(style, text, { validateStream: false });

function createView(...events: readonly object[]): SessionView {
  const receiver = createLoomReceiver({ notify: "sync" });
  const source = receiver.open({ dialect: "loom" });
  events.forEach((event, index) => {
    const { at = "n" } = event as { readonly at?: string };
    const envelope = { session_id: "s", run_id: "r", event_id: index + 1, ts: 1000 + index, node_id: at };
    source.pushRecord({ envelope, event: event as AnyEvent });
  });
  return receiver.getSnapshot().sessions[0] as SessionView;
}

const START = { type: "run_start", agent: "react", input: "Hello\nworld", message: "Hello\nworld" };
const chunk = (content: string) => ({ type: "message_chunk", content });

function formatTurn(view: SessionView, width: number, paint = plain): readonly string[] {
  const rows = new TurnRows({ width, paint });
  return view.turns.flatMap((turn) => {
    const { settled, open } = new TurnWriter().next(turn, view.todoLists, rows, turn.status !== "running");
    return [...settled, ...open];
  });
}

function compose(turnRows: readonly string[], { width = 79, height = 23, text = "" } = {}) {
  const editor = new InputEditor();
  editor.set(text);
  return composeChatRows({
    width,
    height,
    paint: plain,
    turnRows,
    liveTurn: undefined,
    waiting: [],
    title: "react · offline · new session",
    notice: undefined,
    prompt: "› ",
    input: (columns) => editor.layOut(columns),
    completions: [],
    files: [],
    now: 0,
  });
}

describe("formatMarkdown", () => {
  const format = (text: string, width = 40): readonly string[] =>
    formatMarkdown(text, width).map((row) => paintRow(row, plain));

  it("shows headings, lists, code, quotes and tables", () => {
    const text =
      "# Title\n\nSome **bold** and `code`.\n\n- one\n- two\n  1. deep\n- [x] done\n\n> quoted\n\n```js\nlet a;\n```\n\n| a | 名 |\n|---|---|\n| 1 | 你好 |\n";
    expect(format(text)).toEqual([
      "Title",
      "",
      "Some bold and code.",
      "",
      "• one",
      "• two",
      "  1. deep",
      "• [x] done",
      "",
      "│ quoted",
      "",
      "  let a;",
      "",
      "a │ 名",
      "──┼─────",
      "1 │ 你好",
    ]);
  });

  it("wraps at spaces, and Chinese between any two characters", () => {
    expect(format("one two three four", 9)).toEqual(["one two", "three", "four"]);
    expect(format("你好世界你好世界", 7)).toEqual(["你好世", "界你好", "世界"]);
    expect(format("abcdefghijkl", 5)).toEqual(["abcde", "fghij", "kl"]);
  });

  it("fits any text into any width, and contains no escape sequence of the text", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary", maxLength: 200 }),
      fc
        .array(fc.constantFrom("# ", "- ", "> ", "`", "**", "|", "a", "你", "\n", "\u001B[2J", "\u009B", "1. "), {
          maxLength: 80,
        })
        .map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(text, fc.integer({ min: 10, max: 60 }), (given, width) => {
        for (const row of formatMarkdown(given, width)) {
          const shown = paintRow(row, plain);
          expect(shown).not.toMatch(/\p{Cc}/u);
          expect(measureColumns(shown)).toBeLessThanOrEqual(width);
        }
      }),
    );
  });
});

describe("TurnRows", () => {
  it("shows a turn with thinking, a tool and its end", () => {
    const view = createView(
      START,
      { type: "tool_call", call_id: "c", name: "calculator", arguments: { expression: "6*7" } },
      { type: "tool_start", call_id: "c", name: "calculator" },
      { type: "tool_end", call_id: "c", name: "calculator", result: "42", duration_ms: 5 },
      chunk("It is **42**."),
      { type: "run_end", status: "completed" },
      { type: "reply", reply: "It is **42**." },
    );
    expect(formatTurn(view, 40)).toEqual([
      "› Hello",
      "  world",
      "",
      '→ calculator {"expression":"6*7"}',
      "← 42 (5 ms)",
      "",
      "It is 42.",
      expect.stringMatching(/^completed/) as string,
      "",
    ]);
  });

  it("shows once why a run failed", () => {
    const end = { type: "run_end", status: "error", reason: "no model", code: "model_failed" };
    const error = { type: "error", message: "no model", code: "model_failed" };
    const cases = [
      [createView(START, error, end), "✗ no model (model_failed)", "error: no model (model_failed)"],
      [createView(START, end), "the run failed: no model (model_failed)", "error in 1 ms: no model (model_failed)"],
    ] as const;
    for (const [view, row, line] of cases) {
      const lines = view.turns.flatMap((turn) => new PlainTurns().finish(turn, view.todoLists));
      expect(formatTurn(view, 60).filter((each) => each.includes("no model"))).toEqual([row]);
      expect(lines.filter((each) => each.includes("no model"))).toEqual([line]);
    }
  });

  it("says in plain mode that an answer begins again", () => {
    const turns = new PlainTurns();
    const read = (...events: readonly object[]) => {
      const view = createView(START, { type: "node_enter", id: "answer" }, chunk("One\nTwo"), ...events);
      return view.turns.flatMap((turn) => turns.describe(turn, view.todoLists));
    };
    expect(read()).toEqual(["you: Hello", "you: world", "assistant: One"]);
    const restart = [
      { type: "node_exit", id: "answer", result: { Err: "interrupted" } },
      { type: "error", message: "ended", code: "interrupted", recoverable: true, attempt: 2 },
      { type: "node_enter", id: "answer", supersedes: "n", attempt: 2, at: "m" },
      { ...chunk("One\nTwo\nThree\n"), at: "m" },
    ];
    const note = "interrupted; running the step again (attempt 2)";
    expect(read(...restart)).toEqual([note, "assistant: One", "Two", "Three"]);
    expect(read(...restart)).toEqual([]);
    const [turn] = createView(START, ...restart).turns;
    const later = new PlainTurns();
    expect(turn && [...later.describe(turn, []), ...later.finish(turn, [])]).not.toContain(note);
  });

  it("removes escape sequences of models and tools everywhere", () => {
    const evil = "\u001B]0;owned\u0007\u001B[2J\u009B31m\u202Ex\r";
    const view = createView(
      { ...START, input: evil, message: evil },
      { type: "reasoning_chunk", content: evil },
      { type: "tool_call", call_id: "c", name: evil, arguments: { [evil]: evil } },
      { type: "tool_start", call_id: "c", name: evil },
      { type: "tool_end", call_id: "c", name: evil, result: evil },
      { type: "data", data_type: "dataframe", data: { name: evil, columns: [evil], rows: [[evil]] } },
      { type: "image", url: evil, alt: evil },
      { type: "todo_list", list_id: "l", title: evil, items: [{ id: "i", text: evil, completed: false }] },
      { type: "retrieval_complete", doc_count: 1, sources: [{ title: evil }] },
      { type: "tot_expand", candidates: [evil], ids: ["t"], depth: 1 },
      chunk(`# ${evil}\n\n\`\`\`\n${evil}\n\`\`\`\n[${evil}](${evil})`),
      { type: "error", message: evil },
      { type: "run_end", status: "error", reason: evil, code: evil },
    );
    const [turn] = view.turns;
    const thoughts = turn === undefined ? [] : (formatThoughts(turn, 60, colours) ?? []);
    const rows = [...formatTurn(view, 60, colours), ...thoughts];
    expect(rows.length).toBeGreaterThan(10);
    for (const row of rows) {
      // Only styles remain.
      expect(row.replaceAll(/\p{Cc}\[\d+m/gu, "")).not.toMatch(/[\p{Cc}\u202E]/u);
      expect(measureColumns(stripVTControlCharacters(row))).toBeLessThanOrEqual(60);
    }
  });
});

it("shows the result of a task without the mark of its heading, unless it is the name of the task", () => {
  const task = (label: string, summary: string) => ({ id: label[0], label, status: "complete", summary });
  const nodes = [task("Draft", "## Draft of it\nMore."), task("End", "# End")];
  const turn = { graph: { nodes, edges: [] } } as unknown as TurnView;
  expect(formatThoughts(turn, 40, plain)).toEqual([
    "Graph of 2 tasks",
    "● D Draft",
    "    Draft of it More.",
    "● E End",
  ]);
});

describe("composeChatRows", () => {
  it("fits a long live turn into 80 x 24, and says how much is above", () => {
    const view = createView(START, chunk(Array.from({ length: 60 }, (_, index) => `- item ${index}`).join("\n")));
    const { rows, cursor } = compose(formatTurn(view, 79));
    expect(rows).toHaveLength(23);
    expect(rows[0]).toBe("… 44 lines above");
    expect(rows.slice(-5)).toEqual(["• item 58", "• item 59", "", "react · offline · new session", "› "]);
    expect(cursor).toEqual({ row: 22, column: 2 });
  });

  it("has the cursor inside the rows for any input and window", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 300 });
    const size = { width: fc.integer({ min: 10, max: 120 }), height: fc.integer({ min: 4, max: 50 }) };
    fc.assert(
      fc.property(text, fc.record(size), fc.nat(80), (given, window, count) => {
        const turn = Array.from({ length: count }, (_, index) => `row ${index}`);
        const { rows, cursor } = compose(turn, { ...window, text: given });
        expect(rows.length).toBeLessThanOrEqual(window.height);
        expect(cursor.row).toBeLessThan(rows.length);
        expect(cursor.column).toBeLessThanOrEqual(window.width);
        for (const row of rows) expect(measureColumns(row)).toBeLessThanOrEqual(window.width);
      }),
    );
  });
});
