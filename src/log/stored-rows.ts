/** Runs, commands and lineages as stores keep them, and as the log describes them. */
import {
  type Command,
  type CommandKind,
  type CommandOutcome,
  type CommandState,
  MAX_NAME_LENGTH,
  type RunInfo,
  type RunStatus,
  type SessionInfo,
} from "./log.ts";

/** A run as it is stored. */
export interface RunRow {
  readonly runId: string;
  readonly status: RunStatus;
  readonly firstId: number;
  readonly lastId: number | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly code: string | null;
  readonly requestId: string | null;
  readonly agent: string | null;
}

export function describeRun({ runId, status, firstId, startedAt, ...row }: RunRow): RunInfo {
  const { lastId, endedAt, code, requestId, agent } = row;
  return {
    runId,
    status,
    firstId,
    lastId: lastId ?? undefined,
    startedAt,
    endedAt: endedAt ?? undefined,
    code: code ?? undefined,
    requestId: requestId ?? undefined,
    agent: agent ?? undefined,
  };
}

/** A command as it is stored, with its body as JSON. */
export interface CommandRow {
  readonly commandId: string;
  readonly kind: string;
  readonly body: string;
  readonly createdAt: number;
  readonly outcome: string | null;
}

/** A command to store. */
export interface NewCommand extends Pick<CommandRow, "commandId" | "kind" | "body"> {
  /** Principal of a message, for its limit of runs. */
  readonly actor: string | null;
}

export function toNewCommand({ commandId, kind, body }: Command): NewCommand {
  const actor = kind === "enqueue" ? toActor(body["actor"]) : undefined;
  return { commandId, kind, body: JSON.stringify(body), actor: actor ?? null };
}

/** Returns a principal for the index of runs. A longer string is not the ID of one, and would not fit in the index. */
export function toActor(value: unknown): string | undefined {
  return typeof value === "string" && value.length <= MAX_NAME_LENGTH ? value.toWellFormed() : undefined;
}

export function describeCommand(sessionId: string, row: CommandRow): CommandState {
  const { commandId, kind, body, createdAt, outcome } = row;
  return {
    commandId,
    sessionId,
    kind: kind as CommandKind,
    body: JSON.parse(body) as CommandState["body"],
    createdAt,
    outcome: outcome === null ? undefined : (JSON.parse(outcome) as CommandOutcome),
  };
}

/** Origin and root of a session. */
export type Lineage = Pick<SessionInfo, "rootId" | "forkedFrom">;

/** Returns the lineage of a new session. */
export function lineageOf(sessionId: string, { forkedFrom, rootId = sessionId }: Partial<Lineage>): Lineage {
  return { forkedFrom, rootId };
}
