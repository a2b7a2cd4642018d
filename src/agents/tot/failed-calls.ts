/**
 * Calls of one node run that the model failed. One that is refused, cut or too slow costs its own answer; where none
 * succeeds, the model has failed. What is cancelled, and what the log refuses, is no failure of a model.
 *
 * Invariant: what it says follows from the results of the calls alone, so that it says the same after a restart.
 */
import { type ErrorCode, isLoomError, LoomError } from "../../protocol/index.ts";
import type { NodeContext } from "../../graph/index.ts";
import { describeFault } from "./ask-model.ts";

/** A call that failed, as its result. */
export type Failure = { readonly code: ErrorCode; readonly message: string };

const CODES: readonly ErrorCode[] = ["model_failed", "model_timeout", "model_stream_cut"];
/** After so many in a row from the first on, no other is tried. */
const MAX_FIRST = 8;

export class FailedCalls {
  readonly #failures: Failure[] = [];
  #given = 0;

  /** No other call is worth beginning; those that are going may still be answered. */
  get areHopeless(): boolean {
    return this.#given === 0 && this.#failures.length >= MAX_FIRST;
  }

  /** Undefined where the error is to be thrown. */
  recover(error: unknown): Failure | undefined {
    if (!isLoomError(error) || !CODES.includes(error.code)) return undefined;
    return { code: error.code, message: error.message };
  }

  /** The result of a call. */
  count({ failure }: { readonly failure?: Failure }): void {
    if (failure === undefined) this.#given++;
    else this.#failures.push(failure);
  }

  /** Throws where none succeeded, unless the search has something else to go on with. */
  conclude(node: NodeContext, stage: string, hasElse: boolean): void {
    const [first] = this.#failures;
    if (first === undefined) return;
    const { code, message } = first;
    if (this.#given === 0 && !hasElse) throw new LoomError(code, message, { stage });
    const many = `${this.#failures.length} calls of the model failed, and count for nothing: ${message}`;
    node.conclude(describeFault(many, stage, code));
  }
}
