/** The actions of a user that are commands to one session, as `UiProvider` takes them. */
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import type { Connection } from "../../client/index.ts";
import type { UiActions } from "../ui/ui-context.tsx";

export type SessionActions = Required<Pick<UiActions, "approve" | "allowTool" | "rate" | "changeTodo">>;

/**
 * Returns the actions that send a command through a connection. Leave out those that the user may not take.
 *
 * ```ts
 * const actions: UiActions = createSessionActions(connection);
 * ```
 */
export function createSessionActions(
  connection: Pick<Connection, "approve" | "setToolPermission" | "rate" | "todo">,
): SessionActions {
  return {
    approve: ({ callId, runId, decision, digest, arguments: edited, reason }) =>
      connection.approve(
        dropUndefined({ call_id: callId, decision, run_id: runId, digest, arguments: edited, reason }),
      ),
    allowTool: (name, rule) => connection.setToolPermission({ name, rule }),
    rate: ({ runId, rating, comment = "" }) =>
      connection.rate({ run_id: runId, rating, ...(comment === "" ? {} : { comment }) }),
    changeTodo: ({ listId, itemId, completed }) => connection.todo({ list_id: listId, item_id: itemId, completed }),
  };
}
