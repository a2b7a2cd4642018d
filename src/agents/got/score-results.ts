/**
 * Score, and keep the best: the model rates the results a node needs, and the best of them is the node's own. Where it does
 * not rate them as it was asked to, it is asked once more; then the first is kept, and it is said why.
 */
import type { Part } from "../../graph/index.ts";
import type { ModelMessage } from "../../models/model.ts";
import { isJsonObject } from "../../protocol/index.ts";
import { readLastObject } from "../read-json.ts";
import { askForForm, createComplaint, type Execution } from "./execution.ts";
import { type PlanNode, summarise } from "./plan.ts";
import { askForScores, askForScoresAgain, type Known } from "./prompts.ts";
import type { Outcome } from "./run-thoughts.ts";

/** In the order of what was rated. */
type Scores = { readonly scores: readonly number[] } | { readonly fault: string; readonly said: string };

export async function scoreResults(
  { context, node: around }: Execution,
  part: Part,
  node: PlanNode,
  known: readonly Known[],
): Promise<Outcome> {
  const asked = askForScores(context, node, known);
  const ask = (call: number, messages: readonly ModelMessage[]): Promise<Scores> =>
    part.once(`score-${call}`, async (inner): Promise<Scores> => {
      const { text, fault, said } = await askForForm(context, around.signal, inner.span, `score-${call}`, messages);
      const scores = fault ?? readScores(text, known);
      if (typeof scores !== "string") return { scores };
      if (call === 2) {
        const message = `the model gave no scores for ${node.id} (${scores}): the first result is kept`;
        inner.conclude(createComplaint("model_output_invalid", message, context.stage));
      }
      return { fault: scores, said };
    });
  let answered = await ask(1, asked);
  if ("fault" in answered) answered = await ask(2, askForScoresAgain(asked, answered.said, answered.fault));
  const [first] = known;
  if ("fault" in answered) return { text: first?.text ?? "" };
  const { scores } = answered;
  const best = scores.indexOf(Math.max(...scores));
  const told = known.map(({ id }, index) => `${id} ${scores[index]}`).join(", ");
  return {
    text: known[best]?.text ?? "",
    result_summary: summarise(`kept ${known[best]?.id} (${told})`),
    scored: known.map(({ id }) => id),
    scores,
  };
}

/** One score for each, or what is wrong with them. */
function readScores(text: string, known: readonly Known[]): readonly number[] | string {
  const given = readLastObject(text)?.["scores"];
  if (!isJsonObject(given)) return 'there is no JSON object with "scores" in it';
  const scores: number[] = [];
  for (const { id } of known) {
    const score = Object.hasOwn(given, id) ? given[id] : undefined;
    if (typeof score !== "number" || !(score >= 0 && score <= 1)) return `${id} has no score from 0 to 1`;
    scores.push(score);
  }
  return scores;
}
