/**
 * The tool call in which the current code executes. Runs that a tool starts inherit the tool rules of the run it belongs
 * to, and must not be allowed more. An agent that works as a tool writes into that run.
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

const storage = new AsyncLocalStorage<ParentCall>();

/** Runs a tool call of an agent. */
export function runInCall<T>(call: ParentCall, work: () => T): T {
  return storage.run(call, work);
}

/** Returns the tool call in which the caller executes; undefined if there is none. */
export function findParentCall(): ParentCall | undefined {
  return storage.getStore();
}

/** The rules of a new run: its own, combined with those of the run it is started in. */
export function inheritRules(own?: ToolRules): { readonly toolRules?: ToolRules } {
  const toolRules = joinToolRules(own, storage.getStore()?.run.toolRules);
  return toolRules === undefined ? {} : { toolRules };
}
