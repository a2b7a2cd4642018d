/**
 * The thread that writes a store. It takes a group of operations, carries them out in one transaction, syncs once, and
 * answers: what it says is durable. When the disk fails, the whole group fails, and the store is opened anew.
 */
import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { LoomError } from "../../protocol/loom-error.ts";
import { type ConnectionOptions, openConnection } from "./connection.ts";
import { asStoreError, toPlainError } from "./failure.ts";
import type { Answer, Group, Operation, Result } from "./operations.ts";
import { Store } from "./store.ts";

const { path, options } = workerData as { readonly path: string; readonly options: ConnectionOptions };

interface Open {
  readonly db: DatabaseSync;
  readonly store: Store;
  /** Which file it is: another may be put in its place. */
  readonly file: number;
}

let current: Open | undefined;

function open(): Open {
  const file = statSync(path).ino;
  if (current !== undefined && current.file !== file) {
    close();
    throw new LoomError("store_failed", `another file has taken the place of the store: ${path}`, { path });
  }
  if (current === undefined) {
    const db = openConnection(path, options);
    current = { db, store: new Store(db), file };
  }
  return current;
}

function close(): void {
  const { db } = current ?? {};
  current = undefined;
  db?.close();
}

function applyOne(store: Store, operation: Operation): Result {
  try {
    const value = store.apply(operation);
    return value === undefined ? null : { value };
  } catch (error) {
    // A refusal changed nothing; whatever else went wrong may have.
    if (error instanceof LoomError) return { error: toPlainError(error) };
    throw error;
  }
}

function applyAll(operations: Group): Answer {
  try {
    const { store } = open();
    try {
      store.begin();
      const results = operations.map((operation) => applyOne(store, operation));
      store.commit();
      return results;
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
    parentPort?.postMessage(applyAll(request));
    compact();
    return;
  }
  close();
  parentPort?.close();
});
