/**
 * The thread of a `GroupWriter`. It applies a group of operations in one transaction, syncs once, and then answers, so
 * that its results are durable. If the disk fails, the whole group fails and the database is opened again.
 */
import { parentPort } from "node:worker_threads";
import { LoomError, toPlainError } from "../protocol/loom-error.ts";
import { asStoreError } from "./as-store-error.ts";
import { assertFile } from "./file-identity.ts";
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

  parentPort?.on("message", (request: unknown) => {
    if (request !== "close") {
      parentPort?.postMessage(applyAll(unpack(request)));
      compact();
      return;
    }
    close();
    parentPort?.close();
  });

  function connect(): GroupStore<Operation> {
    assertFile(path, file);
    return (current ??= open());
  }

  function close(): void {
    const store = current;
    current = undefined;
    store?.close();
  }

  function applyAll(operations: readonly Operation[]): GroupResult {
    try {
      const store = connect();
      try {
        store.begin();
        const results = operations.map((operation) => applyOne(store, operation));
        store.commit();
        return results.every((result) => result === null) ? null : results;
      } catch (error) {
        store.rollback();
        throw error;
      }
    } catch (error) {
      try {
        close();
      } catch {
        // The connection is no longer used.
      }
      // Damage concerns one operation and an invalid argument one caller, so the operations are applied one by one.
      const isOfOneOperation = error instanceof LoomError ? error.code === "store_corrupt" : !isSqliteError(error);
      if (isOfOneOperation && operations.length > 1) return operations.flatMap((operation) => applyAll([operation]));
      const failure = { error: toPlainError(asStoreError(error, path)) };
      return operations.map(() => failure);
    }
  }

  /** Errors are ignored, because no caller waits for this; it is tried again after the next group. */
  function compact(): void {
    try {
      current?.compact();
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
