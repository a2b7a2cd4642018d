/**
 * Endpoints that control runs: cancel, approve, send the result of a tool call, change a to-do list. Each has its own
 * path, and all are available as a control frame.
 */
import { isCommand, readUp } from "../../protocol/control/index.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { LoomError } from "../../protocol/index.ts";
import { type AnyOperation, type ApiCall, defineOperation, type Operation } from "../api/operation.ts";
import type { ApiShapeMap, ApiShapeName } from "../api/shapes.generated.ts";
import { actionOf, type CommandContent } from "../commands/execute-command.ts";
import { respondToCommand, IDEMPOTENCY_HEADER, readIdempotencyKey } from "./command-endpoint.ts";
import { listWaitingCalls } from "./waiting-calls.ts";

const ANSWERS = {
  200: { description: "Executed", shape: "CommandResult" },
  202: {
    description: "Pending; repeat the request with the same key to get the outcome",
    shape: "CommandResult",
  },
} as const;

export const sendCommand = defineOperation<"Empty", "ControlCommand">({
  id: "sendCommand",
  method: "POST",
  path: "/v1/sessions/{id}/commands",
  summary: "Send a command of the control protocol, as on a socket",
  body: "ControlCommand",
  hasOpenBody: true,
  // The body may be a message, which can create the session. Other commands are authorized again below.
  action: "runs.start",
  isAllowedWhileClosing: true,
  responses: ANSWERS,
  async handle(core, { caller, params: { id: session = "" }, body }) {
    const decoded = readUp(body);
    if (!decoded.ok) throw new LoomError("invalid_command", decoded.message);
    const { frame } = decoded;
    if (!isCommand(frame)) throw new LoomError("invalid_command", `\`${frame.type}\` is not a command`);
    if (frame.session !== session) throw new LoomError("invalid_command", "`session` does not match the path");
    if (frame.type !== "run") await core.authorize({ caller, action: actionOf(frame.type), session });
    return respondToCommand(core, caller, frame);
  },
});

/** An endpoint whose requests are commands, with the idempotency key of the request as their ID. */
interface CommandOperation<B extends ApiShapeName> extends Pick<
  Operation<"Empty", B>,
  "id" | "method" | "path" | "summary" | "params" | "body" | "isBodyRequired" | "action"
> {
  readonly command: (params: ApiCall<"Empty", B>["params"], body: ApiShapeMap[B]) => CommandContent;
}

function defineCommand<B extends ApiShapeName>({ command, ...operation }: CommandOperation<B>): AnyOperation {
  return defineOperation<"Empty", B>({
    ...operation,
    headers: IDEMPOTENCY_HEADER,
    responses: ANSWERS,
    handle: (core, { request, caller, params, body }) =>
      respondToCommand(core, caller, {
        ...command(params, body),
        id: readIdempotencyKey(request),
        session: params["id"] ?? "",
      }),
  });
}

const cancelRun = defineCommand<"CancelRun">({
  id: "cancelRun",
  method: "POST",
  path: "/v1/sessions/{id}/runs/{run}/cancel",
  summary: "Cancel a run, live or queued",
  body: "CancelRun",
  isBodyRequired: false,
  action: "runs.control",
  command: ({ run: run_id = "" }, { reason }) => dropUndefined({ type: "cancel", run_id, reason }),
});

const readApprovals = defineOperation({
  id: "listApprovals",
  method: "GET",
  path: "/v1/sessions/{id}/approvals",
  summary: "List the tool calls that wait for approval",
  action: "sessions.read",
  responses: { 200: { description: "Tool calls", shape: "Approvals" } },
  handle: async ({ log }, { params: { id = "" } }) =>
    Response.json({ approvals: await listWaitingCalls(log, id, "approval") }),
});

const answerApproval = defineCommand<"AnswerApproval">({
  id: "answerApproval",
  method: "POST",
  path: "/v1/sessions/{id}/approvals/{call}",
  summary: "Approve or reject a tool call; the first answer counts",
  params: { call: "Id of the tool call" },
  body: "AnswerApproval",
  action: "runs.approve",
  command: ({ call: call_id = "" }, body) => ({ ...body, type: "approve", call_id }),
});

const readClientCalls = defineOperation({
  id: "listClientCalls",
  method: "GET",
  path: "/v1/sessions/{id}/calls",
  summary: "List the tool calls that wait for a result of the client",
  action: "sessions.read",
  responses: { 200: { description: "Tool calls", shape: "ClientCalls" } },
  handle: async ({ log }, { params: { id = "" } }) =>
    Response.json({ calls: await listWaitingCalls(log, id, "result") }),
});

const sendToolResult = defineCommand<"SendToolResult">({
  id: "sendToolResult",
  method: "POST",
  path: "/v1/sessions/{id}/calls/{call}/result",
  summary: "Send the result of a tool call that the client carries out; the first result counts",
  params: { call: "Id of the tool call" },
  body: "SendToolResult",
  action: "runs.control",
  command: ({ call: call_id = "" }, body) => ({ ...body, type: "tool_result", call_id }),
});

const setToolPermission = defineCommand<"SetToolPermission">({
  id: "setToolPermission",
  method: "PUT",
  path: "/v1/sessions/{id}/permissions/{tool}",
  summary: "Allow all calls of a tool in the session, or end that",
  params: { tool: "Name of the tool" },
  body: "SetToolPermission",
  action: "runs.approve",
  command: ({ tool: name = "" }, { rule }) => ({ type: "permission", name, rule }),
});

const rateRun = defineCommand<"RateRun">({
  id: "rateRun",
  method: "PUT",
  path: "/v1/sessions/{id}/runs/{run}/feedback",
  summary: "Rate the answer of a run; the latest rating counts",
  body: "RateRun",
  action: "runs.control",
  command: ({ run: run_id = "" }, body) => ({ ...body, type: "feedback", run_id }),
});

const changeTodo = defineCommand<"ChangeTodo">({
  id: "changeTodo",
  method: "PATCH",
  path: "/v1/sessions/{id}/todos/{list}/{item}",
  summary: "Change a to-do item",
  body: "ChangeTodo",
  action: "runs.control",
  command: ({ list: list_id = "", item: item_id = "" }, body) => ({ ...body, type: "todo", list_id, item_id }),
});

export const COMMAND_OPERATIONS: readonly AnyOperation[] = [
  sendCommand,
  cancelRun,
  readApprovals,
  answerApproval,
  readClientCalls,
  sendToolResult,
  setToolPermission,
  rateRun,
  changeTodo,
];
