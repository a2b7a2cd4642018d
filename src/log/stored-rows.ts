/** Sessions, runs and commands as stores keep them, and as the log describes them. */
import {
  type Command,
  type CommandKind,
  type CommandOutcome,
  type CommandState,
  MAX_NAME_LENGTH,
  type RunInfo,
  type SessionInfo,
} from "./log.ts";

/** A row whose columns are null where `T` has undefined. */
export type NullFor<T> = {
  readonly [K in keyof T]: undefined extends T[K] ? Exclude<T[K], undefined> | null : T[K];
};

/** A run as it is stored. */
export type RunRow = NullFor<RunInfo>;

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

/** A session as it is stored. */
export interface SessionRow {
  readonly key: number;
  /** Null if the session is deleted, or a draft. */
  readonly sessionId: string | null;
  readonly incarnation: string;
  readonly title: string | null;
  readonly createdAt: number;
  readonly owner: string;
  readonly updatedAt: number;
  readonly firstId: number;
  /** Size in bytes of the pruned records before `firstId`, less that of carried ones. */
  readonly basePos: number;
  readonly epoch: number;
  readonly holder: string | null;
  readonly expiresAt: number;
  /** Null if the session is a draft. */
  readonly rootId: string | null;
  /** Null if the session is not a fork. */
  readonly originId: string | null;
  readonly originRunId: string | null;
  readonly originEventId: number | null;
}

/** What a store finds out about a session otherwise. `pos` is its size without `basePos`. */
interface DerivedSession extends Pick<SessionInfo, "isPinned" | "isArchived" | "lastId" | "holder"> {
  readonly pos: number;
}

export function describeSession(row: SessionRow, { pos, ...state }: DerivedSession): SessionInfo {
  const { incarnation, title, createdAt, updatedAt, firstId, basePos, epoch, owner } = row;
  const { sessionId, rootId, originId, originRunId, originEventId } = row;
  const run = originRunId === null ? {} : { runId: originRunId };
  return {
    sessionId: sessionId ?? "",
    incarnation,
    title: title ?? undefined,
    createdAt,
    updatedAt,
    firstId,
    bytes: pos - basePos,
    epoch,
    owner,
    ...state,
    forkedFrom: originId === null ? undefined : { sessionId: originId, ...run, eventId: originEventId ?? 0 },
    rootId: rootId ?? sessionId ?? "",
  };
}
