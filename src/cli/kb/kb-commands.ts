/** Declares `loom kb`. */
import type { CliCommand } from "../command.ts";

const FILE = {
  kb: {
    value: "FILE",
    about:
      "knowledge base, a file or a postgres:// URL (default: $LOOM_KB; or $LOOM_STORE if it is a database; or knowledge.db next to the default store)",
  },
};
const COLLECTION = { value: "NAME", about: "only this collection" };
const JSON_LINES = { about: "print NDJSON" };

export const KB_ADD: CliCommand = {
  name: "kb add",
  summary: "Add or update files and folders.",
  argument: "PATH",
  takesMany: true,
  options: {
    ...FILE,
    collection: { value: "NAME", about: "collection of the documents (default: default)" },
    json: JSON_LINES,
  },
  notes: [
    "Reads Markdown, text and HTML; PDF if the package unpdf is installed. Folders are read recursively, except hidden files and node_modules. Unchanged files are skipped. A document is removed if its file was deleted from a folder that was imported before, or if it changed and can no longer be read. Documents added by their own path stay.",
    "Files that cannot be read are reported, and the rest is added. Ctrl-C stops and keeps what was added. Exit codes: 0 all added, 1 some failed, 2 nothing added, 130 stopped.",
  ],
  examples: ["loom kb add docs README.md", "loom kb add --collection manuals ~/manuals"],
};

export const KB_LIST: CliCommand = {
  name: "kb list",
  summary: "List documents.",
  options: { ...FILE, collection: COLLECTION, json: JSON_LINES },
  notes: ["Exit codes: 0 listed, 2 could not be read."],
  examples: ["loom kb list", "loom kb list --collection handbook --json"],
};

export const KB_SEARCH: CliCommand = {
  name: "kb search",
  summary: "Search for passages, as an agent does.",
  argument: "QUERY",
  takesMany: true,
  options: {
    ...FILE,
    collection: COLLECTION,
    limit: { value: "N", about: "maximum number of passages, 1 to 50 (default: 5)" },
    json: JSON_LINES,
  },
  notes: ["Exit codes: 0 found, 1 nothing found, 2 could not search."],
  examples: ['loom kb search "how do I deploy it"', "loom kb search 如何部署应用"],
};

export const KB_REMOVE: CliCommand = {
  name: "kb remove",
  summary: "Remove documents or folders from the knowledge base. Files are not deleted.",
  argument: "PATH",
  takesMany: true,
  options: { ...FILE, json: JSON_LINES },
  notes: [
    "PATH is a file, a folder, or a URI from `loom kb list`. Unknown paths are reported, and the others are removed. Exit codes: 0 all removed, 1 some not found, 2 none removed.",
  ],
  examples: ["loom kb remove docs/old.md", "loom kb remove handbook"],
};

export const KB: CliCommand = {
  name: "kb",
  summary: "Manage the documents that agents can search.",
  options: {},
  subcommands: [KB_ADD, KB_LIST, KB_SEARCH, KB_REMOVE],
  notes: [
    "The knowledge base is one file, or in the database of the sessions. `loom run` offers it to the model as the tool search_knowledge_base. It starts with the Loom handbook, in the collection `handbook`, which you can remove.",
  ],
};
