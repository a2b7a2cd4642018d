/** Declares `loom cancel` and `loom approve`. */
import type { CliCommand } from "../command.ts";
import { SERVICE_NOTE, SERVICE_OPTIONS } from "./server-settings.ts";

export const CANCEL: CliCommand = {
  name: "cancel",
  summary: "Cancel the live run of a session, or a queued message.",
  argument: "SESSION",
  needsArgument: true,
  options: {
    run: { value: "ID", about: "run to cancel (default: the live run, or the next queued one)" },
    reason: { value: "TEXT", about: "reason, stored in the session" },
    ...SERVICE_OPTIONS,
    json: { about: "print JSON" },
  },
  notes: [
    SERVICE_NOTE,
    "Exit codes: 0 cancelled, 1 nothing to cancel, or the run has already ended, 2 could not be cancelled, for example because there is no such run.",
  ],
  examples: ["loom cancel 3f2a9c81d4e0", 'loom cancel 3f2a9c81d4e0 --reason "wrong folder"'],
};

export const APPROVE: CliCommand = {
  name: "approve",
  summary: "List tool calls that wait for approval, and allow or deny them.",
  argument: "SESSION",
  options: {
    allow: { about: "allow the call" },
    deny: { about: "deny the call" },
    call: { value: "ID", about: "call to decide on (default: the only one that waits)" },
    all: { about: "decide on all calls of the session that wait" },
    reason: { value: "TEXT", about: "with --deny: reason, which the model receives" },
    ...SERVICE_OPTIONS,
    json: { about: "print NDJSON" },
  },
  notes: [
    "Without SESSION, lists what waits in all sessions. With SESSION on a terminal, asks for a decision on each call, where arguments can also be edited; without a terminal, lists them.",
    "A server continues the run. In a store, the process that runs it does, or `loom run --session ID --resume`.",
    SERVICE_NOTE,
    "Exit codes: 0 listed, or decided, 1 nothing waits, or not this call, or a decision was refused, 2 could not be read, 130 the prompt was closed.",
  ],
  examples: [
    "loom approve",
    "loom approve 3f2a9c81d4e0",
    "loom approve 3f2a9c81d4e0 --allow",
    'loom approve 3f2a9c81d4e0 --call CALL --deny --reason "use another folder"',
  ],
};
