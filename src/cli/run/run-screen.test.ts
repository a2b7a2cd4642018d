import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { createScreen, readVisibleLines, show } from "../../../test/cli-screen.ts";

const say = (content: string, at = "think-1") => ({ type: "message_chunk", content, id: "think", at });
const think = (content: string) => ({ type: "reasoning_chunk", content, id: "think" });
const RUN = [
  think("Hm. "),
  think("A product."),
  { type: "reasoning_end", id: "think" },
  say("Let me see."),
  { type: "tool_call", call_id: "c", name: "calculator", arguments: { expression: "6*7" } },
  { type: "tool_start", call_id: "c", name: "calculator" },
  { type: "tool_progress", call_id: "c", name: "calculator", progress: 50, message: "half" },
  { type: "tool_end", call_id: "c", name: "calculator", result: "42", is_error: false, duration_ms: 3 },
  say("It is ", "think-2"),
  say("42.", "think-2"),
  { type: "run_end", status: "completed", summary: { duration_ms: 1500, tool_calls: 1, total_tokens: 20 } },
  { type: "reply", reply: "It is 42.", at: "think-2" },
];
/** The records of the process that takes over. */
const RESTART = [
  { type: "node_exit", id: "think", result: { Err: "interrupted" }, at: "think-1" },
  { type: "error", message: "The process ended", code: "interrupted", recoverable: true, attempt: 2 },
  { type: "node_enter", id: "think", supersedes: "think-1", attempt: 2, at: "think-2" },
];
const END = [
  { type: "run_end", status: "completed" },
  { type: "reply", reply: "It is 42.", at: "think-2" },
];

