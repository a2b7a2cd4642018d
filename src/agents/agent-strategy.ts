/**
 * The interface between an agent and the way it answers. The agent starts and ends runs, serves calls and observers, and
 * recovers runs of dead processes; the strategy does the work of one run.
 */
import type { DeadRun, Run } from "../engine/index.ts";
import type { FinishOptions } from "../engine/run-contract.ts";
import type { Log } from "../log/index.ts";
import type { StrategySettings } from "../protocol/strategy-settings.ts";
import type { AgentKindName } from "./agent-kind.ts";
import type { AgentRun } from "./agent-run.ts";
import type { AgentBlobs } from "./attachments.ts";
import type { FileStorage } from "./load-attachments.ts";
import type { OutputFormat } from "./output-format.ts";

/** Options for the work of one run. */
export interface AnswerOptions {
  /** Storage for the files of the session. Default: the agent's. */
  readonly blobs?: AgentBlobs | undefined;
  /** The structured output that the caller asked for. */
  readonly output?: OutputFormat | undefined;
  /** True for the work of an agent as a tool: it has no history. Default: false. */
  readonly isNested?: boolean;
}

/** How an agent answers messages. */
export interface AgentStrategy {
  readonly kind: AgentKindName;
  /** True for a `got` agent whose tasks may expand into subgraphs. */
  readonly isAdaptive: boolean;
  /** Names of the tools it may call, as far as they are known. */
  readonly toolNames: readonly string[];
  /** The strategy settings in the options of the agent. Undefined if the agent has no such settings. */
  readonly ownSettings?: StrategySettings | undefined;
  /** Whether it answers calls that ask for structured output. Default: false. */
  readonly hasOutput?: boolean;
  /** Where it keeps the files of messages. Default: it accepts no files from programs. */
  readonly files?: FileStorage;
  /** Answers the message of a started run and returns how to finish it. */
  answer(log: Log, run: AgentRun, options: AnswerOptions): Promise<FinishOptions>;
  /** Continues the run of a dead process from its checkpoint. */
  resume(log: Log, dead: DeadRun, options: AnswerOptions): Promise<FinishOptions>;
  /** Whether it can continue the run of another process. It must not write. */
  canResume(dead: Pick<DeadRun, "run" | "calls">): boolean;
  /** Whether it can answer again after it has called tools or sent text, when the process has died. It must not write. */
  canRestart(run: Run): boolean;
  /** Whether a tool may be run again after it had started. */
  isIdempotent(name: string): boolean;
  /** Whether all its tools may be run again after they had started. */
  readonly isRepeatable: boolean;
  /** Discards what it remembers of a session. */
  forget(sessionId: string): void;
}
