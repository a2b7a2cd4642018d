// Searches on a terminal: the vectors, and searches that are large, hostile or without IDs.
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createScreen, readVisibleLines, show } from "../../../test/cli-screen.ts";
import { frameText, readVector, VECTORS } from "../../../test/vectors.ts";
import { DIALECTS } from "../../dialects/index.ts";
import { measureColumns } from "../fit-text.ts";

/** Lines left on a terminal of this width after a vector was shown. */
async function showVector(name: string, columns: number): Promise<readonly string[]> {
  const { screen, written } = createScreen({ out: columns, err: columns });
  const decoder = DIALECTS.loom.createDecoder();
  for (const frame of readVector(join(VECTORS, "runs", `${name}.json`)).frames)
    for (const record of decoder.decode(frameText(frame)).records) await screen.show(record);
  await screen.end();
  return readVisibleLines(written.all);
}

const TOT = { type: "run_start", agent: "tot" };
const GOT = { type: "run_start", agent: "got" };
const enter = (id: string, more: object = {}) => ({ type: "node_enter", id, at: id, ...more });
const think = (content: string, at: string) => ({ type: "message_chunk", content, id: at, channel: "thought", at });

describe("a tree of thoughts on a terminal", () => {
  test("shows expansions, scores, backtracking and the chosen path", async () => {
    expect(await showVector("tot-backtrack", 80)).toEqual([
      "+ 3 thoughts",
      "  ★ 0.70 ▰▰▰▰▰▰▰▱▱▱ 8 + 8 = 16 (left: 4 7 16)",
      "  • 0.60 ▰▰▰▰▰▰▱▱▱▱ 8 / 8 = 1 (left: 1 4 7)",
      "  … 1 dropped",
      "  + 2 thoughts from 8 + 8 = 16 (left: 4 7 16)",
      "    – none kept: 2 dropped, best score 0.10",
      "  ↩ backtrack to depth 1: neither 4 9 nor 7 20 can make 24",
      "  ★ 0.80 ▰▰▰▰▰▰▰▰▱▱ 8 / 8 = 1 (left: 1 4 7)",
      "  … 1 dropped",
      "  + 2 thoughts from 8 / 8 = 1 (left: 1 4 7)",
      "    ★ 1.00 ▰▰▰▰▰▰▰▰▰▰ 7 - 1 = 6 (left: 4 6)",
      "    … 1 dropped",
      "    + 1 thought from 7 - 1 = 6 (left: 4 6)",
      "      ★ 1.00 ▰▰▰▰▰▰▰▰▰▰ 4 * 6 = 24",
      "★ chosen path",
      "  1. 8 / 8 = 1 (left: 1 4 7)",
      "  2. 7 - 1 = 6 (left: 4 6)",
      "  3. 4 * 6 = 24",
      "(7 - 8 / 8) * 4 = 6 * 4 = 24",
      "completed in 3.7 s, 2053 tokens",
      "",
    ]);
  });

  test("shows a level that several thoughts were expanded into, and where the search goes on", async () => {
    const { screen, written } = createScreen({ out: 80, err: 80 });
    await show(
      screen,
      TOT,
      { type: "tot_expand", candidates: ["a", "b"], ids: ["1", "2"] },
      { type: "tot_evaluate", chosen: 0, scores: [0.9, 0.8], ids: ["1", "2"], kept: ["1", "2"] },
      { type: "tot_expand", candidates: ["c", "d"], ids: ["1.1", "2.1"], parents: ["1", "2"] },
      { type: "tot_evaluate", chosen: 0, scores: [0.1, 0.5], ids: ["1.1", "2.1"], kept: ["1.1"], unrated: ["2.1"] },
      { type: "tot_backtrack", reason: "dead", to_depth: 1, from: "1.1", to: "2", kept: ["2"] },
    );
    await screen.end();
    expect(readVisibleLines(written.all)).toEqual([
      "+ 2 thoughts",
      "  ★ 0.90 ▰▰▰▰▰▰▰▰▰▱ a",
      "  • 0.80 ▰▰▰▰▰▰▰▰▱▱ b",
      "  + 2 thoughts from 2 thoughts",
      "    ★ 0.10 ▰▱▱▱▱▱▱▱▱▱ c",
      "  ↩ backtrack to depth 1: dead",
      "  ★ 0.80 ▰▰▰▰▰▰▰▰▱▱ b",
      "",
    ]);
  });

  test("works without ids, and merges branches abandoned together", async () => {
    const { screen, written } = createScreen({ out: 80, err: 80 });
    const back = { type: "tot_backtrack", reason: "dead", to_depth: 0 };
    await show(
      screen,
      TOT,
      { type: "tot_expand", candidates: ["a", "b"] },
      { type: "tot_evaluate", chosen: 1, scores: [3, 12.25] },
      back,
      back,
      { ...back, reason: "also dead" },
      { type: "tot_evaluate", chosen: 7, scores: [3, Number.NaN] },
    );
    expect(readVisibleLines(written.all)).toEqual([
      "+ 2 thoughts",
      "  ★ 12.25 b",
      "  … 1 dropped",
      "↩ backtrack to the start: dead",
      "↩ backtrack to the start: also dead",
      "– none kept: 2 dropped",
      "",
    ]);
  });

  test("bounds the number of lines", async () => {
    const { screen, written } = createScreen({ out: 80, err: 80 });
    await show(screen, TOT, enter("think_expand"));
    for (let depth = 1; depth <= 500; depth++) {
      const ids = Array.from({ length: 30 }, (_, n) => `${depth}.${n}`);
      const scores = ids.map((_, n) => n / 30);
      await show(
        screen,
        { type: "tot_expand", candidates: ids, ids, parent: `${depth - 1}.29`, depth },
        { type: "tot_evaluate", chosen: 29, scores, ids, kept: ids, depth },
      );
    }
    await show(screen, enter("answer"), { type: "message_chunk", content: "Done.", id: "answer", at: "answer" });
    await screen.end();
    const left = readVisibleLines(written.all);
    expect(left).toHaveLength(300 + 1 + 1 + 12 + 1 + 1);
    expect(left[300]).toBe("… 3200 more lines: 15000 thoughts, depth 500");
    expect(left.slice(-4)).toEqual(["  499. 499.29", "  500. 500.29", "Done.", ""]);
  });
});

