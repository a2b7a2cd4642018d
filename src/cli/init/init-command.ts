/** Declares `loom init`. */
import type { CliCommand } from "../command.ts";

export const INIT: CliCommand = {
  name: "init",
  summary: "Create a project with an agent, a tool, a server, a page, types and its own store.",
  argument: "FOLDER",
  options: {
    package: { value: "SPEC", about: "version, file or URL of loom-agent to install (default: what is installed)" },
  },
  notes: [
    "Creates the files in FOLDER, or in the current folder. A package.json that is already there is extended: if it has a script `start`, the server starts with `npm run loom`. A README.md and a tsconfig.json are kept, and no other file is overwritten.",
    "Sessions and documents are stored in the folder data of the project.",
    "Exit codes: 0 created, 2 not created.",
  ],
  examples: ["loom init my-agent", "cd my-agent && npm install && npm start"],
};
