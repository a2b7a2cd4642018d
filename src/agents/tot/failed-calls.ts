/**
 * Counts failed model calls of one node run. A failed call loses only its own answer; if all calls fail, the node
 * fails. Cancellation and log errors do not count as failures of the model.
 *
 * Invariant: everything follows from the results of the calls, so a restart leads to the same outcome.
 */
import { type ErrorCode, isLoomError, LoomError } from "../../protocol/index.ts";
import type { NodeContext } from "../../graph/index.ts";
import { PROVIDER_FAILURES } from "../../models/model-fault.ts";
import { createWarning } from "../create-warning.ts";

/** A failed call, stored as its result. */
export type CallFailure = { readonly code: ErrorCode; readonly message: string };

/** After this many failures without a success, no further call is started. */
const MAX_FIRST = 8;

export class FailedCalls {
  readonly #failures: CallFailure[] = [];
  #succeeded = 0;

  /** True if starting further calls is pointless; running ones may still succeed. */
  get shouldStop(): boolean {
    return this.#succeeded === 0 && this.#failures.length >= MAX_FIRST;
  }

  /** Undefined if the error must be rethrown. */
  recover(error: unknown): CallFailure | undefined {
    if (!isLoomError(error, ...PROVIDER_FAILURES)) return undefined;
    return { code: error.code, message: error.message };
  }

  /** Counts the result of a call. */
  record({ failure }: { readonly failure?: CallFailure }): void {
    if (failure === undefined) this.#succeeded++;
    else this.#failures.push(failure);
  }

  /** Reports the failures. Throws if no call succeeded, unless the search can continue without them (`canContinue`). */
  report(node: NodeContext, stage: string, canContinue: boolean): void {
    const [first] = this.#failures;
    if (first === undefined) return;
    const { code, message } = first;
    if (this.#succeeded === 0 && !canContinue) throw new LoomError(code, message, { stage });
    const many = `${this.#failures.length} model calls failed and are ignored: ${message}`;
    node.emitWithResult(createWarning(many, stage, code));
  }
}
