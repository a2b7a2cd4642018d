/** Statements, pragmas, transactions and integrity checks of a SQLite database. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { LoomError } from "../protocol/loom-error.ts";

export type Statements<T> = { readonly [K in keyof T]: StatementSync };

export function prepareAll<T extends { readonly [name: string]: string }>(db: DatabaseSync, texts: T): Statements<T> {
  const prepared = Object.entries(texts).map(([name, text]) => [name, db.prepare(text)]);
  return Object.fromEntries(prepared) as Statements<T>;
}

export function readPragma(db: DatabaseSync, name: string): number {
  return Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}

/** Runs `work` in a write transaction and returns its result. Rolls back if it throws. */
export function transact<T>(db: DatabaseSync, work: () => T): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    db.exec("COMMIT");
    return result;
  } finally {
    // SQLite has already rolled back if the disk is full.
    if (db.isTransaction) db.exec("ROLLBACK");
  }
}

/** Throws `store_corrupt` if SQLite finds damage. `check` is a pragma, `name` what the file is, for the message. */
export function assertIntact(db: DatabaseSync, name: string, check = "quick_check(1)"): void {
  const found = Object.values(db.prepare(`PRAGMA ${check}`).get() ?? {})[0];
  if (found === "ok") return;
  const path = db.location() ?? "";
  throw new LoomError("store_corrupt", `The ${name} ${path} is damaged: ${String(found)}`, { path });
}
