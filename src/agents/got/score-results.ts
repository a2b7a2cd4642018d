/**
 * The operation `score`: the model rates the results that a node needs, and the best becomes the node's result. Invalid
 * scores are requested once more; then the first result is kept with a warning.
 */
import type { PartContext } from "../../graph/index.ts";
import type { ModelMessage } from "../../models/model.ts";
import { isJsonObject } from "../../protocol/index.ts";
import { readLastObject } from "../read-json.ts";
import { askForJson, createWarning, type Execution, type ThoughtOutcome } from "./execution.ts";
import { type PlanNode, toLabel } from "./plan.ts";
import { askForScores, askForScoresAgain, type KnownResult } from "./prompts.ts";

/** Scores in the order of the results. */
type Scores = { readonly scores: readonly number[] } | { readonly fault: string; readonly said: string };

export async function scoreResults(
  { context, node: around }: Execution,
  part: PartContext,
  node: PlanNode,
  known: readonly KnownResult[],
): Promise<ThoughtOutcome> {
  const asked = askForScores(context, node, known);
  const ask = (call: number, messages: readonly ModelMessage[]): Promise<Scores> =>
    part.once(`score-${call}`, async (inner): Promise<Scores> => {
      const { text, fault, said } = await askForJson(context, around.signal, inner.span, `score-${call}`, messages);
      const scores = fault ?? readScores(text, known);
      if (typeof scores !== "string") return { scores };
      if (call === 2) {
        const message = `The model gave no valid scores for ${node.id} (${scores}); the first result is kept`;
        inner.emitWithResult(createWarning("model_output_invalid", message, context.stage));
      }
      return { fault: scores, said };
    });
  let answered = await ask(1, asked);
  if ("fault" in answered) answered = await ask(2, askForScoresAgain(asked, answered.said, answered.fault));
  const [first] = known;
  if ("fault" in answered) return { text: first?.text ?? "" };
  const { scores } = answered;
  const best = scores.indexOf(Math.max(...scores));
  const rated = known.map(({ id }, index) => `${id} ${scores[index]}`).join(", ");
  return {
    text: known[best]?.text ?? "",
    result_summary: toLabel(`kept ${known[best]?.id} (${rated})`),
    scored: known.map(({ id }) => id),
    scores,
  };
}

/** Returns one score per result, or the fault. */
function readScores(text: string, known: readonly KnownResult[]): readonly number[] | string {
  const given = readLastObject(text)?.["scores"];
  if (!isJsonObject(given)) return 'there is no JSON object with "scores"';
  const scores: number[] = [];
  for (const { id } of known) {
    const score = Object.hasOwn(given, id) ? given[id] : undefined;
    if (typeof score !== "number" || !(score >= 0 && score <= 1)) return `${id} has no score from 0 to 1`;
    scores.push(score);
  }
  return scores;
}
