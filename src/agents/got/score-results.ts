/**
 * The operation `score`: the model rates the results that a node needs, and the best become the node's result. Invalid
 * scores are requested once more; then the first result is kept with a warning.
 */
import type { PartContext } from "../../graph/graph.ts";
import type { Json } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { removeThinking } from "../../models/think-tags.ts";
import { askForJson } from "../ask-for-json.ts";
import { findField, listJson } from "../read-json.ts";
import { readScores } from "../read-score.ts";
import type { Execution, ThoughtOutcome } from "./execution.ts";
import { type PlanNode, toLabel } from "./plan.ts";
import { MAX_PLAN_NODES } from "./read-plan.ts";
import { askForScores, createScoresForm, type KnownResult } from "./prompts.ts";

export async function scoreResults(
  { context, node: around }: Execution,
  part: PartContext,
  node: PlanNode,
  known: readonly KnownResult[],
): Promise<ThoughtOutcome> {
  const reply = await askForJson<readonly number[]>(
    context,
    {
      ...createScoresForm(known),
      messages: askForScores(context, node, known),
      read: ({ result }) => readResultScores(result.text, known),
    },
    {
      span: part.span,
      signal: around.signal,
      channel: "judgement",
      parts: {
        around: part,
        nameOf: (call) => `score-${call}`,
        describeFault: (fault) => `The model gave no valid scores for ${node.id} (${fault}); the first result is kept`,
      },
    },
  );
  if (!("value" in reply)) return { text: known[0]?.text ?? "" };
  const { value: scores } = reply;
  const ranked = known
    .map((one, index) => ({ ...one, score: scores[index] ?? 0 }))
    .toSorted((a, b) => b.score - a.score);
  const kept = ranked.slice(0, node.keep ?? context.limits.keepBest);
  const rated = known.map(({ id }, index) => `${id} ${scores[index]}`).join(", ");
  return {
    text: kept.map(({ text }) => text).join("\n\n"),
    score: kept[0]?.score ?? 0,
    result_summary: toLabel(`kept ${kept.map(({ id }) => id).join(", ")} (${rated})`),
    scored: known.map(({ id }) => id),
    scores,
  };
}

/** Returns one score per result, or the fault. */
export function readResultScores(text: string, known: readonly Pick<KnownResult, "id">[]): readonly number[] | string {
  let fault: string | undefined;
  for (const value of listJson(removeThinking(text))) {
    const listed = listGiven(value, known);
    if (listed === undefined) continue;
    const scores = readScores(listed);
    const missing = known.find((_, index) => scores[index] === undefined);
    if (missing === undefined) return scores as readonly number[];
    fault ??= `${missing.id} has no score from 0 to 1`;
  }
  return fault ?? 'there is no JSON object with "scores"';
}

/** Longer lists are not read: there are at most as many results as a plan has nodes. */
const MAX_ITEMS = 2 * MAX_PLAN_NODES;

/** The values of the results, from an object by ID, a list of objects with ID and score, or a list in their order. */
function listGiven(value: Json, known: readonly Pick<KnownResult, "id">[]): readonly (Json | undefined)[] | undefined {
  const given = isJsonObject(value) ? (findField(value, "scores", "ratings", "results") ?? value) : value;
  if (Array.isArray(given)) {
    const items = given as readonly Json[];
    if (items.length > MAX_ITEMS) return undefined;
    if (!items.every(isJsonObject)) return items.length === known.length ? items : undefined;
    const pairs = items.map((item) => [
      findField(item, "id", "result", "name"),
      findField(item, "score", "rating", "value"),
    ]);
    return known.map(
      ({ id }) => pairs.find(([name]) => typeof name === "string" && name.toLowerCase() === id.toLowerCase())?.[1],
    );
  }
  if (!isJsonObject(given)) return undefined;
  const byName = new Map(Object.entries(given).map(([name, score]) => [name.trim().toLowerCase(), score]));
  const found = known.map(({ id }) => (Object.hasOwn(given, id) ? given[id] : byName.get(id.toLowerCase())));
  return given === value && found.every((score) => score === undefined) ? undefined : found;
}
