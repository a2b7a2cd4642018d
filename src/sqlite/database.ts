/** Statements and pragmas of a SQLite database. */
import type { DatabaseSync, StatementSync } from "node:sqlite";

export type Statements<T> = { readonly [K in keyof T]: StatementSync };

export function prepareAll<T extends { readonly [name: string]: string }>(db: DatabaseSync, texts: T): Statements<T> {
  const prepared = Object.entries(texts).map(([name, text]) => [name, db.prepare(text)]);
  return Object.fromEntries(prepared) as Statements<T>;
}

export function readPragma(db: DatabaseSync, name: string): number {
  return Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}
