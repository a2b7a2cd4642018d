/** What is asked of runs over HTTP: cancel, approve, change a to-do list; each by an address, or as a control frame. */
import { isCommand, readUp } from "../../protocol/control/index.ts";
import { LoomError } from "../../protocol/index.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import { actionOf } from "../commands/action-of.ts";
import { answerCommand, KEY_HEADER, readKey } from "./command-endpoint.ts";
import { listApprovals } from "./list-approvals.ts";

const ANSWERS = {
  200: { about: "It was carried out", shape: "CommandDone" },
  202: {
    about: "It is written down and waits; ask again with the same key to learn the outcome",
    shape: "CommandDone",
  },
} as const;

export const takeCommand = defineOperation<"Nothing", "ControlCommand">({
  id: "sendCommand",
  method: "POST",
  path: "/v1/sessions/{id}/commands",
  tag: "commands",
  summary: "A command of the control protocol, as on a socket",
  params: { id: "Id of the session" },
  body: "ControlCommand",
  // It takes messages as well, which may make the session; what else it is asked is asked for again below.
  action: "runs.start",
  isLate: true,
  answers: ANSWERS,
  async handle(core, { caller, params: { id: session = "" }, body }) {
    const decoded = readUp(body);
    if (!decoded.ok) throw new LoomError("invalid_command", decoded.message);
    const { frame } = decoded;
    if (!isCommand(frame)) throw new LoomError("invalid_command", `${frame.type} is no command`);
    if (frame.session !== session) throw new LoomError("invalid_command", "`session` is another than the address says");
    if (frame.type !== "run") await core.authorize({ caller, action: actionOf(frame.type), session });
    return answerCommand(core, caller, frame);
  },
});

const cancelRun = defineOperation<"Nothing", "CancelRun">({
  id: "cancelRun",
  method: "POST",
  path: "/v1/sessions/{id}/runs/{run}/cancel",
  tag: "commands",
  summary: "Stops a run, also one that waits for its turn",
  params: { id: "Id of the session", run: "Id of the run" },
  headers: KEY_HEADER,
  body: "CancelRun",
  isBodyRequired: false,
  action: "runs.control",
  answers: ANSWERS,
  handle: (core, { request, caller, params: { id: session = "", run = "" }, body: { reason } }) =>
    answerCommand(core, caller, {
      type: "cancel",
      id: readKey(request),
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
  summary: "The tool calls that wait for an answer now",
  params: { id: "Id of the session" },
  action: "sessions.read",
  answers: { 200: { about: "The calls", shape: "Approvals" } },
  handle: async ({ log }, { params: { id = "" } }) => Response.json({ approvals: await listApprovals(log, id) }),
});

const answerApproval = defineOperation<"Nothing", "AnswerApproval">({
  id: "answerApproval",
  method: "POST",
  path: "/v1/sessions/{id}/approvals/{call}",
  tag: "commands",
  summary: "Answers whether a tool may be called; the first answer counts",
  params: { id: "Id of the session", call: "Id of the tool call" },
  headers: KEY_HEADER,
  body: "AnswerApproval",
  action: "runs.approve",
  answers: ANSWERS,
  handle: (core, { request, caller, params: { id: session = "", call = "" }, body }) =>
    answerCommand(core, caller, { ...body, type: "approve", id: readKey(request), session, call_id: call }),
});

const changeTodo = defineOperation<"Nothing", "ChangeTodo">({
  id: "changeTodo",
  method: "PATCH",
  path: "/v1/sessions/{id}/todos/{list}/{item}",
  tag: "commands",
  summary: "Changes an item of a to-do list",
  params: { id: "Id of the session", list: "Id of the list", item: "Id of the item" },
  headers: KEY_HEADER,
  body: "ChangeTodo",
  action: "runs.control",
  answers: ANSWERS,
  handle: (core, { request, caller, params: { id: session = "", list = "", item = "" }, body }) =>
    answerCommand(core, caller, { ...body, type: "todo", id: readKey(request), session, list_id: list, item_id: item }),
});

export const COMMAND_OPERATIONS: readonly AnyOperation[] = [
  takeCommand,
  cancelRun,
  readApprovals,
  answerApproval,
  changeTodo,
];
