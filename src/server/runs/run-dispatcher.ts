/**
 * The run dispatcher of a server: its agents, and the sessions it holds to execute messages with them. It is
 * independent of endpoints: a message is a command in the log, from any source.
 *
 * Invariants:
 * - A session is held while it has a live run or a pending message, and is closed after that.
 * - Sessions with pending messages or dead runs that no process holds are found by periodic sweeps.
 */
import type { Agent } from "../../agents/index.ts";
import type { AgentKindName } from "../../agents/agent-kind.ts";
import type { WriteTitle } from "../../agents/create-title-writer.ts";
import type { RunRequest } from "../../engine/index.ts";
import type { StrategyCaps, StrategySettingInfo } from "../../protocol/strategy-settings.ts";

/** An agent of a server, with the details that the agents endpoint shows. */
export interface ServedAgent {
  readonly agent: Agent;
  /** A one-line description for users. */
  readonly description?: string;
  /** The provider and model, such as `offline/loom-offline`. */
  readonly model?: string;
  /**
   * Writes the title of a session after its first answer, for example `createTitleWriter(model)`. Default: the title is
   * derived from the first message.
   */
  readonly writeTitle?: WriteTitle | undefined;
  /**
   * The highest values that messages may choose for strategy settings which multiply the cost, such as `{ beam: 10 }`;
   * code `invalid_command`. Default: the caps of `loom serve --caps`, or the agent's own value if that is higher.
   */
  readonly strategyCaps?: StrategyCaps | undefined;
}

/** What the agents endpoint shows of an agent. */
export interface ServedAgentInfo {
  readonly name: string;
  readonly kind: AgentKindName;
  /** Whether this is a `got` agent whose tasks may become graphs themselves. */
  readonly isAdaptive: boolean;
  readonly description?: string;
  readonly model?: string;
  readonly tools: readonly string[];
  /** Strategy settings that a message may choose. Absent if there are none. */
  readonly settings?: readonly StrategySettingInfo[];
  /** Whether this agent answers messages that name no agent. */
  readonly isDefault: boolean;
}

/**
 * What a request asks of its agent. Refused: client tools if the agent has a tool of the same name, an output schema if it
 * has no structured output, and strategy settings that it does not have or that are above their cap.
 */
export type AgentDemands = Pick<RunRequest, "clientTools" | "outputSchema" | "strategy">;

export interface CloseRunsOptions {
  /**
   * How long live runs may continue, in milliseconds. Runs that have not ended then are resumed by the next process.
   */
  readonly graceMs: number;
}

export interface RunDispatcher {
  readonly agents: readonly ServedAgentInfo[];
  /**
   * Returns the name of the agent to use. Throws `unknown_agent`, or `invalid_command` if the agent cannot do what the
   * request asks for.
   */
  resolveAgent(name: string | undefined, demands?: AgentDemands): string;
  /**
   * Makes sure that a process executes the pending commands and dead runs of the session. Resolves to true when this
   * process has executed the commands that it can: a message behind a live run stays pending. Resolves to false if this
   * process does not hold the session. Never rejects.
   */
  dispatch(sessionId: string): Promise<boolean>;
  /**
   * Sweeps for orphaned sessions, now and periodically. Resolves when the sessions of the first sweep have been opened,
   * as far as the limits allow. Rejects when the first sweep fails.
   */
  start(): Promise<void>;
  /** The number of held sessions. */
  readonly size: number;
  /** The number of live runs in this process. */
  readonly liveRuns: number;
  /** Accepts no more work, lets runs finish within the grace period, and closes all sessions. */
  close(options: CloseRunsOptions): Promise<void>;
}
