/** Tree of Thoughts as a graph: generate thoughts, rate them, run their tools, then continue, backtrack or answer. */
import { defineGraph, END, type NodeContext } from "../../graph/index.ts";
import { listOpenCalls } from "../agent-run.ts";
import { isBlank } from "../compose-question.ts";
import { describeCut, describeEmpty } from "../create-warning.ts";
import { think } from "../think.ts";
import { actOnThoughts, listActing } from "./act-on-thoughts.ts";
import { decideNext, findFinalThought, goBack } from "./decide-next.ts";
import { expandThoughts } from "./expand-thoughts.ts";
import { judgeThoughts } from "./judge-thoughts.ts";
import { askForAnswer } from "./prompts.ts";
import { closeCalls, type TotContext } from "./tot-context.ts";
import { channels, listSteps, type TotState } from "./tot-state.ts";

export function createTotGraph(context: TotContext) {
  const { maxThoughts, maxBacktracks } = context.search;
  return defineGraph({
    name: "tot",
    channels,
    start: "think_expand",
    // Each round makes a thought or backtracks; the limits of both are reached before this one.
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
  const { run, model, stage } = context;
  context.answerNodeId = span.nodeId;
  // Calls of thoughts that were not continued, and of answers that a crash cut off.
  await closeCalls(context, span, listOpenCalls(run), "the search ended");
  const outcome = state.outcome ?? "unsolved";
  const end = findFinalThought(context, state, outcome);
  const steps = end === null ? [] : listSteps(state, end);
  const asked = askForAnswer(context, steps, outcome);
  const { result } = await think(context, asked, { span, signal, channel: "answer" });
  const { finishReason, text } = result;
  const isAnswered = !isBlank(text);
  const cut = describeCut(finishReason, stage);
  if (cut !== undefined) void span.emit(cut);
  if (!isAnswered) void span.emit(describeEmpty(model, finishReason, stage));
  return { isAnswered };
}
