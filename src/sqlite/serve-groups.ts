/**
 * The thread of a `GroupWriter`. It applies a group of operations in one transaction, syncs once, and then answers, so
 * that its results are durable. If the disk fails, the whole group fails and the database is opened again. If the
 * write-ahead log was deleted, no group is stored any more.
 */
import { parentPort } from "node:worker_threads";
import { LoomError, type PlainError, toPlainError } from "../protocol/loom-error.ts";
import { asStoreError } from "./as-store-error.ts";
import { assertFile } from "./file-identity.ts";
import { assertWalPresent, createWalCheck, isWalLost } from "./write-ahead-log.ts";
import type { GroupResult, OperationResult } from "./group-writer.ts";

/** Applies operations to an open database. */
interface GroupStore<Operation> {
  begin(): void;
  /** Returns the value of the operation. Throws a LoomError, without changes, if the operation is rejected. */
  apply(operation: Operation): unknown;
  commit(): void;
  rollback(): void;
  /** Maintenance in its own transaction, after a group was answered. */
  compact(): void;
  /** A limited amount of work for which no operation waits, in its own transaction. Returns true if more is left. */
  maintain(): boolean;
  /** Copies all commits from the write-ahead log to the database file, and syncs it. */
  checkpoint(): void;
  close(): void;
}

interface ServeGroupsOptions<Operation> {
  readonly path: string;
  /** Identity of the file, see `assertFile`. */
  readonly file: string;
  readonly open: () => GroupStore<Operation>;
  /** The reverse of `pack` of the writer. */
  readonly unpack: (group: unknown) => readonly Operation[];
}

/** Answers the groups that the writer sends, until it sends `close`. Call it in the thread. */
export function serveGroups<Operation>({ path, file, open, unpack }: ServeGroupsOptions<Operation>): void {
  let current: GroupStore<Operation> | undefined;
  /** Checks the write-ahead log that `current` has open. */
  let assertWal: (() => void) | undefined;
  let failure: PlainError | undefined;
  let maintenance: NodeJS.Timeout | undefined;

  parentPort?.on("message", (request: unknown) => {
    if (request !== "close") {
      failure = undefined;
      const results = applyAll(unpack(request));
      parentPort?.postMessage({ results, failure } satisfies GroupResult);
      attempt((store) => store.compact());
      maintenance ??= setTimeout(maintain);
      return;
    }
    clearTimeout(maintenance);
    close();
    parentPort?.close();
  });

  function connect(): GroupStore<Operation> {
    assertFile(path, file);
    assertWal?.();
    if (current !== undefined) return current;
    // A new connection would create a new log beside the index of the deleted one.
    assertWalPresent(path, "store");
    return (current = open());
  }

  function close(): void {
    const store = current;
    current = undefined;
    assertWal = undefined;
    store?.close();
  }

  function applyAll(operations: readonly Operation[]): GroupResult["results"] {
    try {
      const store = connect();
      try {
        store.begin();
        assertWal ??= createWalCheck(path);
        const results = operations.map((operation) => applyOne(store, operation));
        store.commit();
        // Checked before the answer: what is only in a deleted log is not durable.
        assertWal();
        return results.every((result) => result === null) ? null : results;
      } catch (error) {
        store.rollback();
        throw error;
      }
    } catch (error) {
      if (isWalLost(error)) {
        saveCommits();
      } else {
        try {
          close();
        } catch {
          // The connection is no longer used.
        }
      }
      // Damage concerns one operation and an invalid argument one caller, so the operations are applied one by one.
      const isOfOneOperation = error instanceof LoomError ? error.code === "store_corrupt" : !isSqliteError(error);
      if (isOfOneOperation && operations.length > 1) return operations.flatMap((operation) => applyAll([operation]));
      failure = toPlainError(asStoreError(error, path));
      const result = { error: failure };
      return operations.map(() => result);
    }
  }

  /**
   * Copies the commits of a deleted write-ahead log to the database file while the connection still has them. The
   * connection stays open, so that `assertWal` fails until the process ends.
   */
  function saveCommits(): void {
    try {
      current?.checkpoint();
    } catch {
      // The next group tries again.
    }
  }

  /** Pauses for as long as it worked, so that groups and other processes can write. */
  function maintain(): void {
    maintenance = undefined;
    const startedAt = performance.now();
    attempt((store) => {
      if (store.maintain()) maintenance = setTimeout(maintain, performance.now() - startedAt);
    });
  }

  /** Errors are ignored, because no caller waits for this; it is tried again after the next group. */
  function attempt(work: (store: GroupStore<Operation>) => void): void {
    try {
      if (current !== undefined) work(current);
    } catch {
      try {
        current?.rollback();
      } catch {
        close();
      }
    }
  }
}

function applyOne<Operation>(store: GroupStore<Operation>, operation: Operation): OperationResult {
  try {
    const value = store.apply(operation);
    return value === undefined ? null : { value };
  } catch (error) {
    // A rejected operation changed nothing; other errors may leave partial changes, and so may damage found halfway.
    if (error instanceof LoomError && error.code !== "store_corrupt") return { error: toPlainError(error) };
    throw error;
  }
}

function isSqliteError(error: unknown): boolean {
  return (error as { readonly errcode?: unknown }).errcode !== undefined;
}
