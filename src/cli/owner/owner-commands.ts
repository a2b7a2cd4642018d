/** Declares `loom owner`. */
import { AUDIT_LOG_OPTION } from "../audit-command.ts";
import type { CliCommand } from "../command.ts";

const OWNER_ERASE: CliCommand = {
  name: "owner erase",
  summary: "Erase everything of an owner.",
  argument: "NAME",
  needsArgument: true,
  options: {
    yes: { about: "confirmation; required, because this cannot be undone" },
    store: {
      value: "STORE",
      about: "session store, a file or a postgres:// URL (default: $LOOM_STORE, or ~/.local/share/loom/loom.db)",
    },
    ...AUDIT_LOG_OPTION,
    json: { about: "print JSON" },
  },
  notes: [
    "Cancels the runs of the owner and deletes its sessions, images and files, tokens, share links, sign-ins and recorded usage. Documents of the knowledge base have no owner and are kept. It can run while a server uses the store. Running it again is harmless and finishes an interrupted one.",
    "Exit codes: 0 erased, 2 not erased.",
  ],
  examples: ["loom owner erase alice --yes"],
};

export const OWNER: CliCommand = {
  name: "owner",
  summary: "Erase the data of an owner.",
  options: {},
  subcommands: [OWNER_ERASE],
};
