/** The agents of a server and the providers of models it knows. Of keys it says whether they are there, never more. */
import { PROVIDERS } from "../../models/providers.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import type { Models } from "../api/shapes.generated.ts";

const listAgents = defineOperation({
  id: "listAgents",
  method: "GET",
  path: "/v1/agents",
  tag: "agents",
  summary: "The agents that can be named in a message",
  action: "server.read",
  answers: { 200: { about: "The agents", shape: "Agents" } },
  handle: ({ runs }) =>
    Response.json({ agents: runs.agents.map(({ isDefault, ...agent }) => ({ ...agent, is_default: isDefault })) }),
});

const listModels = defineOperation({
  id: "listModels",
  method: "GET",
  path: "/v1/models",
  tag: "agents",
  summary: "The providers of models that agents can be made with, and the models in use",
  action: "server.read",
  answers: { 200: { about: "The providers and models", shape: "Models" } },
  handle({ runs }) {
    const used = runs.agents.flatMap(({ model }) => (model === undefined ? [] : [model]));
    const answer: Models = { providers: describeProviders(), models: [...new Set(used)] };
    return Response.json(answer);
  },
});

function describeProviders(): Models["providers"] {
  return [...PROVIDERS].map(([name, { model, needsKey, keyVariable }]) => ({
    name,
    ...(model === undefined ? {} : { model }),
    needs_key: needsKey,
    ...(keyVariable === undefined ? {} : { key_variable: keyVariable }),
    has_key: keyVariable !== undefined && (process.env[keyVariable] ?? "").trim() !== "",
  }));
}

export const AGENT_OPERATIONS: readonly AnyOperation[] = [listAgents, listModels];
