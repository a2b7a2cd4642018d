/** What `loom token` takes. */
import { SCOPES, USUAL_SCOPES } from "../../server/auth/scopes.ts";
import type { Command } from "../command.ts";

const STORE = {
  store: {
    value: "FILE",
    about: "the store of sessions they are for (default $LOOM_STORE, or ~/.local/share/loom/loom.db)",
  },
};

export const TOKEN_CREATE: Command = {
  name: "token create",
  summary: "Make a token, and print it once.",
  argument: "NAME",
  options: {
    owner: { value: "WHO", about: "whose sessions it sees and makes (default local: those made on this machine)" },
    scopes: { value: "LIST", about: `what it is for (default ${USUAL_SCOPES.join(",")})` },
    expires: { value: "TIME", about: "when it ends, as 12h or 30d from now (default never)" },
    agents: { value: "LIST", about: "the only agents it may start (default all)" },
    tools: { value: "RULES", about: "what its runs may do with tools, as write_file=deny,http_fetch=ask,*=allow" },
    "requests-per-minute": { value: "N", about: "requests in a minute (default that of the server)" },
    "runs-per-minute": { value: "N", about: "runs that it may begin in a minute" },
    "max-runs": { value: "N", about: "runs at once, those that wait included" },
    "max-streams": { value: "N", about: "streams and WebSockets at once" },
    "tokens-per-day": { value: "N", about: "tokens of models that its runs may use up in a day of UTC" },
    ...STORE,
    json: { about: "print JSON, with the token in `secret`" },
  },
  notes: [
    "The token goes to standard output, all else to standard error. It is not kept, only what it is recognised by: who loses it makes another. Servers that ask who comes know it at once.",
    `Scopes: ${SCOPES.join(", ")}. \`admin\` sees and changes the sessions of everybody, and allows all the others do. \`approve\` answers tools that ask for consent, \`ingest\` streams in runs of other programs, \`metrics\` reads /metrics.`,
    "Rules of tools: allow leaves it as the tool has it, ask needs consent for every call, deny refuses them all; * is for those that are not named.",
    "Exit code: 0 it was made, 2 it was not.",
  ],
  examples: [
    "TOKEN=$(loom token create laptop)",
    "loom token create ci --owner ci --scopes read,run --expires 30d --tokens-per-day 1000000",
    'loom token create guest --owner guest --agents react --tools "*=deny" --max-runs 1',
  ],
};

export const TOKEN_LIST: Command = {
  name: "token list",
  summary: "List the tokens, and what became of them.",
  options: { ...STORE, json: { about: "print JSON, one object per line" } },
  notes: ["No secret is shown: none is kept."],
  examples: ["loom token list", "loom token list --json"],
};

const TOKEN_REVOKE: Command = {
  name: "token revoke",
  summary: "End tokens, and whatever is open by them.",
  argument: "NAME|ID",
  takesMany: true,
  options: { ...STORE, json: { about: "print JSON, one object per line" } },
  notes: [
    "Streams and WebSockets that were opened with it end within seconds, browsers that signed in with it are signed out. Runs that it began go on. Its name may be given anew.",
    "Exit code: 0 all were revoked, 1 only some of them, 2 none.",
  ],
  examples: ["loom token revoke ci", "loom token revoke k3x9q0a1b2c3"],
};

export const TOKEN: Command = {
  name: "token",
  summary: "Say who may come in: make tokens, list and revoke them.",
  options: {},
  subcommands: [TOKEN_CREATE, TOKEN_LIST, TOKEN_REVOKE],
  notes: [
    "Tokens belong to a store of sessions, and are kept beside it, in FILE-auth. Once there was one, `loom serve` with that store asks everybody who they are, unless it is started with --auth off.",
  ],
};
