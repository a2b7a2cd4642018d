/** Finds work of a session that needs another agent, or other tools, than those of this process. */
import type { Agent } from "../../agents/index.ts";
import { followRecords, type Log } from "../../log/index.ts";
import { CliError } from "../command.ts";
import { cutColumns } from "../fit-text.ts";
import { PendingApprovals } from "./pending-approvals.ts";
import { isBuiltIn } from "./read-agent-options.ts";

/** The unfinished run of a session, or its next message. */
export interface OtherAgentWork {
  readonly agent: string;
  readonly kind: "run" | "message";
}

/** Returns undefined if another process holds the session, because that process does the work. */
export async function findOtherAgent(
  log: Log,
  sessionId: string,
  agentName: string,
): Promise<OtherAgentWork | undefined> {
  const info = await log.getSession(sessionId);
  if (info === undefined || info.holder !== undefined) return undefined;
  const [latest] = await log.listRuns(sessionId, { limit: 1 });
  const pending = latest?.status === "live" ? [] : await log.listPending(sessionId, log.limits.maxPendingCommands);
  const agent =
    latest?.status === "live" ? latest.agent : pending.find(({ kind }) => kind === "enqueue")?.body["agent"];
  if (typeof agent !== "string" || agent === agentName) return undefined;
  return { agent, kind: latest?.status === "live" ? "run" : "message" };
}

/**
 * Returns the tools that the agent lacks to continue the unfinished run of a session. To open the session without them
 * would end the run. Returns none if another process holds the session.
 */
export async function findMissingTools(
  log: Log,
  sessionId: string,
  { kind, toolNames }: Pick<Agent, "kind" | "toolNames">,
): Promise<readonly string[]> {
  const info = await log.getSession(sessionId);
  // An agent of another framework need not name its tools.
  if (info === undefined || info.holder !== undefined || kind === "foreign") return [];
  const [latest] = await log.listRuns(sessionId, { limit: 1 });
  if (latest?.status !== "live") return [];
  const approvals = new PendingApprovals();
  for await (const { records } of followRecords(log, sessionId, { after: latest.firstId - 1 }))
    for (const record of records) approvals.add(record);
  return approvals.neededTools.filter((name) => !toolNames.includes(name));
}

/** A run can only be continued by its own agent. `cancel`: the command that cancels it. */
export function describeOtherAgent({ agent, kind }: OtherAgentWork, agentName: string, cancel: string): CliError {
  const shown = cutColumns(agent, 40);
  const what = kind === "run" ? "the unfinished run of this session uses" : "the next message of this session is for";
  const add = `add \`${isBuiltIn(agent) ? "" : "--agents FILE "}--agent ${shown}\``;
  return new CliError(
    `${what} the agent \`${shown}\`, not \`${agentName}\``,
    `${add}, or cancel it with \`${cancel}\``,
  );
}
