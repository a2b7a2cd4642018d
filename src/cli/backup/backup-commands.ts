/** Declares `loom backup`, `loom restore` and `loom verify`. */
import type { CliCommand } from "../command.ts";

const PARTS = {
  store: { value: "FILE", about: "session store (default: $LOOM_STORE, or ~/.local/share/loom/loom.db)" },
  kb: { value: "FILE", about: "knowledge base (default: $LOOM_KB, or knowledge.db next to the default store)" },
  json: { about: "print the result as JSON" },
};

export const BACKUP: CliCommand = {
  name: "backup",
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
  examples: ["loom backup /backups/loom-monday", "loom backup --store data/loom.db --kb data/kb.db copy"],
};

export const RESTORE: CliCommand = {
  name: "restore",
  summary: "Restore sessions, files, tokens and documents from a backup.",
  argument: "FOLDER",
  needsArgument: true,
  options: PARTS,
  notes: [
    "All files of the backup are checked first. Nothing is overwritten or deleted: move the store, its files and the knowledge base away before. The store appears last, when everything else is there. After an interruption, run the command again with the same backup.",
    "Clients receive restored sessions from the start, because they may have seen events that the backup does not have. Share links of restored sessions must be created again.",
    "Exit codes: 0 restored, 1 the backup is damaged, 2 the backup could not be restored.",
  ],
  examples: ["loom restore /backups/loom-monday"],
};

export const VERIFY: CliCommand = {
  name: "verify",
  summary: "Read all stored data, or a backup, and name what is damaged.",
  argument: "FOLDER",
  options: PARTS,
  notes: [
    "Without FOLDER, reads every record, run and command of every session, every file, the tokens and the knowledge base, also while a server runs. With FOLDER, compares a backup with its manifest.",
    "Sessions and files have checksums. For tokens and documents, the structure of their databases is checked.",
    "Exit codes: 0 nothing is damaged, 1 something is damaged, 2 could not be read.",
  ],
  examples: ["loom verify", "loom verify /backups/loom-monday"],
};
