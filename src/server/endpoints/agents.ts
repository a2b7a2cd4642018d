/** The agents of a server and the providers of models it knows. Of keys it says whether they are there, never more. */
import { PROVIDERS } from "../../models/providers.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import type { Models } from "../api/shapes.generated.ts";

/** The provider that is a program of ours, and is told apart from models. */
const OFFLINE = "offline";

const listAgents = defineOperation({
  id: "listAgents",
  method: "GET",
  path: "/v1/agents",
  tag: "agents",
  summary: "The agents that can be named in a message",
  action: "server.read",
  answers: { 200: { about: "The agents", shape: "Agents" } },
  handle: ({ runs }) =>
    Response.json({
      agents: runs.agents.map(({ isDefault, isAdaptive, ...agent }) => ({
        ...agent,
        ...(isAdaptive ? { is_adaptive: true } : {}),
        is_default: isDefault,
      })),
    }),
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
    const models = [...new Set(used)];
    const answer: Models = { providers: describeProviders(models), models };
    return Response.json(answer);
  },
});

function describeProviders(models: readonly string[]): Models["providers"] {
  const used = new Set(models.map((model) => model.split("/", 1)[0]));
  return [...PROVIDERS].map(([name, { model, needsKey, keyVariable }]) => ({
    name,
    ...(model === undefined ? {} : { model }),
    needs_key: needsKey,
    ...(keyVariable === undefined ? {} : { key_variable: keyVariable }),
    has_key: keyVariable !== undefined && (process.env[keyVariable] ?? "").trim() !== "",
    is_offline: name === OFFLINE,
    in_use: used.has(name),
  }));
}

export const AGENT_OPERATIONS: readonly AnyOperation[] = [listAgents, listModels];
