import { measureColumns } from "../fit-text.ts";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { createScreen, show } from "../../../test/cli-screen.ts";
import { frameText, readVector, VECTORS } from "../../../test/vectors.ts";
import { DIALECTS } from "../../dialects/index.ts";
import type { Json } from "../../protocol/index.ts";

const START = { type: "run_start", agent: "react", message: "How many?" };
const enter = (at: string, more: object = {}) => ({ type: "node_enter", id: "think", at, ...more });
const exit = (at: string, result: Json = "Ok") => ({ type: "node_exit", id: "think", result, at });
const say = (content: string, at = "think-1") => ({ type: "message_chunk", content, id: "think", at });
const think = (content: string) => ({ type: "reasoning_chunk", content, id: "think", at: "think-1" });
const END = { type: "run_end", status: "completed", summary: { duration_ms: 1500 } };
const reply = (text: string, at?: string) => ({ type: "reply", reply: text, ...(at === undefined ? {} : { at }) });
const RUN = [
  START,
  enter("think-1"),
  think("Hm. "),
  think("A product."),
  { type: "reasoning_end", id: "think", at: "think-1", duration_ms: 20 },
  say("Let **me** see."),
  exit("think-1"),
  { type: "tool_call", call_id: "c", name: "calculator", arguments: { expression: "6*7" } },
  { type: "tool_start", call_id: "c", name: "calculator" },
  { type: "tool_progress", call_id: "c", name: "calculator", progress: 50, message: "half" },
  { type: "tool_end", call_id: "c", name: "calculator", result: "42", is_error: false, duration_ms: 3 },
  enter("think-2"),
  say("It is ", "think-2"),
  say("42.", "think-2"),
  exit("think-2"),
  END,
  reply("It is 42.", "think-2"),
];
/** The records of the process that takes over. */
const RESTART = [
  exit("think-1", { Err: "interrupted" }),
  { type: "error", message: "The process ended", code: "interrupted", recoverable: true, attempt: 2 },
  enter("think-2", { supersedes: "think-1", attempt: 2 }),
];

