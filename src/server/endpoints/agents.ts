/**
 * Endpoints that list the agents of the server and the known model providers. Of API keys they only report whether one
 * is set.
 */
import { PROVIDERS } from "../../models/providers.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import type { Models } from "../api/shapes.generated.ts";

const listAgents = defineOperation({
  id: "listAgents",
  method: "GET",
  path: "/v1/agents",
  summary: "List agents",
  action: "server.read",
  responses: { 200: { description: "Agents of the server", shape: "Agents" } },
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
  summary: "List model providers and models in use",
  action: "server.read",
  responses: { 200: { description: "Providers and models", shape: "Models" } },
  handle({ runs }) {
    const used = runs.agents.flatMap(({ model }) => (model === undefined ? [] : [model]));
    const models = [...new Set(used)];
    const answer: Models = { providers: describeProviders(models), models };
    return Response.json(answer);
  },
});

function describeProviders(models: readonly string[]): Models["providers"] {
  const used = new Set(models.map((model) => model.split("/", 1)[0]));
  return [...PROVIDERS].map(([name, { model, needsKey, isOffline = false, keyVariable }]) => ({
    name,
    ...(model === undefined ? {} : { model }),
    needs_key: needsKey,
    ...(keyVariable === undefined ? {} : { key_variable: keyVariable }),
    has_key: keyVariable !== undefined && (process.env[keyVariable] ?? "").trim() !== "",
    is_offline: isOffline,
    in_use: used.has(name),
  }));
}

export const AGENT_OPERATIONS: readonly AnyOperation[] = [listAgents, listModels];
