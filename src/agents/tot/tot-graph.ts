/**
 * Tree of Thoughts as a graph: thoughts are made, judged and acted on; what came of it is observed, and the search goes
 * on, goes back to something it had left, or answers.
 */
import { defineGraph, END, type NodeContext } from "../../graph/index.ts";
import { describeCut } from "../describe-cut.ts";
import { isBlank } from "../compose-question.ts";
import { actOnThoughts, listActing } from "./act-on-thoughts.ts";
import { askModel, closeCalls, type TotContext } from "./ask-model.ts";
import { decideNext, findEnd, goBack } from "./decide-next.ts";
import { expandThoughts } from "./expand-thoughts.ts";
import { judgeThoughts } from "./judge-thoughts.ts";
import { askForAnswer } from "./prompts.ts";
import { channels, listSteps, type TotState } from "./tot-state.ts";

export function createTotGraph(context: TotContext) {
  const { maxThoughts, maxBacktracks } = context.search;
  return defineGraph({
    name: "tot",
    channels,
    start: "think_expand",
    // A round makes a thought or goes back, and each of these has its own limit, told by its own name.
    maxSteps: 6 * (maxThoughts + maxBacktracks + 2),
    nodes: {
      think_expand: (state, node) => expandThoughts(context, state, node),
      think_evaluate: (state, node) => judgeThoughts(context, state, node),
      act: (state, node) => actOnThoughts(context, state, node),
      observe: (state, node) => decideNext(context, state, node),
      backtrack: (state, node) => goBack(context, state, node),
      answer: (state, node) => giveAnswer(context, state, node),
    },
    edges: {
      think_expand: "think_evaluate",
      think_evaluate: (state) => (listActing(context, state).length > 0 ? "act" : "observe"),
      act: "observe",
      observe: ({ outcome, isBack }) => (outcome !== null ? "answer" : isBack ? "backtrack" : "think_expand"),
      backtrack: (state) => (listActing(context, state).length > 0 ? "act" : "think_expand"),
      answer: END,
    },
  });
}

async function giveAnswer(context: TotContext, state: TotState, { span, signal }: NodeContext) {
  const { run } = context;
  context.answerNodeId = span.nodeId;
  // Those of thoughts that did not come to it, and of answers that were cut off with their process.
  const open = [...run.work.calls].flatMap(({ callId }) => (callId === undefined ? [] : [callId]));
  await closeCalls(context, open, "the search was over");
  const outcome = state.outcome ?? "unsolved";
  const end = findEnd(context, state, outcome);
  const steps = end === null ? [] : listSteps(state, end);
  const { thought } = await askModel(context, askForAnswer(context, steps, outcome), {
    span,
    signal,
    channel: "answer",
  });
  const cut = thought === undefined ? undefined : describeCut(thought.result.finishReason, context.stage);
  if (cut !== undefined) void span.emit(cut);
  return { isAnswered: !isBlank(thought?.result.text ?? "") };
}
