/** Runs, commands and lineages as stores keep them, and as the log describes them. */
import type {
  Command,
  CommandKind,
  CommandOutcome,
  CommandState,
  CreateOptions,
  RunInfo,
  RunStatus,
  SessionInfo,
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

/** A command to store, with its body as JSON. */
export interface NewCommand {
  readonly commandId: string;
  readonly kind: string;
  readonly body: string;
}

/** A command as it is stored. */
export interface CommandRow extends NewCommand {
  readonly createdAt: number;
  readonly outcome: string | null;
}

export function toNewCommand({ commandId, kind, body }: Command): NewCommand {
  return { commandId, kind, body: JSON.stringify(body) };
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
export function lineageOf(sessionId: string, { forkedFrom, rootId = sessionId }: CreateOptions): Lineage {
  return { forkedFrom, rootId };
}
