/**
 * The action a caller must be authorized for to send a command, over HTTP and sockets alike. Approving a tool call
 * needs its own permission.
 */
import type { ControlCommand } from "../../protocol/control/index.ts";
import type { Action } from "../auth/scopes.ts";

const ACTIONS: { readonly [type in ControlCommand["type"]]: Action } = {
  run: "runs.start",
  approve: "runs.approve",
  cancel: "runs.control",
  tool_result: "runs.control",
  permission: "runs.approve",
  feedback: "runs.control",
  todo: "runs.control",
};

export function actionOf(type: ControlCommand["type"]): Action {
  return ACTIONS[type];
}
