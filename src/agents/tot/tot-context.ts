/** What the nodes of a tree search share: the settings, the budget, and how tool calls that will not run are closed. */
import type { NodeRun } from "../../engine/index.ts";
import type { AgentContext } from "../agent-kind.ts";
import type { TotSettings } from "./tot-settings.ts";

export interface TotContext extends AgentContext {
  readonly search: TotSettings;
  /** The node run that writes the answer. */
  answerNodeId: string | undefined;
}

/** Describes the budget that is used up, tokens or time; undefined while both remain. */
export function findSpentBudget({ search, run }: TotContext, startedAt: number, tokens: number): string | undefined {
  if (tokens >= search.maxTokens) return `its budget of ${search.maxTokens} tokens`;
  // The state of a fork has the time of the original.
  const since = Math.max(startedAt, run.work.startedAt ?? startedAt);
  if (run.now() - since >= search.maxMs) return `its time limit of ${search.maxMs} ms`;
  return undefined;
}

/** Calls closed per batch; thousands may be open, and the log has a backlog limit. */
const MAX_CLOSED = 100;

/** Closes tool calls that will not run. Those whose node run has ended are ended by this one. */
export async function closeCalls(
  { run }: TotContext,
  { nodeId }: Pick<NodeRun, "nodeId">,
  ids: readonly string[],
  reason: string,
): Promise<void> {
  for (let from = 0; from < ids.length; from += MAX_CLOSED) {
    await run.ready();
    run.closeCalls(ids.slice(from, from + MAX_CLOSED), { reason, nodeId });
  }
}
