/** The messages from the log to its writer thread: plain data that can be cloned. */
import type { AcquireOptions, EncoderSnapshot, SessionChanges, Settlement } from "../log.ts";
import type { CommandSubmission, NewSessionOptions } from "../log-tables.ts";
import type { IndexChanges } from "../index-changes.ts";
import type { SessionCut } from "../prune-runs.ts";
import type { CarriedRow } from "./carried-rows.ts";
import type { OpenedStore } from "./connection.ts";

/** Options of a new session. Its carried records are sent without the parsed ones. */
type NewStoredSession = Omit<NewSessionOptions, "carried">;

export type StoreOperation =
  | {
      readonly do: "append";
      readonly sessionId: string;
      readonly epoch: number;
      readonly expectedLastId: number;
      readonly count: number;
      /** Stored texts, joined by line feeds. */
      readonly text: string;
      /** Undefined if the batch changes no index. */
      readonly changes: IndexChanges | undefined;
      readonly settle: readonly Settlement[] | undefined;
      readonly now: number;
    }
  | ({
      readonly do: "create";
      readonly sessionId: string;
      readonly carried: readonly CarriedRow[];
      readonly now: number;
    } & NewStoredSession)
  /** Creates a draft: a session without an ID, which only its writer knows. Returns its key. */
  | ({
      readonly do: "create-draft";
      readonly holder: string;
      readonly carried: readonly CarriedRow[];
      readonly now: number;
    } & Pick<NewStoredSession, "owner" | "firstId">)
  | {
      readonly do: "extend-draft";
      readonly key: number;
      readonly count: number;
      readonly text: string;
      readonly changes: IndexChanges;
      readonly now: number;
    }
  /** Gives the draft its ID, which makes it a session. */
  | ({
      readonly do: "publish-draft";
      readonly key: number;
      readonly sessionId: string;
      readonly now: number;
    } & NewStoredSession)
  | { readonly do: "discard-draft"; readonly key: number }
  | ({
      readonly do: "update";
      readonly sessionId: string;
      /** Changes nothing if the session has another title. */
      readonly ifTitle: string | undefined;
    } & SessionChanges)
  /** Writes a page and a scratch file, to check that changes can be stored. */
  | { readonly do: "probe" }
  | { readonly do: "delete"; readonly sessionId: string; readonly epoch: number | undefined }
  | ({ readonly do: "acquire"; readonly sessionId: string; readonly now: number } & Required<AcquireOptions>)
  | {
      readonly do: "renew";
      readonly sessionId: string;
      readonly epoch: number;
      readonly ttlMs: number;
      readonly now: number;
    }
  | { readonly do: "release"; readonly sessionId: string; readonly epoch: number; readonly handsOver: boolean }
  | ({ readonly do: "submit"; readonly now: number } & CommandSubmission)
  /** Takes or renews the right to prune, or gives it back if `expiresAt` is 0. Returns false if another call has it. */
  | { readonly do: "hold-pruning"; readonly holder: string; readonly now: number; readonly expiresAt: number }
  /** Prunes a session, and renews the right to prune. */
  | (Omit<SessionCut, "carried"> & {
      readonly do: "cut";
      readonly carried: readonly CarriedRow[];
      readonly expiresAt: number;
    })
  | { readonly do: "save-snapshot"; readonly sessionId: string; readonly snapshot: EncoderSnapshot }
  | { readonly do: "set-blob-usage"; readonly sessionId: string; readonly blobs: number; readonly bytes: number }
  | { readonly do: "drop-commands"; readonly before: number }
  | { readonly do: "sweep"; readonly now: number }
  /** Removes what swept sessions left in the journal and in old pages of the file. */
  | { readonly do: "scrub" };

/** The operation with this `do` value. */
export type OperationOf<D extends StoreOperation["do"]> = Extract<StoreOperation, { readonly do: D }>;

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
const UNREPEATABLE: ReadonlySet<StoreOperation["do"]> = new Set([
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
