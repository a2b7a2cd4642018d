/**
 * The command host: the services and settings that commands of clients need. HTTP endpoints and sockets share the host
 * of the server, with the caller as the author of the commands.
 */
import type { SendCommandOptions } from "../../engine/send-command.ts";
import type { Log } from "../../log/index.ts";
import { createRecordReader } from "../../dialects/loom/decode.ts";
import type { AckControl, ControlCommand, RefusalControl } from "../../protocol/control/index.ts";
import type { EventOf } from "../../protocol/index.ts";
import { type AuditedAction, type Auditor, type AuditSource, NO_AUDIT, sourceOf } from "../auth/audit/auditor.ts";
import type { Access } from "../auth/access.ts";
import type { Caller } from "../auth/authorize.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import type { ServerLimits } from "../guard/server-limits.ts";
import type { RunDispatcher } from "../runs/run-dispatcher.ts";
import { type CommandAuthor, LOCAL_AUTHOR } from "./command-author.ts";

/** Executes a command and records it. Throws to refuse the command before it is executed. */
export type AuditCommand = (
  command: ControlCommand,
  execute: () => Promise<AckControl | RefusalControl>,
) => Promise<AckControl | RefusalControl>;

/** Services and settings of `executeCommand`. Only `log` is required. */
export interface CommandHost {
  /** Log of the sessions. */
  readonly log: Log;
  /**
   * Makes sure that a process holds the session and executes its pending commands; see `RunDispatcher`. Resolves to
   * true when this process has executed those that it can. Without it, messages wait in the log for a process with
   * agents, and other commands are executed by this process. Must not throw.
   */
  readonly dispatch?: (sessionId: string) => Promise<boolean>;
  /**
   * Returns the name of the agent that answers. Throws `unknown_agent`, or `invalid_command` if the agent cannot do
   * what the request asks for. Default: every name is accepted.
   */
  readonly resolveAgent?: RunDispatcher["resolveAgent"];
  /** Called with the name of the agent before a new message is stored. Rejects to refuse the message. Default: none. */
  readonly beforeSubmit?: ((agent: string) => Promise<void>) | undefined;
  /** What a message ignores of its request; see `RunOrigin`. Default: nothing. */
  readonly notices?: readonly string[] | undefined;
  /** Store of attached files. Default: none; attachments are taken as the caller describes them. */
  readonly blobs?: Pick<BlobStore, "get">;
  /** Maximum messages that wait in a session; code `queue_full`. Default: 100. */
  readonly maxQueued?: number | undefined;
  /** Milliseconds to wait for the next message in line to start before the response says `pending`. Default: 250. */
  readonly beginMs?: number;
  /** How, and how long, to wait for the outcome of other commands. */
  readonly commands?: Omit<SendCommandOptions, "ensureHolder">;
  /**
   * Identity behind the commands; limits access to the author's own sessions. Default: a local author with access to
   * all.
   */
  readonly author?: CommandAuthor;
  /** Called to execute each command, so that it can be recorded in an audit log. Default: none are recorded. */
  readonly audit?: AuditCommand;
  /** Receives errors that the client did not cause. A string it returns is sent to the client as `error_id`. */
  readonly onError?: (error: unknown) => unknown;
}

/** Without a blob store no attachment exists, so a message with one is rejected. */
const NO_BLOBS: NonNullable<CommandHost["blobs"]> = { get: () => Promise.resolve(undefined) };

export interface CommandHostOptions {
  readonly log: Log;
  readonly runs: RunDispatcher;
  readonly limits: ServerLimits;
  readonly blobs: BlobStore | undefined;
  readonly maxQueued?: number | undefined;
  readonly report: (error: unknown) => string;
}

/** Creates the command host of a server. */
export function createCommandHost(options: CommandHostOptions): CommandHost {
  const { log, runs, limits, blobs = NO_BLOBS, maxQueued, report } = options;
  return {
    log,
    dispatch: (session) => runs.dispatch(session),
    resolveAgent: (name, demands) => runs.resolveAgent(name, demands),
    blobs,
    maxQueued,
    commands: { timeoutMs: limits.commandTimeoutMs },
    onError: report,
  };
}

interface CallerServices {
  /** The server's command host. */
  readonly commands: CommandHost;
  readonly access: Access;
  readonly auditor: Auditor;
}

/** The command host of a caller. */
export function commandHostFor({ commands, access, auditor }: CallerServices, caller: Caller): CommandHost {
  return {
    ...commands,
    ...(caller.principal.kind === "local" ? {} : { author: authorOf({ access }, caller) }),
    ...(auditor === NO_AUDIT ? {} : { audit: createApprovalAudit(commands.log, auditor, sourceOf(caller)) }),
  };
}

/** The author of the sessions and commands of a caller. */
export function authorOf({ access }: Pick<CallerServices, "access">, caller: Caller): CommandAuthor {
  if (caller.principal.kind === "local") return LOCAL_AUTHOR;
  const { id, owner, scopes, agents, tools } = caller.principal;
  return {
    owner,
    isAdmin: scopes.has("admin"),
    actor: id,
    agents,
    tools,
    admitRun: (agent) => access.admitRun(caller, agent),
    runLimit: access.runLimitOf(caller),
  };
}

/** Records in the audit log which tool calls a caller approved or rejected, and which tools it allowed in a session. */
function createApprovalAudit(log: Log, auditor: Auditor, source: AuditSource): AuditCommand {
  return async (command, execute) => {
    const about = describeAudited(command);
    if (about === undefined) return execute();
    return auditor.run({ ...about, source }, async (note) => {
      const answer = await execute();
      if (answer.type === "refusal") note({ outcome: answer.code });
      else if (answer.pending === true) note({ outcome: "pending" });
      else if (command.type === "approve")
        note({ target: await findTool(log, command.session, answer.result?.["event_id"]) });
      return answer;
    });
  };
}

/** Undefined for commands that are not recorded. */
function describeAudited(command: ControlCommand): Omit<AuditedAction, "source"> | undefined {
  if (command.type === "permission") {
    const { session, name: tool, rule } = command;
    return { action: "tool.permit", target: { session, tool, rule } };
  }
  if (command.type !== "approve") return undefined;
  const { session, call_id: call, run_id: run, decision } = command;
  return { action: "approval.answer", target: { session, ...(run === undefined ? {} : { run }), call, decision } };
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
