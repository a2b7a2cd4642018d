/**
 * The tool call and the runs in which the current code executes. Runs that a tool starts inherit the tool rules of the run
 * it belongs to, and must not be allowed more. An agent that works as a tool writes into that run.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Log } from "../log/index.ts";
import type { ToolRules } from "../protocol/index.ts";
import { joinToolRules } from "../protocol/tool-rules.ts";
import type { AgentRun } from "./agent-run.ts";

/** A tool call that an agent makes. */
export interface ParentCall {
  readonly log: Log;
  readonly run: AgentRun;
  /** The node run that the call belongs to. */
  readonly nodeId: string;
  /** Asks the user. The time limits of the node run do not count the wait. */
  readonly requestApproval: AgentRun["requestApproval"];
  /** Lets the client carry out a call. The time limits of the node run do not count the wait. */
  readonly callClient: AgentRun["callClient"];
}

interface EnclosingCall {
  readonly call: ParentCall;
  readonly outer: EnclosingCall | undefined;
}

const storage = new AsyncLocalStorage<EnclosingCall>();

/** Runs a tool call of an agent. */
export function runInCall<T>(call: ParentCall, work: () => T): T {
  return storage.run({ call, outer: storage.getStore() }, work);
}

/** Returns the tool call in which the caller executes; undefined if there is none. */
export function findParentCall(): ParentCall | undefined {
  return storage.getStore()?.call;
}

/** Whether the caller executes in a tool call of a live run of this session, or in a run that such a call started. */
export function isInsideSession(sessionId: string): boolean {
  for (let frame = storage.getStore(); frame !== undefined; frame = frame.outer)
    if (frame.call.run.sessionId === sessionId && frame.call.run.status === "live") return true;
  return false;
}

/** The rules of a new run: its own, combined with those of the run it is started in. */
export function inheritRules(own?: ToolRules): { readonly toolRules?: ToolRules } {
  const toolRules = joinToolRules(own, findParentCall()?.run.request.toolRules);
  return toolRules === undefined ? {} : { toolRules };
}

interface ContextFrame {
  readonly sessionId: string;
  readonly runId: string;
  readonly outer: ContextFrame | undefined;
}

/** Runs a function in the async context of a run and its caller. */
export type ContextRunner = <T>(work: () => T) => T;

/**
 * Tracks the runs of one agent in which the current code executes. A tool or an `approve` function that calls its agent
 * again is inside a run, and a call that waits for that run would wait for itself.
 */
export class CallContext {
  readonly #storage = new AsyncLocalStorage<ContextFrame>();

  enter({ sessionId, runId }: Pick<ContextFrame, "sessionId" | "runId">): ContextRunner {
    const frame = { sessionId, runId, outer: this.#storage.getStore() };
    const snapshot = this.#storage.run(frame, () => AsyncLocalStorage.snapshot());
    return (work) => snapshot(work);
  }

  /** Finds an active run of this session that the current code belongs to. Ended runs are ignored. */
  findRun(sessionId: string, isActive: (runId: string) => boolean): string | undefined {
    for (let frame = this.#storage.getStore(); frame !== undefined; frame = frame.outer)
      if (frame.sessionId === sessionId && isActive(frame.runId)) return frame.runId;
    return undefined;
  }
}
