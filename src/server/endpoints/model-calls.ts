/** Endpoints for the model calls of a run: what was sent and what came back. For the owner of the session only. */
import { listModelCalls, type ModelCallInfo, readModelCall } from "../../log/model-content.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";

/** Calls of agents of other frameworks, and those made without `recordPrompts`, have no content. */
function describeCall({ callId, model, eventId, startedAt, requestId, responseId }: ModelCallInfo) {
  return {
    llm_call_id: callId,
    model,
    event_id: eventId,
    started_at: startedAt,
    has_request: requestId !== undefined,
    has_response: responseId !== undefined,
  };
}

const list = defineOperation({
  id: "listModelCalls",
  method: "GET",
  path: "/v1/sessions/{id}/runs/{run}/model-calls",
  summary: "List the model calls of a run",
  description: "For the owner of the session only; a share link does not allow it.",
  action: "prompts.read",
  responses: { 200: { description: "Model calls", shape: "ModelCalls" } },
  async handle({ log }, { params: { id = "", run = "" } }) {
    const calls = await listModelCalls(log, id, run);
    return Response.json({ model_calls: calls.map(describeCall) });
  },
});

const read = defineOperation({
  id: "getModelCall",
  method: "GET",
  path: "/v1/sessions/{id}/runs/{run}/model-calls/{call}",
  summary: "Get the exact prompt, the parameters and the response of a model call",
  description: "For the owner of the session only; a share link does not allow it.",
  params: { call: "Id of the model call" },
  action: "prompts.read",
  responses: { 200: { description: "Model call", shape: "ModelCall" } },
  async handle({ log }, { params: { id = "", run = "", call = "" } }) {
    const { parameters, tools, messages, response, ...info } = await readModelCall(log, id, run, call);
    return Response.json({
      ...describeCall(info),
      parameters,
      tools,
      messages: messages.map((message) => message ?? null),
      response,
    });
  },
});

export const MODEL_CALL_OPERATIONS: readonly AnyOperation[] = [list, read];
