/** What `loom kb` takes. */
import type { Command } from "../command.ts";

const FILE = {
  kb: { value: "FILE", about: "the knowledge base (default $LOOM_KB, or knowledge.db beside the default store)" },
};
const COLLECTION = { value: "NAME", about: "only of this collection" };
const JSON_LINES = { about: "print JSON, one object per line" };

export const KB_ADD: Command = {
  name: "kb add",
  summary: "Add files and folders, or what changed in them.",
  argument: "PATH",
  takesMany: true,
  options: {
    ...FILE,
    collection: { value: "NAME", about: "the collection they belong to (default `default`)" },
    json: JSON_LINES,
  },
  notes: [
    "Reads Markdown, text and HTML, and PDF where the package unpdf is installed. Folders are taken with all that is in them, but for hidden files and node_modules. What has not changed is not read again. A document goes where its file is gone and an earlier import of the folder had found it, and where its file has changed into what cannot be read; what was added by itself stays.",
    "What cannot be read is named, and the rest is added. Ctrl-C stops it, and keeps what was done. Exit code: 0 all was added, 1 only some of it, 2 nothing could be done, 130 stopped.",
  ],
  examples: ["loom kb add docs README.md", "loom kb add --collection manuals ~/manuals"],
};

export const KB_LIST: Command = {
  name: "kb list",
  summary: "List the documents.",
  options: { ...FILE, collection: COLLECTION, json: JSON_LINES },
  examples: ["loom kb list", "loom kb list --collection handbook --json"],
};

export const KB_SEARCH: Command = {
  name: "kb search",
  summary: "Find passages, as an agent would.",
  argument: "QUERY",
  takesMany: true,
  options: {
    ...FILE,
    collection: COLLECTION,
    limit: { value: "N", about: "passages at most (default 5, at most 50)" },
    json: JSON_LINES,
  },
  notes: ["Exit code: 0 something was found, 1 nothing was, 2 it could not be searched."],
  examples: ['loom kb search "how do I deploy it"', "loom kb search 如何部署应用"],
};

export const KB_REMOVE: Command = {
  name: "kb remove",
  summary: "Remove documents, or all of a folder. The files stay.",
  argument: "PATH",
  takesMany: true,
  options: { ...FILE, json: JSON_LINES },
  notes: [
    "PATH is a file, a folder, or what `loom kb list` shows. One that is not there is named, and the others are removed. Exit code: 0 all were removed, 1 only some of them, 2 none.",
  ],
  examples: ["loom kb remove docs/old.md", "loom kb remove handbook"],
};

export const KB: Command = {
  name: "kb",
  summary: "Keep the documents that agents can search.",
  options: {},
  subcommands: [KB_ADD, KB_LIST, KB_SEARCH, KB_REMOVE],
  notes: [
    "The knowledge base is one file. `loom run` offers it to the model as the tool search_knowledge_base. A handbook of Loom is in it, in the collection `handbook`, until you remove it.",
  ],
};
