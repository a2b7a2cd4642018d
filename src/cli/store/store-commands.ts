/** Declares `loom store`. */
import type { CliCommand } from "../command.ts";
import { STORE_OPTION } from "../sessions/server-settings.ts";

const STORE_OPTIONS = {
  store: STORE_OPTION,
  schema: { value: "NAME", about: "schema of the tables in a database (default: $LOOM_STORE_SCHEMA, or loom)" },
};

const DATABASE_NOTE =
  "LOOM_STORE_CONNECTIONS, LOOM_STORE_TIMEOUT and LOOM_STORE_WAIT apply to a database, as for `loom serve`.";

export const STORE_STATUS: CliCommand = {
  name: "store status",
  summary: "Show what a store contains and whether it can be used.",
  options: { ...STORE_OPTIONS, json: { about: "print JSON" } },
  notes: [
    "Changes nothing, also while servers run. Workers are processes that hold a lease of a session.",
    "Parts of a database without tables have not been used: a server without authentication needs no tokens.",
    DATABASE_NOTE,
    "Exit codes: 0 the store can be used, 1 it cannot, or must be migrated first; the output says what to do.",
  ],
  examples: ["loom store status", "loom store status --store postgres://loom@db.example.com/loom --json"],
};

export const STORE_MIGRATE: CliCommand = {
  name: "store migrate",
  summary: "Create the tables of a store, or update them to this version.",
  options: { ...STORE_OPTIONS, json: { about: "print JSON" } },
  notes: [
    "Servers do this when they start. Use this command if their database user may not create tables. Several processes may do it at once. A store of a newer version is refused.",
    `${DATABASE_NOTE} Raise LOOM_STORE_TIMEOUT if a statement of an update takes longer than 30 s.`,
    "Exit codes: 0 the store is up to date, 2 it is not.",
  ],
  examples: ["loom store migrate --store postgres://admin@db.example.com/loom"],
};

export const STORE_COPY: CliCommand = {
  name: "store copy",
  summary: "Copy all sessions of a store, with their files, and its tokens to another store.",
  options: {
    from: { value: "STORE", about: "file or postgres:// URL to copy from (required)" },
    to: { value: "STORE", about: "file or postgres:// URL to copy to (required); created if it does not exist" },
    "from-schema": { value: "NAME", about: "schema of --from in a database (default: $LOOM_STORE_SCHEMA, or loom)" },
    "to-schema": { value: "NAME", about: "schema of --to in a database (default: $LOOM_STORE_SCHEMA, or loom)" },
    json: { about: "print NDJSON: one object per session with its SHA-256, and a summary at the end" },
  },
  notes: [
    "Every session is compared with its copy, byte by byte. After an interruption, run the command again: it copies what is missing, and changes no record that is there.",
    "Sessions with a live run or a writer are not copied, and named. Stop the servers of both stores first. The source is only read, but a store of an older version is updated.",
    "Uploaded files are compared by their SHA-256. Tokens are copied, also that they are revoked. Share links and the knowledge base are not copied.",
    DATABASE_NOTE,
    "Exit codes: 0 all sessions are in the target, 1 some are not, 2 a store cannot be used.",
  ],
  examples: ["loom store copy --from ~/.local/share/loom/loom.db --to postgres://loom@db.example.com/loom"],
};

export const STORE_RENEW: CliCommand = {
  name: "store renew",
  summary: "Make all cursors invalid, after a restore or a failover that lost records.",
  options: { ...STORE_OPTIONS, json: { about: "print JSON" } },
  notes: [
    "Clients may have received records that a restored store does not have. Run this command before you start a server: clients then load their sessions again, instead of skipping new records. Share links must be created again.",
    "Stop all servers first: the command refuses while a process holds a lease of a session. After an interruption, run it again. `loom store restore` does this for files.",
    `In PostgreSQL, use the user who created the tables. ${DATABASE_NOTE}`,
    "Exit codes: 0 all sessions are renewed, 2 some are not.",
  ],
  examples: ["loom store renew --store postgres://admin@db.example.com/loom"],
};

/** Where a store in files keeps its parts. */
const PARTS = {
  store: { value: "FILE", about: "session store (default: $LOOM_STORE, or ~/.local/share/loom/loom.db)" },
  kb: { value: "FILE", about: "knowledge base (default: $LOOM_KB, or knowledge.db next to the default store)" },
  json: { about: "print the result as JSON" },
};

export const STORE_BACKUP: CliCommand = {
  name: "store backup",
  summary: "Copy sessions, files, tokens and documents to a folder, also while a server runs.",
  argument: "FOLDER",
  needsArgument: true,
  options: PARTS,
  notes: [
    "FOLDER must not exist. It appears when the backup is complete: an interrupted backup leaves a folder `FOLDER.unfinished-…`, which can be deleted.",
    "Each database is copied as it is at one moment, the sessions first. Files that belong to these sessions are copied after them, so that no message refers to a missing file, unless its session is deleted meanwhile.",
    "The copy is read completely before the command ends. Damage is named, and the rest is backed up.",
    "The backup contains the hashes of tokens, not the tokens. Only its owner can read it.",
    "Exit codes: 0 complete, 1 complete, but something is damaged, 2 no backup was written.",
  ],
  examples: ["loom store backup /backups/loom-monday", "loom store backup --store data/loom.db --kb data/kb.db copy"],
};

export const STORE_RESTORE: CliCommand = {
  name: "store restore",
  summary: "Restore sessions, files, tokens and documents from a backup.",
  argument: "FOLDER",
  needsArgument: true,
  options: PARTS,
  notes: [
    "All files of the backup are checked first. Nothing is overwritten or deleted: move the store, its files and the knowledge base away before. The store appears last, when everything else is there. After an interruption, run the command again with the same backup.",
    "Clients receive restored sessions from the start, because they may have seen events that the backup does not have. Share links of restored sessions must be created again.",
    "Exit codes: 0 restored, 1 the backup is damaged, 2 the backup could not be restored.",
  ],
  examples: ["loom store restore /backups/loom-monday"],
};

const STORE_VERIFY: CliCommand = {
  name: "store verify",
  summary: "Read all stored data, or a backup, and name what is damaged.",
  argument: "FOLDER",
  options: PARTS,
  notes: [
    "Without FOLDER, reads every record, run and command of every session, every file, the tokens and the knowledge base, also while a server runs. With FOLDER, compares a backup with its manifest.",
    "Sessions and files have checksums. For tokens and documents, the structure of their databases is checked.",
    "Exit codes: 0 nothing is damaged, 1 something is damaged, 2 could not be read.",
  ],
  examples: ["loom store verify", "loom store verify /backups/loom-monday"],
};

export const STORE: CliCommand = {
  name: "store",
  summary: "Show, migrate, copy, back up and verify session stores.",
  options: {},
  subcommands: [STORE_STATUS, STORE_MIGRATE, STORE_COPY, STORE_RENEW, STORE_BACKUP, STORE_RESTORE, STORE_VERIFY],
};