describe("on a terminal", () => {
  test("shows each step, and the answer as Markdown", async () => {
    const { screen, shown } = createScreen({ out: 80, err: 80, isOneRun: true });
    await show(screen, ...RUN);
    await screen.end();
    expect(shown()).toEqual([
      "· thought Hm. A product. (20 ms)",
      "",
      "Let me see.",
      "",
      '→ calculator {"expression":"6*7"}',
      "← 42 (3 ms)",
      "",
      "It is 42.",
      expect.stringMatching(/^completed.*, 1 tool call$/),
      "",
    ]);
  });

  test("replaces what still changes", async () => {
    const { screen, shown } = createScreen({ out: 80, err: 80, isOneRun: true });
    await show(screen, ...RUN.slice(0, 10));
    screen.hold();
    const before = shown();
    expect(before.slice(0, 3)).toEqual(["· thought Hm. A product. (20 ms)", "", "Let me see."]);
    screen.line("aside");
    await show(screen, ...RUN.slice(10, 14));
    expect(shown()).toEqual(before);
    await screen.release();
    expect(shown().slice(3)).toEqual([
      "aside",
      "",
      '→ calculator {"expression":"6*7"}',
      "← 42 (3 ms)",
      "",
      "It is 42.",
    ]);
    await show(screen, ...RUN.slice(14));
    expect(shown().slice(-3)).toEqual(["It is 42.", expect.stringMatching(/^completed/), ""]);
  });

  test("shows nothing new after the last line, until the turn is over", async () => {
    const { screen, shown } = createScreen({ out: 80, err: 80, isOneRun: true });
    await show(screen, START, enter("think-1"), say("One "));
    screen.lastLine("cancelling");
    expect(shown()).toEqual(["cancelling", "One"]);
    await show(screen, say("two"));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(shown()).toEqual(["cancelling", "One"]);
    await show(screen, exit("think-1", { Err: "cancelled" }), { ...END, status: "cancelled" }, reply("", "think-1"));
    expect(shown()).toEqual(["cancelling", "One two", expect.stringMatching(/^cancelled/), ""]);
  });

  test("shows only the end of rows that do not fit, and all of them when they stay", async () => {
    const { screen, shown } = createScreen({ out: 80, err: 80, isOneRun: true });
    const lines = Array.from({ length: 60 }, (_, index) => `- item ${index}`);
    await show(screen, START, say(lines.join("\n")));
    await vi.waitFor(() => expect(shown()).toHaveLength(23));
    expect(shown()[0]).toBe("… 38 lines above");
    await show(screen, END, reply(lines.join("\n"), "think-1"));
    expect(shown().slice(0, 60)).toEqual(lines.map((line) => line.replace("-", "•")));
  });

  test("lists the messages of the user and all runs", async () => {
    const { screen, shown } = createScreen({ out: 80, err: 80 });
    await show(screen, START, say("One."), END, reply("One.", "think-1"));
    await screen.show({ envelope: { session_id: "s", run_id: "q" }, event: { ...START, message: "And now?" } });
    await screen.end();
    expect(shown()).toEqual(["› How many?", "", "One.", expect.stringMatching(/^completed/), "", "› And now?", "", ""]);
  });

  test("says that the step is run again, and then shows the new answer", async () => {
    const { screen, shown } = createScreen({ out: 80, err: 80, isOneRun: true });
    await show(screen, START, enter("think-1"), say("It i"), { type: "image", url: "x" }, ...RESTART);
    await show(screen, say("It is 42.", "think-2"), END, reply("It is 42.", "think-2"));
    expect(shown()).toEqual([
      "It i",
      "",
      "▣ image x",
      "interrupted; running the step again (attempt 2)",
      "",
      "It is 42.",
      expect.stringMatching(/^completed/),
      "",
    ]);
  });

  test("shows a tree of thoughts before the answer", async () => {
    expect(await showVector("tot-backtrack", 80)).toEqual([
      "Tree of 8 thoughts",
      "  ● 0.80 8 / 8 = 1 (left: 1 4 7)",
      "    ● 1.00 7 - 1 = 6 (left: 4 6)",
      "      ● 1.00 4 * 6 = 24",
      "    · 0.10 4 + 1 = 5 (left: 5 7)",
      "  × 0.70 8 + 8 = 16 (left: 4 7 16)",
      "    · 0.05 16 - 7 = 9 (left: 4 9)",
      "    · 0.10 16 + 4 = 20 (left: 7 20)",
      "  · 0.25 4 * 7 = 28 (left: 8 8 28)",
      "1 backtrack",
      "↩ to depth 1: neither 4 9 nor 7 20 can make 24",
      "",
      "(7 - 8 / 8) * 4 = 6 * 4 = 24",
      "completed in 3.7 s, 2053 tokens",
      "",
    ]);
    const graph = await showVector("got-failure", 40);
    expect(graph.slice(0, 3)).toEqual([
      "Graph of 6 tasks",
      "● cost 存储与机器成本 (1.1 s)",
      "    磁盘约省三分之二，机器可减半",
    ]);
    expect(graph).toContain("✗ timeline 迁移时间表 ← migration");
  });

  test.each([20, 40, 200])("fits %d columns and removes control characters", async (columns) => {
    const evil = "\u001B[2J\u009B31m\u202E京都的天气晴朗 and so on ".repeat(20);
    const { screen, written, shown } = createScreen({ out: columns, err: columns });
    await show(
      screen,
      { ...START, agent: "tot", message: evil },
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
      { type: "tot_expand", candidates: [evil], ids: ["t"], depth: 1 },
      { type: "tot_backtrack", reason: evil, to_depth: 0 },
      { type: "got_plan", node_count: 1, edge_count: 0, node_ids: [evil], edges: [], labels: [evil] },
      { type: "run_end", status: "error", reason: evil, code: evil },
    );
    await screen.end();
    const [, ...escapes] = written.all.split("\u001B");
    expect(escapes.filter((rest) => !/^\[(?:\d+m|[AK])/.test(rest))).toEqual([]);
    expect(written.all).not.toMatch(/[\u009B\u202E]/);
    expect(shown().filter((row) => measureColumns(row) > columns)).toEqual([]);
  });
});

/** Rows left on a terminal of this width after a vector was shown. */
async function showVector(name: string, columns: number): Promise<readonly string[]> {
  const { screen, shown } = createScreen({ out: columns, err: columns, isOneRun: true });
  const decoder = DIALECTS.loom.createDecoder();
  for (const frame of readVector(join(VECTORS, "runs", `${name}.json`)).frames)
    for (const record of decoder.decode(frameText(frame)).records) await screen.show(record);
  await screen.end();
  return shown();
}

describe("in a pipe", () => {
  test("writes only the answer", async () => {
    const { screen, written } = createScreen({ isOneRun: true });
    await show(screen, ...RUN);
    await screen.end();
    expect(written).toMatchObject({ out: "Let **me** see.\nIt is 42.\n", err: "" });
  });

  test("keeps the bytes of the answer", async () => {
    const { screen, written } = createScreen({ isOneRun: true });
    await show(screen, START, say("\u001B[1mbold\u001B[0m\r\n"), END);
    await screen.end();
    expect(written.out).toBe("\u001B[1mbold\u001B[0m\r\n");
  });

  test("writes the steps to a terminal on standard error", async () => {
    const { screen, written, shown } = createScreen({ err: 80, isOneRun: true });
    await show(screen, ...RUN);
    await screen.end();
    expect(written.out).toBe("Let **me** see.\nIt is 42.\n");
    expect(written.err).not.toContain("It is 42");
    expect(shown()).toContain("← 42 (3 ms)");
  });

  test("leaves only the answer on a terminal if standard error is redirected", async () => {
    const { screen, written } = createScreen({ out: 80, isOneRun: true });
    await show(screen, ...RUN);
    await screen.end();
    expect(written).toMatchObject({ err: "" });
    expect(written.out).not.toContain("calculator");
    expect(written.out).toContain("It is 42.");
  });

  test("leaves out text that is written again", async () => {
    const { screen, written } = createScreen({ isOneRun: true });
    await show(screen, START, enter("a"), say("Let me see.", "a"), exit("a"));
    expect(written.out).toBe("Let me see.");
    await show(screen, enter("think-1"), say("It"), say(" i"), ...RESTART);
    await show(screen, say("It is 42.", "think-2"), END, reply("It is 42.", "think-2"));
    expect(written.out).toBe("Let me see.\nIt is 42.\n");
    expect(written.err).toBe("interrupted; running the step again (attempt 2)\n");
  });

  test("writes text that no other replaces when the run ends", async () => {
    const { screen, written } = createScreen({ isOneRun: true });
    await show(screen, START, enter("think-1"), say("It"), exit("think-1", { Err: "cancelled" }));
    expect(written.out).toBe("");
    await show(screen, { type: "run_end", status: "cancelled" });
    expect(written.out).toBe("It\n");
  });

  test("writes a reply that was not streamed", async () => {
    const { screen, written } = createScreen({ isOneRun: true });
    await show(screen, START, enter("think-1"), say("Looking."), exit("think-1"), END, reply("{}", "act-2"));
    expect(written.out).toBe("Looking.\n{}\n");
  });

  test("adds to-do lists and the sources that the answer cites", async () => {
    const sources = [1, 2, 3].map((ref) => ({
      title: `T${ref}`,
      ref,
      uri: `${ref}.md`,
      first_line: 2,
      last_line: ref,
    }));
    const { screen, written } = createScreen({ isOneRun: true });
    await show(
      screen,
      START,
      { type: "todo_list", list_id: "l", items: [{ id: "1", text: "Look", completed: true }] },
      { type: "retrieval_complete", doc_count: 3, sources },
      say("Said [3"),
      say("] and [1, 9] and [3]."),
      END,
      reply("Said [3] and [1, 9] and [3].", "think-1"),
    );
    const list = "to-do list\n[x] Look\n\n";
    const cited = "\nSources:\n[3] T3 (3.md, lines 2 to 3)\n[1] T1 (1.md, lines 2 to 1)\n";
    expect(written.out).toBe(`${list}Said [3] and [1, 9] and [3].\n${cited}`);
  });

  test("says that a forked run continues from a checkpoint, and how a run of a session failed", async () => {
    const { screen, written } = createScreen({});
    const fork = { type: "error", message: "", code: "interrupted", attempt: 2, details: { forked: true } };
    await show(screen, START, fork, say("It is"), { type: "run_end", status: "error", reason: "gone", code: "lost" });
    expect(written).toMatchObject({
      out: "› How many?\nIt is\n",
      err: "continues from a checkpoint\nrun error (lost): gone\n",
    });
  });
});
