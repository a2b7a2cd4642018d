/** Records in the audit log who approved or rejected tool calls, and who allowed tools in a session. */
import { createRecordReader } from "../../dialects/loom/decode.ts";
import type { Log } from "../../log/index.ts";
import type { AckControl, ControlCommand, RefusalControl } from "../../protocol/control/index.ts";
import type { EventOf } from "../../protocol/index.ts";
import type { Auditor, AuditSource } from "../auth/audit/auditor.ts";

/** Executes a command and records it. Throws to refuse the command before it is executed. */
export type AuditCommand = (
  command: ControlCommand,
  execute: () => Promise<AckControl | RefusalControl>,
) => Promise<AckControl | RefusalControl>;

/** Records the answers and permissions of one caller. */
export function createApprovalAudit(log: Log, auditor: Auditor, source: AuditSource): AuditCommand {
  return async (command, execute) => {
    if (command.type === "permission") {
      const { session, name: tool, rule } = command;
      return auditor.run({ action: "tool.permit", source, target: { session, tool, rule } }, async (note) => {
        const answer = await execute();
        if (answer.type === "refusal") note({ outcome: answer.code });
        else if (answer.pending === true) note({ outcome: "pending" });
        return answer;
      });
    }
    if (command.type !== "approve") return execute();
    const { session, call_id: call, run_id: run, decision } = command;
    const target = { session, ...(run === undefined ? {} : { run }), call, decision };
    return auditor.run({ action: "approval.answer", source, target }, async (note) => {
      const answer = await execute();
      if (answer.type === "refusal") note({ outcome: answer.code });
      else if (answer.pending === true) note({ outcome: "pending" });
      else note({ target: await findTool(log, session, answer.result?.["event_id"]) });
      return answer;
    });
  };
}

/** Reads the tool from the record of the answer. Empty if the record cannot be read any more. */
async function findTool(log: Log, session: string, eventId: unknown): Promise<{ readonly tool?: string }> {
  if (typeof eventId !== "number") return {};
  try {
    const { texts } = await log.read(session, { after: eventId - 1, limit: 1 });
    const event = createRecordReader()(texts[0] ?? "")?.event as Partial<EventOf<"tool_approval_result">> | undefined;
    return event?.type === "tool_approval_result" && event.name !== undefined ? { tool: event.name } : {};
  } catch {
    // The session may have been deleted since.
    return {};
  }
}
