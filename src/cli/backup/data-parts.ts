/** The parts of a server's data, where each is kept, and how it is named in a backup. */
import { CliError, type ParsedCommand, textOption } from "../command.ts";
import { fileExists, findKnowledgeBase, findStore, hideCredentials, isDatabase, rejectMemory } from "../find-store.ts";
import { cleanText } from "../fit-text.ts";

export interface StoredPart {
  readonly name: "store" | "credentials" | "knowledge" | "blobs";
  /** Where a server keeps it. */
  readonly path: string;
  /** Its name in a backup. */
  readonly copy: string;
}

/** Throws a CliError for a database or `:memory:`. The store first: blobs are stored before the messages that refer to them, so a later copy has all of them. */
export function listParts(parsed: ParsedCommand): readonly [store: StoredPart, ...others: StoredPart[]] {
  const store = textOption(parsed, "store") ?? findStore(process.env);
  rejectMemory(store);
  assertFile(store, parsed);
  const knowledge = textOption(parsed, "kb") ?? findKnowledgeBase(process.env, store);
  assertFile(knowledge, parsed);
  return [
    { name: "store", path: store, copy: "store.db" },
    { name: "blobs", path: `${store}-blobs`, copy: "blobs" },
    { name: "credentials", path: `${store}-auth`, copy: "credentials.db" },
    { name: "knowledge", path: knowledge, copy: "knowledge.db" },
  ];
}

function assertFile(part: string, { command }: ParsedCommand): void {
  if (!isDatabase(part)) return;
  throw new CliError(
    `${cleanText(hideCredentials(part))} is a database, and \`loom ${command.name}\` reads and writes files only`,
    "use pg_dump or point-in-time recovery of PostgreSQL; see the guide Operate PostgreSQL",
  );
}

export function exists({ path }: StoredPart): boolean {
  return fileExists(path);
}