describe("a graph of thoughts on a terminal", () => {
  test("shows the plan and its nodes, also in Chinese", async () => {
    expect(await showVector("got-failure", 40)).toEqual([
      "◆ plan 6 tasks",
      "  ◦ cost: 存储与机器成本",
      "  ◦ query: 查询能力对比",
      "  ◦ migration: 迁移工作量",
      "  ◦ timeline: 迁移时间表 ← migration",
      "  ◦ risk: 迁移风险 ← timeline",
      "  ◦ verdict: 结论 ← cost, query",
      "▶ cost: 存储与机器成本",
      "▶ query: 查询能力对比",
      "▶ migration: 迁移工作量",
      "✗ migration: 模型连接中断，没有得到迁…",
      "✗ timeline: skipped because of migrati…",
      "✗ risk: skipped because of timeline, w…",
      "✓ cost: 磁盘约省三分之二，机器… (1.1 s)",
      "✓ query: 聚合更快，全文检索较弱 (1.1 s)",
      "▶ verdict: 结论",
      "✓ verdict: 倾向更换，需先补迁… (261 ms)",
      "**建议更换，但先做迁移评估。**",
      "",
      "- 成本：磁盘约省三分之二",
      "- 查询：聚合更快，全文检索较弱",
      "- 迁移：这一项分析失败，时间表与风险因此没有评估",
      "completed in 2.6 s, 1505 tokens",
      "",
    ]);
  });

  test("indents added nodes below the node that added them", async () => {
    expect((await showVector("agot-expand", 80)).slice(4, 17)).toEqual([
      "▶ venue: Where it happens",
      "▶ programme: What happens when",
      "  + 3 tasks in programme",
      "    ◦ day1",
      "    ◦ day2",
      "    ◦ merge ← day1, day2",
      "  ▶ programme.day1",
      "  ▶ programme.day2",
      "✓ venue: school hall, 45 seats (1.0 s)",
      "  ✓ programme.day1: pitch, teams, build (606 ms)",
      "  ✓ programme.day2: demos, prizes (526 ms)",
      "  ▶ programme.merge",
      "  ✓ programme.merge: build on day one, show on day two (238 ms)",
    ]);
  });

  test("names the node of tool calls, errors and skipped tasks", async () => {
    const { screen, written } = createScreen({ out: 80, err: 80 });
    const at = "run-try-4";
    await show(
      screen,
      GOT,
      { type: "got_plan", node_count: 2, edge_count: 1, node_ids: ["a", "b"], edges: [["a", "b"]] },
      { type: "node_enter", id: "a", at: "run-a-3" },
      { type: "got_node_start", id: "a", at: "run-a-3" },
      { type: "node_enter", id: "try", parent: "run-a-3", at },
      think("I will use the calculator", at),
      { type: "reasoning_chunk", content: "hm", id: "try", at },
      { type: "reasoning_end", id: "try", at },
      { type: "tool_call", call_id: "c", name: "calculator", arguments: { expression: "6*7" }, at },
      { type: "tool_start", call_id: "c", name: "calculator", at },
      { type: "tool_end", call_id: "c", name: "calculator", result: "42", is_error: false, at },
      { type: "error", message: "no form", code: "model_output_invalid", at },
      { type: "got_node_failed", id: "a", error: "gave up", at: "run-a-3" },
      { type: "got_node_failed", id: "b", error: "a has no result", skipped: true },
    );
    expect(readVisibleLines(written.all)).toEqual([
      "◆ plan 2 tasks",
      "  ◦ a",
      "  ◦ b ← a",
      "▶ a",
      '  → a › calculator {"expression":"6*7"}',
      "  ← a › calculator 42",
      "  ✗ a › error no form (model_output_invalid)",
      "✗ a: gave up",
      "– b: a has no result",
      "",
    ]);
  });

  test("bounds the number of lines", async () => {
    const { screen, written } = createScreen({ out: 80, err: 80 });
    const ids = Array.from({ length: 1000 }, (_, n) => `n${n}`);
    const edges = ids.flatMap((id) => (id === "n0" ? [] : [[id, "n0"]]));
    await show(screen, GOT, { type: "got_plan", node_count: 1000, edge_count: 999, node_ids: ids, edges });
    for (const id of ids) await show(screen, { type: "got_node_start", id });
    for (const id of ids.slice(1)) await show(screen, { type: "got_node_complete", id, result_summary: "x" });
    await show(screen, { type: "run_end", status: "cancelled" });
    const left = readVisibleLines(written.all);
    expect(left.slice(1, 3)).toEqual(["  ◦ n0 ← n1, n2, n3, n4 and 995 more", "  ◦ n1"]);
    expect(left[15]).toBe("  … 986 more");
    expect(left.slice(300)).toEqual(["… 1715 more lines: 999 of 1000 tasks finished, 1 running", "cancelled", ""]);
  });
});

