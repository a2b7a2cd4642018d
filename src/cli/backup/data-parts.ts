/** The parts of a server's data, where each is kept, and how it is named in a backup. */
import { existsSync } from "node:fs";
import { CliError, type ParsedCommand, textOption } from "../command.ts";
import { findKnowledgeBase, findStore, isDatabase } from "../find-store.ts";

export interface StoredPart {
  readonly name: "store" | "credentials" | "knowledge" | "blobs";
  /** Where a server keeps it. */
  readonly path: string;
  /** Its name in a backup. */
  readonly copy: string;
}

/** The store first: blobs are stored before the messages that refer to them, so a later copy has all of them. */
export function listParts(parsed: ParsedCommand): readonly [store: StoredPart, ...others: StoredPart[]] {
  const store = textOption(parsed, "store") ?? findStore(process.env);
  if (isDatabase(store))
    throw new CliError("this command copies files, and the store is a database", "copy it with pg_dump");
  const knowledge = textOption(parsed, "kb") ?? findKnowledgeBase(process.env);
  return [
    { name: "store", path: store, copy: "store.db" },
    { name: "blobs", path: `${store}-blobs`, copy: "blobs" },
    { name: "credentials", path: `${store}-auth`, copy: "credentials.db" },
    { name: "knowledge", path: knowledge, copy: "knowledge.db" },
  ];
}

export function exists({ path }: StoredPart): boolean {
  return existsSync(path);
}
