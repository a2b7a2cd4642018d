/**
 * The model calls of one node run of a search. Each is a part of the node. A failed call loses only its own answer; if all
 * calls fail, the node fails. Cancellation and log errors do not count as failures of the model.
 *
 * Invariant: everything follows from the results of the calls, so a restart leads to the same outcome.
 */
import { type ErrorCode, isLoomError, type Json, LoomError } from "../../protocol/index.ts";
import type { NodeContext } from "../../graph/index.ts";
import type { PartContext } from "../../graph/graph.ts";
import { PROVIDER_FAILURES } from "../../models/model-fault.ts";
import { createWarning } from "../create-warning.ts";
import { findSpentBudget, type TotContext } from "./tot-context.ts";
import type { TotState } from "./tot-state.ts";

/** A failed call, stored as its result. */
export type CallFailure = { readonly code: ErrorCode; readonly message: string };

type CallOutcome = Json & { readonly tokens: number; readonly failure?: CallFailure };

/** After this many failures without a success, no further call is started; running ones may still succeed. */
const MAX_FIRST = 8;

export class SearchCalls {
  readonly #context: TotContext;
  readonly #state: TotState;
  readonly #node: NodeContext;
  readonly #failures: CallFailure[] = [];
  #succeeded = 0;
  /** Tokens of the search so far. */
  tokens: number;

  constructor(context: TotContext, state: TotState, node: NodeContext) {
    this.#context = context;
    this.#state = state;
    this.#node = node;
    this.tokens = state.tokens;
  }

  /**
   * Makes a call. Undefined if it is not made, because a budget is used up or the model only fails. `name` is that of the
   * span of the call.
   */
  async ask<Outcome extends CallOutcome>(
    { key, name }: { readonly key: string; readonly name: string | undefined },
    work: (part: PartContext) => Promise<Outcome>,
    describeFailure: (failure: CallFailure) => Outcome,
  ): Promise<Outcome | undefined> {
    // Remembered answers count even if a budget is used up.
    const isPointless = this.#succeeded === 0 && this.#failures.length >= MAX_FIRST;
    const isSpent = findSpentBudget(this.#context, this.#state.startedAt, this.tokens) !== undefined;
    if ((isPointless || isSpent) && !this.#node.has(key)) return undefined;
    const recover = (error: unknown): Outcome | undefined => {
      if (!isLoomError(error, ...PROVIDER_FAILURES)) return undefined;
      return describeFailure({ code: error.code, message: error.message });
    };
    const outcome = await this.#node.once<Outcome>(key, work, { name, recover });
    if (outcome.failure === undefined) this.#succeeded++;
    else this.#failures.push(outcome.failure);
    this.tokens += outcome.tokens;
    return outcome;
  }

  /** Reports the failures. Throws if no call succeeded, unless the search has a thought to answer with. */
  report(): void {
    const { stage } = this.#context;
    const [first] = this.#failures;
    if (first === undefined) return;
    const { code, message } = first;
    if (this.#succeeded === 0 && this.#state.best === null) throw new LoomError(code, message, { stage });
    const many = `${this.#failures.length} model calls failed and are ignored: ${message}`;
    this.#node.emitWithResult(createWarning(many, stage, code));
  }
}
