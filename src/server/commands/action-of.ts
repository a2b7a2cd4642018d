/** What leave a command needs, whichever door it came by: consent to a tool is a right of its own. */
import type { ControlCommand } from "../../protocol/control/index.ts";
import type { Action } from "../guard/authorize.ts";

const ACTIONS: { readonly [type in ControlCommand["type"]]: Action } = {
  run: "runs.start",
  approve: "runs.approve",
  cancel: "runs.control",
  todo: "runs.control",
};

export function actionOf(type: ControlCommand["type"]): Action {
  return ACTIONS[type];
}
