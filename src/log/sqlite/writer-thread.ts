/**
 * The thread that writes a store. It takes a group of operations, carries them out in one transaction, syncs once, and
 * answers: what it says is durable. When the disk fails, the whole group fails, and the store is opened anew.
 */
import type { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { LoomError } from "../../protocol/loom-error.ts";
import { assertFile, openConnection } from "./connection.ts";
import { asStoreError, toPlainError } from "./failure.ts";
import { type Answer, type Group, type Operation, type Result, unpackGroup } from "./operations.ts";
import { Store } from "./store.ts";
import type { WriterData } from "./writer.ts";

const { path, file, options } = workerData as WriterData;

interface Open {
  readonly db: DatabaseSync;
  readonly store: Store;
}

let current: Open | undefined;

function open(): Open {
  assertFile(path, file);
  if (current === undefined) {
    const db = openConnection(path, options);
    current = { db, store: new Store(db, options.maxRecentRows) };
  }
  return current;
}

function close(): void {
  const { db } = current ?? {};
  current = undefined;
  db?.close();
}

function isOfSqlite(error: unknown): boolean {
  return (error as { readonly errcode?: unknown }).errcode !== undefined;
}

function applyOne(store: Store, operation: Operation): Result {
  try {
    const value = store.apply(operation);
    return value === undefined ? null : { value };
  } catch (error) {
    // A refusal changed nothing; whatever else went wrong may have. Damage may be met when half is done.
    if (error instanceof LoomError && error.code !== "store_corrupt") return { error: toPlainError(error) };
    throw error;
  }
}

function applyAll(operations: readonly Operation[]): Answer["results"] {
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
      // It is gone either way.
    }
    // Damage is of one session, and an argument nobody understands of one caller: the others need not suffer for it.
    const isOfOne = error instanceof LoomError ? error.code === "store_corrupt" : !isOfSqlite(error);
    if (isOfOne && operations.length > 1) return operations.flatMap((operation) => applyAll([operation]));
    const failure = { error: toPlainError(asStoreError(error, path)) };
    return operations.map(() => failure);
  }
}

/** What goes wrong here has been asked for by nobody; it is tried again after the next group. */
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
    parentPort?.postMessage({ results, isNews: current?.store.takeNews() ?? true } satisfies Answer);
    compact();
    return;
  }
  close();
  parentPort?.close();
});
