/** Declares `loom token`. */
import type { PrincipalLimits } from "../../server/auth/principal.ts";
import { SCOPES, DEFAULT_SCOPES } from "../../server/auth/scopes.ts";
import { AUDIT_LOG_OPTION } from "../audit-command.ts";
import type { CliCommand } from "../command.ts";
import { STORE_OPTION } from "../sessions/server-settings.ts";

/** The limits of a token, as `--limits` names them. */
export const TOKEN_LIMITS: ReadonlyMap<string, keyof PrincipalLimits> = new Map([
  ["requests-per-minute", "requestsPerMinute"],
  ["runs-per-minute", "runsPerMinute"],
  ["max-runs", "maxRuns"],
  ["max-streams", "maxStreams"],
  ["max-searches", "maxSearches"],
  ["tokens-per-day", "tokensPerDay"],
]);
export const TOKEN_LIMIT_NAMES: readonly string[] = [...TOKEN_LIMITS.keys()];

export const TOKEN_CREATE: CliCommand = {
  name: "token create",
  summary: "Create a token and print it once.",
  argument: "NAME",
  needsArgument: true,
  options: {
    owner: {
      value: "NAME",
      about:
        "owner of the sessions it can access and create (default: local, the owner of sessions created on this machine)",
    },
    scopes: { value: "LIST", about: `permissions of the token (default: ${DEFAULT_SCOPES.join(",")})` },
    expires: { value: "TIME", about: "lifetime, such as 12h or 30d (default: does not expire)" },
    agents: { value: "LIST", about: "agents it may start (default: all)" },
    tools: { value: "RULES", about: "tool permissions of its runs, such as write_file=deny,http_fetch=ask,*=allow" },
    limits: {
      value: "LIST",
      about: `limits, such as max-runs=2,tokens-per-day=1000000 (default: settings of the server): ${TOKEN_LIMIT_NAMES.join(", ")}`,
    },
    output: {
      value: "FILE",
      about: "new file for the token, which only its owner can read (default: standard output)",
    },
    store: STORE_OPTION,
    ...AUDIT_LOG_OPTION,
    json: { about: "print JSON, with the token in `secret` unless --output is set" },
  },
  explainOption: (name) =>
    TOKEN_LIMIT_NAMES.some((limit) => name === `--${limit}`) ? `use \`--limits ${name.slice(2)}=…\`` : undefined,
  notes: [
    "Limits: max-runs is concurrent runs, including queued runs; max-streams concurrent streams and WebSockets; max-searches concurrent searches, further ones wait; tokens-per-day model tokens of its runs per UTC day.",
    "The token is printed to standard output, or written to the file of --output; everything else goes to standard error. Only a hash of the token is stored: if you lose it, create a new one. Running servers with authentication accept it immediately; a server that runs without authentication needs a restart.",
    `Scopes: ${SCOPES.join(", ")}. \`admin\` includes all other scopes and accesses the sessions of every owner. \`approve\` decides on tool calls that wait for approval, \`ingest\` streams in runs of other programs, \`metrics\` reads /metrics.`,
    "Tool rules: allow keeps the default of the tool, ask requires approval for every call, deny rejects every call. * matches all other tools.",
    "Exit codes: 0 created, 2 not created.",
  ],
  examples: [
    "TOKEN=$(loom token create laptop)",
    "loom token create laptop --output token",
    "loom token create ci --owner ci --scopes read,run --expires 30d --limits tokens-per-day=1000000",
    'loom token create guest --owner guest --agents react --tools "*=deny" --limits max-runs=1',
  ],
};

export const TOKEN_LIST: CliCommand = {
  name: "token list",
  summary: "List tokens and their state.",
  options: { store: STORE_OPTION, json: { about: "print NDJSON" } },
  notes: ["Secrets are not stored and cannot be listed.", "Exit codes: 0 listed, 2 could not be read."],
  examples: ["loom token list", "loom token list --json"],
};

const TOKEN_REVOKE: CliCommand = {
  name: "token revoke",
  summary: "Revoke tokens and close their connections.",
  argument: "NAME|ID",
  takesMany: true,
  options: { store: STORE_OPTION, ...AUDIT_LOG_OPTION, json: { about: "print NDJSON" } },
  notes: [
    "Streams and WebSockets of a revoked token are closed within seconds, and browsers signed in with it are signed out. Runs it started continue. Its name can be used again.",
    "Exit codes: 0 all revoked, 1 some not found, 2 none revoked.",
  ],
  examples: ["loom token revoke ci", "loom token revoke k3x9q0a1b2c3"],
};

export const TOKEN: CliCommand = {
  name: "token",
  summary: "Manage access tokens: create, list and revoke them.",
  options: {},
  subcommands: [TOKEN_CREATE, TOKEN_LIST, TOKEN_REVOKE],
  notes: [
    "Tokens belong to a session store. They are kept next to its file, in FILE-auth, or in its database. Once a token was created, `loom serve` requires authentication for that store, unless it is started with --auth off.",
  ],
};
