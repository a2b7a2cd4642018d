/** The agent of the next message of a session. */
import { useMemo } from "react";
import type { SessionView } from "loom-agent/client";
import { useSession } from "loom-agent/react";
import { usePage, usePageState } from "../shell/page-context.tsx";
import { type AgentOption, chooseAgent, type ChosenAgent, findLatestAgent, listAgentOptions } from "../store/agents.ts";
import { findWaiting } from "../store/composing.ts";

const selectTurnAgent = (session: SessionView | undefined): string | undefined =>
  findLatestAgent([], session?.turns ?? []);

export interface AgentsOfSession {
  readonly options: readonly AgentOption[];
  /** Undefined until the agents are loaded. */
  readonly chosen: ChosenAgent | undefined;
}

export function useChosenAgent(session: string | undefined): AgentsOfSession {
  const page = usePage();
  const agents = usePageState(({ agents }) => agents);
  const settings = usePageState(({ settings }) => settings);
  const choice = usePageState(({ choices }) => choices.get(session ?? ""));
  const sent = usePageState(({ composing }) => findLatestAgent(findWaiting(composing, session), []));
  const answered = useSession(page.receiver, session ?? "", selectTurnAgent);
  const options = useMemo(() => listAgentOptions(agents), [agents]);
  return { options, chosen: chooseAgent(options, { choice, last: sent ?? answered, settings }) };
}
