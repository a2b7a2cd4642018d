/**
 * Requests a plan from the model, and once more if it is invalid. The result of each call is remembered, so that
 * finished calls are not repeated.
 */
import type { PartContext } from "../../graph/graph.ts";
import type { ModelMessage } from "../../models/model.ts";
import { LoomError } from "../../protocol/index.ts";
import { askForJson, type GotContext } from "./execution.ts";
import type { Plan } from "./plan.ts";
import { askForPlanAgain, PLAN_FORMAT } from "./prompts.ts";
import { type LayerContext, type PlanOutcome, readPlan } from "./read-plan.ts";

/** The remembered result of a call: a plan, or its fault and what the model said. */
type PlanAnswer = { readonly plan: Plan } | { readonly fault: string; readonly said: string };

export interface PlanRequest {
  readonly signal: AbortSignal;
  /** Span of the model calls. Default: the span of the part. */
  readonly span?: PartContext["span"];
  /** Prefix of the names of the parts, such as `plan-1` and `plan-2`. */
  readonly key: string;
  readonly asked: readonly ModelMessage[];
  /** Returns the maximum number of nodes at the time the answer arrives. */
  readonly findRoom: () => number;
  /** Id of the node that the plan expands. Undefined for the plan of the question. */
  readonly inside?: string;
  /** The layers before, if the plan is one of several layers. */
  readonly layer?: LayerContext;
  /** Called with the valid plan, or with the fault of the second answer, in the part that records it. */
  readonly onOutcome?: (outcome: PlanOutcome, part: PartContext) => void;
}

/** Returns the plan, or the fault of the second answer. */
export async function requestPlan(
  context: GotContext,
  part: PartContext,
  { signal, span = part.span, key, asked, findRoom, inside, layer, onOutcome }: PlanRequest,
): Promise<PlanOutcome> {
  const ask = (call: number, messages: readonly ModelMessage[]): Promise<PlanAnswer> =>
    part.once(`${key}-${call}`, async (inner): Promise<PlanAnswer> => {
      const { text, fault, said } = await askForJson(context, signal, span, `${key}-${call}`, messages, {
        responseFormat: PLAN_FORMAT,
        isJson: true,
      });
      const outcome: PlanOutcome =
        fault === undefined ? readPlan(text, findRoom(), { inside, layer }) : { ok: false, fault };
      if (outcome.ok || call === 2) onOutcome?.(outcome, inner);
      if (outcome.ok) return { plan: outcome.plan };
      return { fault: outcome.fault, said };
    });
  let answered = await ask(1, asked);
  if ("fault" in answered) answered = await ask(2, askForPlanAgain(asked, answered.said, answered.fault));
  return "plan" in answered ? { ok: true, plan: answered.plan } : { ok: false, fault: answered.fault };
}

/** Returns the plan remembered under this key, or undefined. */
export async function recallPlan(part: PartContext, key: string): Promise<Plan | undefined> {
  for (const call of [1, 2]) {
    if (!part.has(`${key}-${call}`)) return undefined;
    const answered = await part.once<PlanAnswer>(`${key}-${call}`, () => {
      throw new LoomError("node_failed", `The plan "${key}" is not remembered`);
    });
    if ("plan" in answered) return answered.plan;
  }
  return undefined;
}
