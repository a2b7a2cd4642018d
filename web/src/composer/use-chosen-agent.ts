/** The agent of the next message of a session. */
import { useMemo } from "react";
import type { SessionView } from "loom-agent/client";
import { useSession } from "loom-agent/react";
import { usePage, usePageState } from "../shell/page-context.tsx";
import {
  type AgentChoice,
  type AgentOption,
  chooseAgent,
  type ChosenAgent,
  findLatestAgent,
  listAgentOptions,
} from "../store/agents.ts";
import { findWaiting } from "../store/composing.ts";
import type { PageState } from "../store/page-state.ts";
import type { PageSettings } from "../store/settings.ts";

const selectAgents = ({ agents }: PageState): PageState["agents"] => agents;
const selectSettings = ({ settings }: PageState): PageSettings => settings;
const selectTurnAgent = (session: SessionView | undefined): string | undefined =>
  findLatestAgent([], session?.turns ?? []);

export interface AgentsOfSession {
  readonly options: readonly AgentOption[];
  /** Undefined until the agents are loaded. */
  readonly chosen: ChosenAgent | undefined;
}

export function useChosenAgent(session: string | undefined): AgentsOfSession {
  const page = usePage();
  const agents = usePageState(selectAgents);
  const settings = usePageState(selectSettings);
  const [selectChoice, selectSent] = useMemo(
    () =>
      [
        ({ choices }: PageState): AgentChoice | undefined => choices.get(session ?? ""),
        ({ composing }: PageState): string | undefined => findLatestAgent(findWaiting(composing, session), []),
      ] as const,
    [session],
  );
  const choice = usePageState(selectChoice);
  const sent = usePageState(selectSent);
  const answered = useSession(page.receiver, session ?? "", selectTurnAgent);
  const options = useMemo(() => listAgentOptions(agents), [agents]);
  return { options, chosen: chooseAgent(options, { choice, last: sent ?? answered, settings }) };
}
