/** Trees and graphs of thoughts, and the status of a stream. */
import type { ReactNode } from "react";
import { findRunPhase, StreamStatus, type UiLanguage } from "loom-agent/react";
import { Pressed } from "./pressed.tsx";
import { pick, RunScene, say, type Scene, type SceneSession, useScene } from "./scene.tsx";

const IDEAS = ["1 / 5 = 1/5", "5 - 1 = 4", "5 * 5 = 25", "5 + 5 = 10"];

function search(session: SceneSession, language: UiLanguage): SceneSession {
  return session.begin("run-1", { message: pick(language, "Game of 24: 1 5 5 5", "24 点：1 5 5 5"), agent: "tot" }).put(
    { type: "node_enter", id: "think_expand" },
    { type: "tot_expand", candidates: IDEAS, ids: ["a", "b", "c", "d"], depth: 1 },
    {
      type: "tot_evaluate",
      chosen: 0,
      scores: [0.9, 0.4, 0.5, 0.1],
      ids: ["a", "b", "c", "d"],
      kept: ["a", "c"],
      depth: 1,
    },
    { type: "tot_expand", candidates: ["25 - 1 = 24", "25 / 5 = 5"], ids: ["c1", "c2"], parent: "c", depth: 2 },
    { type: "tot_evaluate", chosen: 0, scores: [0.2, 0.1], ids: ["c1", "c2"], kept: [], depth: 2 },
    {
      type: "tot_backtrack",
      reason: pick(language, "One 5 is left over", "还剩一个 5"),
      to_depth: 1,
      from: "c",
      to: "a",
    },
    { type: "tot_expand", candidates: ["5 - 1/5 = 24/5", "5 + 1/5 = 26/5"], ids: ["a1", "a2"], parent: "a", depth: 2 },
    { type: "tot_evaluate", chosen: 0, scores: [1, 0.2], ids: ["a1", "a2"], kept: ["a1"], depth: 2 },
  );
}

function plan(session: SceneSession, language: UiLanguage): SceneSession {
  return session.begin("run-1", { message: pick(language, "Compare cats and dogs", "比较猫和狗"), agent: "got" }).put(
    { type: "node_enter", id: "plan_graph" },
    {
      type: "got_plan",
      node_count: 4,
      edge_count: 3,
      node_ids: ["cats", "dogs", "cost", "sum"],
      edges: [
        ["cats", "sum"],
        ["dogs", "sum"],
        ["cost", "sum"],
      ],
      labels: pick(language, ["Cats", "Dogs", "Costs", "Conclusion"], ["猫", "狗", "花费", "结论"]),
      operations: ["generate", "generate", "generate", "aggregate"],
    },
    { type: "got_node_start", id: "cats" },
    { type: "got_node_start", id: "dogs" },
    { type: "got_node_complete", id: "cats", result_summary: pick(language, "Independent", "独立") },
  );
}

const OPEN = ".loom-thoughts [aria-expanded=false]:not([aria-haspopup])";

function StatusScene({ write }: { readonly write: (session: SceneSession) => unknown }): ReactNode {
  const session = useScene(write);
  const view = session.receiver.session(session.id).getSnapshot();
  return <StreamStatus state={view?.state} run={findRunPhase(view)} onRetry={() => undefined} />;
}

export const THOUGHT_SCENES: readonly Scene[] = [
  {
    component: "tree of thoughts",
    modules: [
      "thoughts/thought-tree",
      "thoughts/thought-section",
      "thoughts/thought-node",
      "thoughts/thought-panel",
      "thoughts/drawing",
      "thoughts/drawn-sheet",
      "thoughts/mini-drawing",
      "thoughts/thought-canvas",
      "thoughts/canvas",
      "thoughts/canvas-stage",
      "thoughts/canvas-search",
      "thoughts/detail-panel",
      "thoughts/score",
    ],
    states: {
      streaming: (language) => <RunScene write={(session) => search(session, language)} />,
      finished: (language) => (
        <RunScene
          write={(session) =>
            search(session, language).put(say("5 * (5 - 1 / 5) = 24")).end({}, "5 * (5 - 1 / 5) = 24")
          }
        />
      ),
      open: (language) => (
        <Pressed selector={OPEN}>
          <RunScene
            write={(session) =>
              search(session, language).put(say("5 * (5 - 1 / 5) = 24")).end({}, "5 * (5 - 1 / 5) = 24")
            }
          />
        </Pressed>
      ),
      canvas: (language) => (
        <Pressed selector=".loom-thoughts-picture">
          <RunScene
            write={(session) =>
              search(session, language).put(say("5 * (5 - 1 / 5) = 24")).end({}, "5 * (5 - 1 / 5) = 24")
            }
          />
        </Pressed>
      ),
      cancelled: (language) => <RunScene write={(session) => search(session, language).end({ status: "cancelled" })} />,
    },
  },
  {
    component: "graph of thoughts",
    modules: ["thoughts/thought-graph", "thoughts/graph-node", "thoughts/graph-panel"],
    states: {
      streaming: (language) => <RunScene write={(session) => plan(session, language)} />,
      failed: (language) => (
        <Pressed selector={OPEN}>
          <RunScene
            write={(session) =>
              plan(session, language)
                .put({ type: "got_node_failed", id: "dogs", error: pick(language, "No answer", "没有回答") })
                .end({ status: "error", code: "model_failed" })
            }
          />
        </Pressed>
      ),
    },
  },
  {
    component: "stream status",
    modules: ["thoughts/stream-status"],
    states: {
      empty: () => <StatusScene write={() => undefined} />,
      streaming: () => <StatusScene write={(session) => session.begin("run-1").put(say("…"))} />,
      waiting: () => (
        <StatusScene
          write={(session) => {
            const call = { call_id: "call-1", name: "write_file", arguments: {} };
            session.begin("run-1").put({ type: "tool_call", ...call }, { type: "tool_approval", ...call });
          }}
        />
      ),
      failed: () => <StatusScene write={(session) => session.begin("run-1").end({ status: "error" })} />,
      interrupted: () => <StatusScene write={(session) => session.begin("run-1").put(say("…")).close()} />,
      finished: () => <StatusScene write={(session) => session.begin("run-1").end().close()} />,
    },
  },
];