describe("RunScreen", () => {
  test("shows each step on its own line", async () => {
    const { screen, written } = createScreen({ out: 80, err: 80 });
    await show(screen, ...RUN);
    await screen.end();
    expect(readVisibleLines(written.all)).toEqual([
      "Hm. A product.",
      "Let me see.",
      '→ calculator {"expression":"6*7"}',
      "← calculator 42 (3 ms)",
      "It is 42.",
      "completed in 1.5 s, 1 tool call, 20 tokens",
      "",
    ]);
  });

  test("lists the sources that the answer cites", async () => {
    const sources = [1, 2, 3].map((ref) => ({
      title: `T${ref}`,
      ref,
      uri: `${ref}.md`,
      first_line: 2,
      last_line: ref,
    }));
    const run = [
      { type: "retrieval_complete", doc_count: 3, sources },
      say("Said [3"),
      say("] and [1, 9] and [3]."),
      { type: "run_end", status: "completed" },
      { type: "reply", reply: "Said [3] and [1, 9] and [3].", at: "think-1" },
    ];
    const list = "\nSources:\n[3] T3 (3.md, lines 2 to 3)\n[1] T1 (1.md, lines 2 to 1)\n";
    for (const shown of [run, run.filter(({ type }) => type !== "message_chunk")]) {
      const { screen, written } = createScreen({});
      await show(screen, ...shown);
      await screen.end();
      expect(written.out).toBe(`Said [3] and [1, 9] and [3].\n${list}`);
    }
    const { screen, written } = createScreen({ out: 80, err: 80 });
    await show(screen, ...run);
    expect(readVisibleLines(written.all).slice(-6)).toEqual([
      "",
      "Sources:",
      "[3] T3 (3.md, lines 2 to 3)",
      "[1] T1 (1.md, lines 2 to 1)",
      "completed",
      "",
    ]);
  });

  test("says that a call waits for the client", async () => {
    const { screen, written } = createScreen({ out: 80, err: 80 });
    const call = { call_id: "c", name: "locate" };
    const start = { type: "tool_start", ...call, executor: "client" };
    await show(screen, { type: "tool_call", ...call, arguments: {} }, start);
    await screen.end();
    expect(readVisibleLines(written.all)).toContain("→ locate {} (waiting for the client)");
  });

  test("writes only the answer to a pipe", async () => {
    const { screen, written } = createScreen({});
    await show(screen, ...RUN, say("\u001B[1mbold\u001B[0m\r\n", "think-3"));
    await screen.end();
    expect(written.out).toBe("Let me see.\nIt is 42.\n\u001B[1mbold\u001B[0m\r\n");
    expect(written.err).toBe("");
  });

  test("says that the step is run again, and then shows the new answer", async () => {
    const { screen, written } = createScreen({ out: 80, err: 80 });
    await show(screen, say("It i"), ...RESTART, say("It is 42.", "think-2"), ...END);
    await screen.end();
    expect(readVisibleLines(written.all)).toEqual([
      "It i",
      "interrupted; running the step again (attempt 2)",
      "It is 42.",
      "completed",
      "",
    ]);
  });

  test("says that a forked run continues from a checkpoint", async () => {
    const { screen, written } = createScreen({});
    const details = { forked: true };
    await show(
      screen,
      { type: "error", message: "", code: "interrupted", attempt: 2, details },
      say("It is 42.", "think-2"),
      ...END,
    );
    await screen.end();
    expect(written).toMatchObject({ out: "It is 42.\n", err: "continues from a checkpoint\n" });
  });

  test("leaves text that is written again out of a pipe", async () => {
    const { screen, written } = createScreen({});
    await show(screen, say("Let me see.", "a"), { type: "node_exit", id: "think", result: "Ok", at: "a" });
    expect(written.out).toBe("Let me see.");
    await show(screen, say("It"), say(" i"), ...RESTART);
    // A node run that failed is repeated only by a next attempt.
    await show(screen, say("Hm", "b"), { type: "node_exit", id: "think", result: { Err: "overloaded" }, at: "b" });
    await show(screen, { type: "node_enter", id: "think", supersedes: "b", at: "think-2" });
    await show(screen, say("It is 42.", "think-2"), ...END);
    await screen.end();
    expect(written.out).toBe("Let me see.\nIt is 42.\n");
    expect(written.err).toBe("interrupted; running the step again (attempt 2)\n");
  });

  test("writes text to a pipe that no other replaces when the run ends", async () => {
    const { screen, written } = createScreen({});
    await show(screen, say("It"), { type: "node_exit", id: "think", result: { Err: "cancelled" }, at: "think-1" });
    expect(written.out).toBe("");
    await show(screen, { type: "run_end", status: "cancelled" });
    expect(written.out).toBe("It");
  });

  test("keeps line breaks and tabs of the answer", async () => {
    const { screen, written } = createScreen({ out: 80, err: 80 });
    await show(screen, say("if:\r\n\tgo()\u0007\n"));
    await screen.end();
    expect(written.out).toBe("if:\n\tgo()\uFFFD\n");
  });

  test("writes a reply that was not streamed", async () => {
    const { screen, written } = createScreen({});
    await show(screen, say("Looking."), { type: "reply", reply: "{}", at: "act-2" });
    await screen.end();
    expect(written.out).toBe("Looking.\n{}\n");
  });

  test.each([
    ["in the same node run", "think-1"],
    ["in another", "think-2"],
    ["in none", undefined],
  ])("writes a reply that was not streamed after streamed text: %s", async (_where, at) => {
    const { screen, written } = createScreen({});
    const reply = { type: "reply", reply: "I have no answer.", ...(at === undefined ? {} : { at }) };
    await show(screen, say("Let me check."), reply);
    await screen.end();
    expect(written.out).toBe("Let me check.\nI have no answer.\n");
  });

  test.each([true, false])(
    "recognizes a long streamed reply after other text, on a terminal: %s",
    async (isTerminal) => {
      const { screen, written } = createScreen(isTerminal ? { out: 80 } : {});
      const words = Array.from({ length: 500 }, (_, n) => `word ${n} `);
      await show(screen, ...words.map((word) => say(word)), say("aside", "think-2"), say("end."));
      await show(screen, { type: "reply", reply: `${words.join("")}end.`, at: "think-1" });
      await screen.end();
      const text = words.join("");
      expect(written.out).toBe(isTerminal ? `${text}\naside\nend.\n` : `aside\n${text}end.\n`);
    },
  );

  test.each([40, 60, 120])("fits %d columns and removes control characters", async (columns) => {
    const evil = "\u001B[2J\u009B31m\u202E京都的天气晴朗 and so on ".repeat(20);
    const { screen, written } = createScreen({ out: columns, err: columns });
    await show(
      screen,
      think(evil),
      say(evil),
      { type: "tool_call", call_id: "c", name: evil, arguments: { evil } },
      { type: "tool_start", call_id: "c", name: evil },
      { type: "tool_output", call_id: "c", name: evil, content: evil },
      { type: "tool_end", call_id: "c", name: evil, result: evil, is_error: true, duration_ms: 1 },
      { type: "error", message: evil, code: "model_failed" },
      { type: "data", data_type: "dataframe", data: { name: evil, columns: [evil], rows: [[evil], [null], [1]] } },
      { type: "todo_list", list_id: "l", title: evil, items: [{ id: "1", text: evil, completed: true }] },
      { type: "image", url: evil },
    );
    await screen.end();
    const [, ...escapes] = written.all.split("\u001B");
    expect(escapes.filter((rest) => !/^\[(?:\d+m|K)/.test(rest))).toEqual([]);
    expect(written.all).not.toMatch(/[\u009B\u202E]/);
    const lines = written.err.slice(written.err.indexOf("→")).split(/[\n\r]/);
    const wide = (line: string) =>
      Array.from(stripVTControlCharacters(line)).reduce((sum, one) => sum + (/[\u3000-\uFFEF]/.test(one) ? 2 : 1), 0);
    expect(lines.filter((line) => wide(line) > columns)).toEqual([]);
  });

  test("holds output back while a prompt is shown", async () => {
    const { screen, written } = createScreen({ out: 80, err: 80 });
    await show(screen, say("One"));
    screen.hold();
    const before = written.all;
    expect(before).toBe("One\n");
    await show(screen, { type: "tool_end", call_id: "c", name: "a", result: "b", is_error: false });
    screen.line("aside");
    expect(written.all).toBe(before);
    for (let n = 0; n < 2000; n++) await show(screen, { type: "tool_progress", call_id: "c", progress: 1 });
    await screen.release();
    expect(written.all).toContain("aside");
    expect(stripVTControlCharacters(written.all)).toMatch(/… 1002 events not shown\n$/);
  });

  test("removes the progress line before a prompt", async () => {
    const { screen, written } = createScreen({ out: 80, err: 80 });
    await show(screen, { type: "tool_progress", call_id: "c", name: "a", progress: 1, message: "at work" });
    expect(readVisibleLines(written.all).join("")).toContain("at work");
    screen.hold();
    expect(readVisibleLines(written.all)).toEqual([""]);
  });

  test("shows errors completely, and remembers the last one", async () => {
    const { screen, written } = createScreen({ out: 40, err: 40 });
    const message = "a long\nmessage of a model that failed";
    await show(screen, { type: "error", message, code: "model_failed", recoverable: true });
    expect(screen.lastError).toBe(message);
    expect(readVisibleLines(written.all)).toEqual([
      "✗ error a long message of a model that",
      "  failed (model_failed)",
      "",
    ]);
  });
});
