/**
 * Who carries out the messages of sessions: the agents this server has, by name, and the sessions it holds for them. It
 * knows no door; a message is a command in the log, whoever wrote it.
 *
 * Invariants:
 * - A session is held while it has a live run or a message that waits, and let go of when it has neither.
 * - Messages and dead runs that nobody holds are found by looking, now and then: a process that died gives no sign.
 */
import type { Agent, AgentKindName } from "../../agents/index.ts";

export interface ServedAgent {
  readonly agent: Agent;
  /** One line for people. */
  readonly description?: string;
  /** Provider and model, as `offline/loom-offline`. */
  readonly model?: string;
}

export interface AgentInfo {
  readonly name: string;
  readonly kind: AgentKindName;
  /** A `got` whose tasks may become graphs. */
  readonly isAdaptive: boolean;
  readonly description?: string;
  readonly model?: string;
  readonly tools: readonly string[];
  /** The one that answers messages that name none. */
  readonly isDefault: boolean;
}

export interface CloseRunsOptions {
  /** How long runs may go on; those that have not ended then are left for whoever comes next, as they are. */
  readonly graceMs: number;
}

export interface RunDesk {
  readonly agents: readonly AgentInfo[];
  /** The name of the agent that is meant; throws `unknown_agent`. */
  resolveAgent(name: string | undefined): string;
  /** A message waits in this session, or a run was left: sees to it that somebody carries it out. Never throws. */
  attend(sessionId: string): void;
  /** Looks for what other processes left, now and from then on. Resolves when the first look is done. */
  start(): Promise<void>;
  /** Sessions that are held here. */
  readonly size: number;
  /** Runs that are going on here. */
  readonly liveRuns: number;
  /** Takes nothing new, lets runs end within the time, lets go of all sessions. */
  close(options: CloseRunsOptions): Promise<void>;
}
