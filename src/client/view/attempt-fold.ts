/**
 * Tracks the attempts of one run. When the process of a run dies, the next one closes what was open, reports a
 * recoverable error with the code `interrupted` and runs the interrupted nodes again. That error is not shown: once the
 * run continues, what the dead process left incomplete is marked as superseded. If the run ends instead, the error is
 * what ended it.
 */
import type { AnyEvent } from "../../protocol/index.ts";
import type { ErrorEvent, NodeEnterEvent } from "../../protocol/events.generated.ts";
import type { MessageFold } from "./message-fold.ts";
import type { NodeRuns } from "./node-runs.ts";

/** Events that close open work or only report. After an interruption, any other event means that the run continues. */
const CLOSINGS: ReadonlySet<string> = new Set([
  "tool_end",
  "tool_approval_result",
  "reasoning_end",
  "llm_end",
  "usage",
  "got_node_failed",
  "node_exit",
  "error",
  "run_end",
]);

export class AttemptFold {
  readonly #message: MessageFold;
  readonly #nodes: NodeRuns;
  /** The latest interruption, until the run continues or ends. */
  interruption: ErrorEvent | undefined;
  /** Number of the current attempt. */
  attempt = 1;

  constructor(message: MessageFold, nodes: NodeRuns) {
    this.#message = message;
    this.#nodes = nodes;
  }

  /** Applies an error of the run. Returns false if it is not an interruption and must be shown. */
  interrupt(event: ErrorEvent): boolean {
    const { code, stage, recoverable } = event;
    const isInterruption = (code ?? stage) === "interrupted" && recoverable !== false;
    this.interruption = isInterruption ? event : undefined;
    return isInterruption;
  }

  /** Continues the run after an interruption, unless the event only closes what was open. Returns true if it does. */
  resume(event: AnyEvent): boolean {
    if (this.interruption === undefined || CLOSINGS.has(event.type)) return false;
    this.attempt = this.interruption.attempt ?? this.attempt + 1;
    this.interruption = undefined;
    this.#supersede(undefined);
    return true;
  }

  /** Applies `supersedes`, in case the end of the interrupted node run or the error was not received. */
  enter({ supersedes, attempt = this.attempt }: NodeEnterEvent): void {
    if (attempt > this.attempt) this.attempt = attempt;
    if (supersedes !== undefined) this.#supersede(supersedes);
  }

  #supersede(nodeId: string | undefined): void {
    const { attempt } = this;
    // Some dialects have no node runs.
    const hasNodes = nodeId !== undefined || this.#nodes.list.length > 0;
    for (const author of this.#nodes.supersede(attempt, nodeId)) this.#message.supersede(author, attempt);
    if (!hasNodes) this.#message.supersedeRecent(this.#nodes.runAuthor, attempt);
  }
}
