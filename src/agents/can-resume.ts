/** Whether an agent can continue a run of another process. */
import type { DeadRun } from "../engine/index.ts";
import type { Toolbox } from "../tools/toolbox.ts";
import { ADAPTIVE, isKindName } from "../protocol/agent-kinds.ts";
import type { AgentKindName } from "./agent-kind.ts";

/**
 * A call that waits for approval or for the client needs its tool; without the tool, the run is left to an agent that
 * has it.
 */
export function canResume(
  { kind, toolbox }: { readonly kind: AgentKindName; readonly toolbox: Toolbox },
  { run, calls }: Pick<DeadRun, "run" | "calls">,
): boolean {
  // A name that is not a kind is a custom agent name.
  const runKind = run.agent === ADAPTIVE ? "got" : run.agent;
  if (isKindName(runKind) && runKind !== kind) return false;
  const hasTool = (name: string): boolean =>
    toolbox.find(name) !== undefined || run.request.clientTools?.some((tool) => tool.name === name) === true;
  return calls.every(
    ({ approvalArguments, state, name = "" }) =>
      (approvalArguments === undefined && state !== "delegated") || hasTool(name),
  );
}
