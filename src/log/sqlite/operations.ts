/** The messages from the log to its writer thread: plain data that can be cloned. */
import type { AcquireOptions, BlobUsage, EncoderSnapshot, Lease, SessionChanges, Settlement } from "../log.ts";
import type { CommandSubmission, GrantedLease, NewSessionOptions } from "../log-tables.ts";
import type { IndexChanges } from "../index-changes.ts";
import type { CutOutcome, SessionCut } from "../prune-runs.ts";
import type { CommandRow } from "../stored-rows.ts";
import type { CarriedRow } from "./carried-rows.ts";
import type { OpenedStore } from "./connection.ts";

interface WithSession {
  readonly sessionId: string;
}

interface WithEpoch extends WithSession {
  readonly epoch: number;
}

interface WithTime {
  readonly now: number;
}

/** Records of one session. */
interface WithRecords extends WithTime {
  readonly count: number;
  /** Stored texts, joined by line feeds. */
  readonly text: string;
}

/** Carried records, sent without the parsed ones. */
interface WithCarried {
  readonly carried: readonly CarriedRow[];
}

type NewStoredSession = Omit<NewSessionOptions, "carried"> & WithTime;

/** The changes that the thread makes, by name: what each is sent, and what it returns. */
interface StoreChanges {
  append(
    batch: WithEpoch &
      WithRecords & {
        readonly expectedLastId: number;
        /** Undefined if the batch changes no index. */
        readonly changes: IndexChanges | undefined;
        readonly settle: readonly Settlement[] | undefined;
      },
  ): true | undefined;
  create(fresh: WithSession & NewStoredSession & WithCarried): void;
  /** Creates a draft: a session without an ID, which only its writer knows. Returns its key. */
  "create-draft"(
    fresh: Pick<NewStoredSession, "owner" | "firstId" | "now"> & WithCarried & { readonly holder: string },
  ): number;
  "extend-draft"(piece: WithRecords & { readonly key: number; readonly changes: IndexChanges }): void;
  /** Gives the draft its ID, which makes it a session. */
  "publish-draft"(draft: WithSession & NewStoredSession & { readonly key: number }): void;
  "discard-draft"(draft: { readonly key: number }): void;
  /** Changes nothing if the session has another title than `ifTitle`. */
  update(update: WithSession & SessionChanges & { readonly ifTitle: string | undefined }): void;
  /** Writes a page and a scratch file, to check that changes can be stored. */
  probe(nothing: object): void;
  delete(deletion: WithSession & { readonly epoch: number | undefined }): boolean;
  acquire(request: WithSession & Required<AcquireOptions> & WithTime): GrantedLease;
  renew(renewal: WithEpoch & WithTime & { readonly ttlMs: number }): Lease;
  release(release: WithEpoch & { readonly handsOver: boolean }): void;
  submit(submission: CommandSubmission & WithTime): CommandRow;
  /** Takes or renews the right to prune, or gives it back if `expiresAt` is 0. Returns false if another call has it. */
  "hold-pruning"(right: WithTime & { readonly holder: string; readonly expiresAt: number }): boolean;
  /** Prunes a session, and renews the right to prune. */
  cut(cut: Omit<SessionCut, "carried"> & WithCarried & { readonly expiresAt: number }): CutOutcome;
  "save-snapshot"(saved: WithSession & { readonly snapshot: EncoderSnapshot }): void;
  "set-blob-usage"(usage: WithSession & BlobUsage): void;
  /** Deletes some outcomes of commands. Returns true if there may be more. */
  "drop-commands"(limit: { readonly before: number }): boolean;
  /** Deletes some rows that can no longer be read. Returns true if there may be more. */
  sweep(at: WithTime): boolean;
  /** Removes what swept sessions left in the journal and in old pages of the file. */
  scrub(nothing: object): void;
}

export type ChangeName = keyof StoreChanges;
/** The message that asks for a change. */
export type OperationOf<D extends ChangeName> = { readonly do: D } & Parameters<StoreChanges[D]>[0];
export type ResultOf<D extends ChangeName> = ReturnType<StoreChanges[D]>;
export type StoreOperation = { [D in ChangeName]: OperationOf<D> }[ChangeName];

/** Sends a change to the thread. Resolves when it is durable. */
export type WriteOperation = <D extends ChangeName>(operation: OperationOf<D>) => Promise<ResultOf<D>>;

/**
 * A group of operations sent to the writer thread; groups are answered in order. An append that settles no command is
 * flattened to its session, epoch, expected ID, count, text, and index changes as JSON, because cloning objects between
 * threads is slow.
 */
export type Group = readonly (string | number | StoreOperation)[];

/** Start data of the writer thread. */
export interface WriterData extends OpenedStore {
  /** Identifies the commits of this log, see `CommitJournal`. */
  readonly writer: number;
}

/** Approximate size of an operation in bytes. */
export function lengthOf(operation: StoreOperation): number {
  if (operation.do === "save-snapshot") return operation.snapshot.state.length;
  if ("carried" in operation) return operation.carried.reduce((sum, { text }) => sum + text.length, 0);
  return operation.do === "append" || operation.do === "extend-draft" ? operation.text.length : 0;
}

/** Operations with another result, or an error, if they were already stored. */
const UNREPEATABLE: ReadonlySet<ChangeName> = new Set([
  "acquire",
  "create",
  "delete",
  "create-draft",
  "extend-draft",
  "publish-draft",
]);

/** Whether the operation can be applied twice; a repeated append is recognized by its records. */
export function isRepeatable(operation: StoreOperation): boolean {
  return !UNREPEATABLE.has(operation.do);
}

export function packGroup(operations: readonly StoreOperation[]): Group {
  const packed: (string | number | StoreOperation)[] = [];
  for (const operation of operations) {
    if (operation.do === "append" && operation.settle === undefined) {
      const { sessionId, epoch, expectedLastId, count, text, changes } = operation;
      packed.push(sessionId, epoch, expectedLastId, count, text, changes === undefined ? "" : JSON.stringify(changes));
    } else {
      packed.push(operation);
    }
  }
  return packed;
}

export function unpackGroup(packed: Group): readonly StoreOperation[] {
  const operations: StoreOperation[] = [];
  for (let i = 0; i < packed.length; i++) {
    const item = packed[i];
    if (typeof item === "object") {
      operations.push(item);
      continue;
    }
    const epoch = packed[i + 1] as number;
    const expectedLastId = packed[i + 2] as number;
    const count = packed[i + 3] as number;
    const text = packed[i + 4] as string;
    const written = packed[i + 5] as string;
    const changes = written === "" ? undefined : (JSON.parse(written) as IndexChanges);
    const sessionId = item as string;
    operations.push({
      do: "append",
      sessionId,
      epoch,
      expectedLastId,
      count,
      text,
      changes,
      settle: undefined,
      now: 0,
    });
    i += 5;
  }
  return operations;
}
