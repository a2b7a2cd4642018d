/** The agents of `loom serve`: one of each kind, with the same equipment. */
import { agent, type CommonOptions } from "../../agents/index.ts";
import type { ServedAgent } from "../../server/runs/run-desk.ts";
import type { Equipment } from "../equipment.ts";
import type { AGENT_NAMES, Settings } from "./settings.ts";

type AgentName = (typeof AGENT_NAMES)[number];

const KINDS = {
  react: { kind: "react" },
  tot: { kind: "tot" },
  got: { kind: "got" },
  agot: { kind: "got", adaptive: true },
} as const satisfies { readonly [name in AgentName]: object };

const ABOUT: { readonly [name in AgentName]: string } = {
  react: "Thinks and uses tools until it can answer",
  tot: "Searches a tree of thoughts, keeps the best and goes back from dead ends",
  got: "Plans a graph of tasks and works side by side on those that do not need each other",
  agot: "The same, and a task that proves complex becomes a graph of its own",
};

export function createAgents(
  { model, tools }: Equipment,
  settings: Pick<Settings, "model" | "system" | "compression">,
  onError: (error: unknown, errorId: string) => void,
): { readonly [name in AgentName]: ServedAgent } {
  const { system, compression } = settings;
  const common: CommonOptions = {
    model,
    tools,
    compression,
    // The server counts and observes the runs of all of them.
    metrics: false,
    onError,
    ...(system === undefined ? {} : { systemInstructions: system }),
  };
  const serve = (name: AgentName): ServedAgent => ({
    agent: agent({ ...common, ...KINDS[name] }),
    description: ABOUT[name],
    model: settings.model,
  });
  return { react: serve("react"), tot: serve("tot"), got: serve("got"), agot: serve("agot") };
}