describe("a search on a terminal", () => {
  test("shows thoughts as progress and keeps the answer", async () => {
    const { screen, written } = createScreen({ out: 80, err: 80 });
    await show(screen, TOT, enter("think_evaluate"), think("One line\nand ", "think_evaluate"));
    await show(screen, enter("answer"), {
      type: "reasoning_chunk",
      content: "Now say it.",
      id: "answer",
      at: "answer",
    });
    await show(screen, { type: "message_chunk", content: "42", id: "answer", at: "answer" });
    await screen.end();
    expect(stripVTControlCharacters(written.err)).toContain("think_evaluate and");
    expect(readVisibleLines(written.all)).toEqual(["Now say it.", "42", ""]);
    expect(written.out).toBe("42\n");
  });

  test("loses no line to text that arrived during a prompt", async () => {
    const { screen, written } = createScreen({ out: 80, err: 80 });
    await show(screen, GOT, enter("a"));
    screen.hold();
    for (let n = 0; n < 2000; n++) await show(screen, think("hm", "a"));
    await show(screen, { type: "got_node_complete", id: "a", result_summary: "done" });
    await screen.release();
    expect(readVisibleLines(written.all)).toEqual(["✓ a: done", ""]);
  });

  test("writes only the answer to a pipe", async () => {
    const { screen, written } = createScreen({});
    await show(
      screen,
      TOT,
      enter("think"),
      think("hm", "think"),
      { type: "tot_expand", candidates: ["a", "b"] },
      { type: "tot_evaluate", chosen: 0, scores: [1, 0] },
      enter("answer"),
      { type: "message_chunk", content: "42", id: "answer", at: "answer" },
    );
    await screen.end();
    expect([written.out, written.err]).toEqual(["42\n", ""]);
  });

  test("shows why a task is retried", async () => {
    const { screen, written } = createScreen({ out: 80, err: 80 });
    const begin = [enter("a"), { type: "got_node_start", id: "a", at: "a" }];
    const leave = (Err: string) => ({ type: "node_exit", id: "a", result: { Err }, at: "a" });
    const failed = { type: "got_node_failed", id: "a", error: "gone", at: "a" };
    await show(screen, GOT, ...begin, leave("busy"), ...begin, failed, leave("gone"));
    await screen.end();
    expect(readVisibleLines(written.all)).toEqual(["▶ a", "↻ a: attempt failed: busy", "▶ a", "✗ a: gone", ""]);
  });

  test("finds evaluated thoughts without ids by depth, and shows nothing if it cannot", async () => {
    const { screen, written } = createScreen({ out: 50, err: 50 });
    const grow = (candidates: string[], depth: number) => ({ type: "tot_expand", candidates, depth });
    const judge = (...scores: number[]) => ({ type: "tot_evaluate", chosen: 1, scores });
    const back = { type: "tot_backtrack", reason: "no", to_depth: 1 };
    await show(screen, TOT, grow(["a", "b"], 1), judge(0, 1), grow(["c"], 2), grow(["d"], 2), judge(0, 1));
    await show(screen, back, judge(0, 0.5), judge(1, 2, 3));
    await screen.end();
    const stars = readVisibleLines(written.all).filter((line) => line.includes("★"));
    expect(stars.map((line) => line.trim())).toEqual(["★ 1.00 b", "★ 1.00 d", "★ 0.50 b"]);
  });

  test("fits the width and removes control characters", async () => {
    const evil = fc.constantFrom(
      "\u001B[2J\u009B31m\u202E京都的天气晴朗 and so on ".repeat(20),
      "x".repeat(100_000),
      "线".repeat(300),
      "",
      "a\nb\r\tc",
    );
    const id = fc.oneof(evil, fc.constantFrom("a", "b", "__proto__"));
    const list = fc.array(evil, { maxLength: 40 });
    const ids = fc.array(id, { maxLength: 40 });
    const depth = fc.oneof(fc.constantFrom(0, 1), fc.nat({ max: 1e6 }));
    const event = fc.oneof(
      fc.record({ type: fc.constant("tot_expand"), candidates: list, ids, parent: id, depth }),
      fc.record({
        type: fc.constant("tot_evaluate"),
        chosen: fc.nat({ max: 50 }),
        scores: fc.array(fc.oneof(fc.double(), fc.double({ min: 0, max: 1 })), { maxLength: 40 }),
        ids,
        kept: ids,
        depth,
      }),
      fc.record({ type: fc.constant("tot_backtrack"), reason: evil, to_depth: depth, from: id, to: id }),
      fc.record({
        type: fc.constant("got_plan"),
        node_count: depth,
        edge_count: depth,
        node_ids: ids,
        edges: fc.array(fc.array(id, { maxLength: 3 })),
        labels: list,
      }),
      fc.record({ type: fc.constant("got_expand"), node_id: id, nodes_added: depth, edges_added: depth, nodes: ids }),
      fc.record({ type: fc.constantFrom("got_node_start", "node_enter"), id, at: id, parent: id }),
      fc.record({ type: fc.constant("got_node_complete"), id, result_summary: evil }),
      fc.record({ type: fc.constant("got_node_failed"), id, error: evil, skipped: fc.boolean() }),
      fc.record({ type: fc.constant("message_chunk"), content: evil, id, channel: fc.constant("thought"), at: id }),
      fc.record({ type: fc.constant("tool_start"), name: evil, at: id }),
    );
    const run = fc.asyncProperty(
      fc.array(event, { maxLength: 30 }),
      fc.constantFrom(20, 40, 80),
      async (events, columns) => {
        const { screen, written } = createScreen({ out: columns, err: columns });
        await show(screen, GOT, ...events, enter("answer"));
        await screen.end();
        const [, ...escapes] = written.all.split("\u001B");
        expect(escapes.filter((rest) => !/^\[(?:\d+m|K)/.test(rest))).toEqual([]);
        expect(written.all).not.toMatch(/[\u009B\u202E]/);
        const tooWide = written.err.split(/[\n\r]/).filter((line) => measureColumns(line) > columns);
        expect(tooWide).toEqual([]);
      },
    );
    await fc.assert(run, { numRuns: 60 });
  });
});
