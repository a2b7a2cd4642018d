/**
 * Asks the model for a plan, of the question or of a node, and once more where it was bad. What came of it is remembered
 * with each call, so that no call that has ended is made again.
 */
import type { Part } from "../../graph/index.ts";
import type { ModelMessage } from "../../models/model.ts";
import { LoomError } from "../../protocol/index.ts";
import { askForForm, type GotContext } from "./execution.ts";
import type { Plan } from "./plan.ts";
import { askForPlanAgain } from "./prompts.ts";
import { type PlanOutcome, readPlan } from "./read-plan.ts";

/** What a call has given: a plan, or what is wrong with it and what was said. */
type Answered = { readonly plan: Plan } | { readonly fault: string; readonly said: string };

export interface PlanRequest {
  readonly signal: AbortSignal;
  /** Where the model is heard; that of the part which remembers when absent. */
  readonly span?: Part["span"];
  /** Names the parts: `plan-1` and `plan-2`, so that a node may ask for several things. */
  readonly key: string;
  readonly asked: readonly ModelMessage[];
  /** How many nodes it may have, when the answer is there. */
  readonly findRoom: () => number;
  /** The node it is a plan of; that of the question when absent. */
  readonly inside?: string;
  /** Called in the part that has the plan, or has found none for the second time: for what is to be written with it. */
  readonly onOutcome?: (outcome: PlanOutcome, part: Part) => void;
}

/** The plan, or what was wrong with it for the second time. */
export async function requestPlan(
  context: GotContext,
  part: Part,
  { signal, span = part.span, key, asked, findRoom, inside, onOutcome }: PlanRequest,
): Promise<PlanOutcome> {
  const ask = (call: number, messages: readonly ModelMessage[]): Promise<Answered> =>
    part.once(`${key}-${call}`, async (inner): Promise<Answered> => {
      const { text, fault, said } = await askForForm(context, signal, span, `${key}-${call}`, messages);
      const outcome: PlanOutcome = fault === undefined ? readPlan(text, findRoom(), inside) : { ok: false, fault };
      if (outcome.ok || call === 2) onOutcome?.(outcome, inner);
      if (outcome.ok) return { plan: outcome.plan };
      return { fault: outcome.fault, said };
    });
  let answered = await ask(1, asked);
  if ("fault" in answered) answered = await ask(2, askForPlanAgain(asked, answered.said, answered.fault));
  return "plan" in answered ? { ok: true, plan: answered.plan } : { ok: false, fault: answered.fault };
}

/** The plan that was remembered under this key; undefined where there is none, or none yet. */
export async function recallPlan(part: Part, key: string): Promise<Plan | undefined> {
  for (const call of [1, 2]) {
    if (!part.has(`${key}-${call}`)) return undefined;
    const answered = await part.once<Answered>(`${key}-${call}`, () => {
      throw new LoomError("node_failed", `the plan ${key} is not remembered`);
    });
    if ("plan" in answered) return answered.plan;
  }
  return undefined;
}
