/** The agents of the server as models of the OpenAI API. */
import { type AnyOperation, defineOperation } from "../../api/operation.ts";

const describeModel = (id: string) => ({ id, object: "model", created: 0, owned_by: "loom" });

const listOpenaiModels = defineOperation({
  id: "listOpenaiModels",
  method: "GET",
  path: "/openai/v1/models",
  summary: "List the agents as models, the default agent first",
  action: "server.read",
  responses: { 200: { description: "Models", shape: "OpenaiList" } },
  handle({ runs }) {
    const agents = runs.agents.toSorted((a, b) => Number(b.isDefault) - Number(a.isDefault));
    return Response.json({ object: "list", data: agents.map(({ name }) => describeModel(name)) });
  },
});

const getOpenaiModel = defineOperation({
  id: "getOpenaiModel",
  method: "GET",
  path: "/openai/v1/models/{model}",
  summary: "Get an agent as a model",
  params: { model: "Name of the agent" },
  action: "server.read",
  responses: { 200: { description: "Model", shape: "OpenaiModel" } },
  handle: ({ runs }, { params: { model = "" } }) => Response.json(describeModel(runs.resolveAgent(model))),
});

export const OPENAI_MODEL_OPERATIONS: readonly AnyOperation[] = [listOpenaiModels, getOpenaiModel];
