/**
 * The thread that writes a store. It applies a group of operations in one transaction, syncs once, and then answers, so
 * that its results are durable. If the disk fails, the whole group fails and the store is opened again.
 */
import type { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { LoomError, toPlainError } from "../../protocol/loom-error.ts";
import { asStoreError } from "../../sqlite/as-store-error.ts";
import { assertFile } from "../../sqlite/file-identity.ts";
import { openConnection } from "./connection.ts";
import { type GroupResult, type Group, type StoreOperation, type OperationResult, unpackGroup } from "./operations.ts";
import { SqliteStore } from "./sqlite-store.ts";
import type { WriterData } from "./store-writer.ts";

const { path, file, options } = workerData as WriterData;

interface WriterConnection {
  readonly db: DatabaseSync;
  readonly store: SqliteStore;
}

let current: WriterConnection | undefined;

function open(): WriterConnection {
  assertFile(path, file);
  if (current === undefined) {
    const db = openConnection(path, options);
    current = { db, store: new SqliteStore(db, options.maxRecentRows) };
  }
  return current;
}

function close(): void {
  const { db } = current ?? {};
  current = undefined;
  db?.close();
}

function isSqliteError(error: unknown): boolean {
  return (error as { readonly errcode?: unknown }).errcode !== undefined;
}

function applyOne(store: SqliteStore, operation: StoreOperation): OperationResult {
  try {
    const value = store.apply(operation);
    return value === undefined ? null : { value };
  } catch (error) {
    // A rejected operation changed nothing; other errors may leave partial changes, and so may damage found halfway.
    if (error instanceof LoomError && error.code !== "store_corrupt") return { error: toPlainError(error) };
    throw error;
  }
}

function applyAll(operations: readonly StoreOperation[]): GroupResult["results"] {
  try {
    const { store } = open();
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
    // Damage concerns one session and an invalid argument one caller, so the operations are applied one by one.
    const isOfOneOperation = error instanceof LoomError ? error.code === "store_corrupt" : !isSqliteError(error);
    if (isOfOneOperation && operations.length > 1) return operations.flatMap((operation) => applyAll([operation]));
    const failure = { error: toPlainError(asStoreError(error, path)) };
    return operations.map(() => failure);
  }
}

/** Errors are ignored, because no caller waits for this; it is tried again after the next group. */
function compact(): void {
  try {
    current?.store.compact();
  } catch {
    try {
      current?.store.rollback();
    } catch {
      close();
    }
  }
}

parentPort?.on("message", (request: Group | "close") => {
  if (request !== "close") {
    const results = applyAll(unpackGroup(request));
    parentPort?.postMessage({
      results,
      hasExternalWrites: current?.store.takeExternalWrites() ?? true,
    } satisfies GroupResult);
    compact();
    return;
  }
  close();
  parentPort?.close();
});
