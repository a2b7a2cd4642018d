/**
 * Endpoints that control runs: cancel, approve, send the result of a tool call, change a to-do list. Each has its own
 * path, and all are available as a control frame.
 */
import { isCommand, readUp } from "../../protocol/control/index.ts";
import { LoomError } from "../../protocol/index.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import { actionOf } from "../commands/action-of.ts";
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
  tag: "commands",
  summary: "Send a command of the control protocol, as on a socket",
  params: { id: "Id of the session" },
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

const cancelRun = defineOperation<"Empty", "CancelRun">({
  id: "cancelRun",
  method: "POST",
  path: "/v1/sessions/{id}/runs/{run}/cancel",
  tag: "commands",
  summary: "Cancel a run, live or queued",
  params: { id: "Id of the session", run: "Id of the run" },
  headers: IDEMPOTENCY_HEADER,
  body: "CancelRun",
  isBodyRequired: false,
  action: "runs.control",
  responses: ANSWERS,
  handle: (core, { request, caller, params: { id: session = "", run = "" }, body: { reason } }) =>
    respondToCommand(core, caller, {
      type: "cancel",
      id: readIdempotencyKey(request),
      session,
      run_id: run,
      ...(reason === undefined ? {} : { reason }),
    }),
});

const readApprovals = defineOperation({
  id: "listApprovals",
  method: "GET",
  path: "/v1/sessions/{id}/approvals",
  tag: "commands",
  summary: "List the tool calls that wait for approval",
  params: { id: "Id of the session" },
  action: "sessions.read",
  responses: { 200: { description: "Tool calls", shape: "Approvals" } },
  handle: async ({ log }, { params: { id = "" } }) =>
    Response.json({ approvals: await listWaitingCalls(log, id, "approval") }),
});

const answerApproval = defineOperation<"Empty", "AnswerApproval">({
  id: "answerApproval",
  method: "POST",
  path: "/v1/sessions/{id}/approvals/{call}",
  tag: "commands",
  summary: "Approve or reject a tool call; the first answer counts",
  params: { id: "Id of the session", call: "Id of the tool call" },
  headers: IDEMPOTENCY_HEADER,
  body: "AnswerApproval",
  action: "runs.approve",
  responses: ANSWERS,
  handle: (core, { request, caller, params: { id: session = "", call = "" }, body }) =>
    respondToCommand(core, caller, {
      ...body,
      type: "approve",
      id: readIdempotencyKey(request),
      session,
      call_id: call,
    }),
});

const readClientCalls = defineOperation({
  id: "listClientCalls",
  method: "GET",
  path: "/v1/sessions/{id}/calls",
  tag: "commands",
  summary: "List the tool calls that wait for a result of the client",
  params: { id: "Id of the session" },
  action: "sessions.read",
  responses: { 200: { description: "Tool calls", shape: "ClientCalls" } },
  handle: async ({ log }, { params: { id = "" } }) =>
    Response.json({ calls: await listWaitingCalls(log, id, "result") }),
});

const sendToolResult = defineOperation<"Empty", "SendToolResult">({
  id: "sendToolResult",
  method: "POST",
  path: "/v1/sessions/{id}/calls/{call}/result",
  tag: "commands",
  summary: "Send the result of a tool call that the client carries out; the first result counts",
  params: { id: "Id of the session", call: "Id of the tool call" },
  headers: IDEMPOTENCY_HEADER,
  body: "SendToolResult",
  action: "runs.control",
  responses: ANSWERS,
  handle: (core, { request, caller, params: { id: session = "", call = "" }, body }) =>
    respondToCommand(core, caller, {
      ...body,
      type: "tool_result",
      id: readIdempotencyKey(request),
      session,
      call_id: call,
    }),
});

const setToolPermission = defineOperation<"Empty", "SetToolPermission">({
  id: "setToolPermission",
  method: "PUT",
  path: "/v1/sessions/{id}/permissions/{tool}",
  tag: "commands",
  summary: "Allow all calls of a tool in the session, or end that",
  params: { id: "Id of the session", tool: "Name of the tool" },
  headers: IDEMPOTENCY_HEADER,
  body: "SetToolPermission",
  action: "runs.approve",
  responses: ANSWERS,
  handle: (core, { request, caller, params: { id: session = "", tool: name = "" }, body: { rule } }) =>
    respondToCommand(core, caller, { type: "permission", id: readIdempotencyKey(request), session, name, rule }),
});

const rateRun = defineOperation<"Empty", "RateRun">({
  id: "rateRun",
  method: "PUT",
  path: "/v1/sessions/{id}/runs/{run}/feedback",
  tag: "commands",
  summary: "Rate the answer of a run; the latest rating counts",
  params: { id: "Id of the session", run: "Id of the run" },
  headers: IDEMPOTENCY_HEADER,
  body: "RateRun",
  action: "runs.control",
  responses: ANSWERS,
  handle: (core, { request, caller, params: { id: session = "", run: run_id = "" }, body }) =>
    respondToCommand(core, caller, { ...body, type: "feedback", id: readIdempotencyKey(request), session, run_id }),
});

const changeTodo = defineOperation<"Empty", "ChangeTodo">({
  id: "changeTodo",
  method: "PATCH",
  path: "/v1/sessions/{id}/todos/{list}/{item}",
  tag: "commands",
  summary: "Change a to-do item",
  params: { id: "Id of the session", list: "Id of the list", item: "Id of the item" },
  headers: IDEMPOTENCY_HEADER,
  body: "ChangeTodo",
  action: "runs.control",
  responses: ANSWERS,
  handle: (core, { request, caller, params: { id: session = "", list = "", item = "" }, body }) =>
    respondToCommand(core, caller, {
      ...body,
      type: "todo",
      id: readIdempotencyKey(request),
      session,
      list_id: list,
      item_id: item,
    }),
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
