// Server rendering of golden and hostile views.
import { createElement, type ReactElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { computeViews, listViews } from "../../../test/views.ts";
import type { GraphView, StreamState, TreeView, TurnView } from "../../client/index.ts";
import { UiProvider } from "../ui/ui-context.tsx";
import type { UiLanguage } from "../ui/ui-context.tsx";
import { StageLine } from "./stage.tsx";
import type { RunPhase } from "./describe-stream.ts";
import { StreamStatus } from "./stream-status.tsx";
import { ThoughtGraph } from "./thought-graph.tsx";
import { ThoughtTree } from "./thought-tree.tsx";

function render(element: ReactElement, language: UiLanguage = "en"): string {
  return renderToStaticMarkup(createElement(UiProvider, { language, children: element }));
}

const drawTree = (tree: TreeView, isLive = true): ReactElement =>
  createElement(ThoughtTree, { tree, turnKey: "r", isLive });
const drawGraph = (graph: GraphView): ReactElement =>
  createElement(ThoughtGraph, { graph, turnKey: "r", isLive: true });

const TURNS: TurnView[] = listViews().flatMap(({ vector }) =>
  computeViews(vector).flatMap(({ sessions }) => sessions.flatMap(({ turns }) => turns)),
);

describe("trees and graphs of golden runs", () => {
  it("show every thought, and count pruned siblings", () => {
    const trees = TURNS.flatMap(({ tree }) => tree ?? []);
    expect(trees.length).toBeGreaterThan(2);
    for (const tree of trees)
      for (const language of ["en", "zh"] as const) {
        const html = render(drawTree(tree), language);
        const pruned = tree.thoughts.filter(({ status }) => status === "pruned").length;
        const drawn = html.match(/data-thought=/g)?.length ?? 0;
        expect(drawn).toBeGreaterThanOrEqual(tree.thoughts.length - pruned);
        for (const { id, status } of tree.thoughts)
          if (status !== "pruned") expect(html).toContain(`data-thought="${id}"`);
        if (drawn < tree.thoughts.length) expect(html).toMatch(/\d pruned|剪枝 \d/);
      }
  });

  it("show every step with its status in words", () => {
    const graphs = TURNS.flatMap(({ graph }) => graph ?? []);
    expect(graphs.length).toBeGreaterThan(2);
    for (const graph of graphs) {
      const html = render(drawGraph(graph));
      expect(html.match(/role="option"/g)).toHaveLength(graph.nodes.length);
      if (graph.nodes.some(({ status }) => status === "failed")) expect(html).toContain(">Failed<");
      if (graph.nodes.some(({ status }) => status === "skipped")) expect(html).toContain(">Skipped<");
    }
  });

  it("explain dead branches and mark the chosen path", () => {
    const tree = TURNS.find(
      ({ tree: found }) => found?.backtracks[0]?.reason === "every next step is a dead end",
    )?.tree;
    const html = render(drawTree(tree as TreeView));
    const text = html.replaceAll(/<[^>]*>/g, "");
    expect(text).toContain("Use the lift, Abandoned, Score 0.8, every next step is a dead end");
    expect(text).toContain("Take the books out first, Chosen, Score 1");
    expect(html.match(/data-size="path"/g)).toHaveLength(3);
    expect(html).toContain(" · 6 thoughts · depth 3 · 1 backtrack");
  });
});

describe("drawings", () => {
  it("are collapsed for finished runs", () => {
    const html = render(
      drawTree({ thoughts: [{ id: "1", text: "a", depth: 1, status: "kept" }], path: [], backtracks: [] }, false),
    );
    expect(html).toContain('aria-expanded="false"');
    expect(html).not.toContain("treeitem");
  });

  it("have a bounded size", () => {
    const long = "<img src=x onerror=alert(1)>".repeat(1000);
    const thoughts = Array.from({ length: 5000 }, (_, at) => ({
      id: `${at}`,
      text: long,
      depth: at,
      status: "open" as const,
    }));
    const html = render(drawTree({ thoughts, path: [], backtracks: [] }));
    expect(html.length).toBeLessThan(100_000);
    expect(html).not.toContain("<img");
    const nodes = Array.from({ length: 5000 }, (_, at) => ({ id: `${at}`, label: long, status: "planned" as const }));
    expect(render(drawGraph({ nodes, edges: [], expansions: [] })).length).toBeLessThan(100_000);
  });

  it("handle an empty tree and an empty graph", () => {
    expect(render(drawTree({ thoughts: [], path: [], backtracks: [] }))).toContain("0 thoughts");
    expect(render(drawGraph({ nodes: [], edges: [], expansions: [] }))).toContain("0 of 0 done");
  });
});

describe("stage and stream status", () => {
  it("announce the stage, but not its numbers or the elapsed time", () => {
    const call = { toolId: "1", toolName: "search", status: "running", progress: 40, progressMessage: "page 2" };
    const turn = {
      status: "running",
      messages: [{ role: "assistant", parts: [], toolCalls: [call] }],
      nodes: [],
      modelCalls: [],
    } as unknown as TurnView;
    const html = render(createElement(StageLine, { turn }));
    expect(html).toMatch(/role="status"[^>]*>Search<\/span>/);
    expect(html).toContain("page 2");
    expect(render(createElement(StageLine, { turn: { ...turn, status: "completed" } }))).toBe("");
    const state = { status: "repairing", verified: true, undetectable: [] } as const;
    expect(render(createElement(StageLine, { turn, state }))).toContain("Waiting for the server");
  });

  it("show the stream status in both languages", () => {
    const state: StreamState = {
      status: "repairing",
      reason: { code: "connection_lost", message: "gone" },
      verified: false,
      undetectable: [],
    };
    expect(render(createElement(StreamStatus, { state }))).toContain("Reconnecting…");
    expect(render(createElement(StreamStatus, { state, run: "running" }), "zh")).toContain("正在重新连接…");
  });

  it("show the run only while it needs attention, and never that a stream is complete", () => {
    const state: StreamState = { status: "complete", verified: true, undetectable: [] };
    const show = (run: RunPhase | undefined, of: StreamState = state): string =>
      render(createElement(StreamStatus, { state: of, run })).replaceAll(/<[^>]*>/g, "");
    expect(show(undefined)).toBe("");
    expect(show(undefined, { ...state, status: "live" })).toBe("");
    expect(show("failed")).toBe("Failed");
    expect(show("running", { ...state, status: "live" })).toBe("Running");
    expect(show("failed", { ...state, status: "gap" })).toBe("Events missingEvents missing");
  });
});
