/** Declares `loom doctor`. */
import type { CliCommand } from "../command.ts";
import { STORE_OPTION } from "../sessions/server-settings.ts";

export const DOCTOR: CliCommand = {
  name: "doctor",
  summary: "Check versions, settings, store, port, models and clock, and say what to do.",
  options: {
    config: { value: "FILE", about: "configuration file of the server (default: $LOOM_CONFIG, or none)" },
    store: STORE_OPTION,
    host: { value: "HOST", about: "address that the server listens on (default: $LOOM_HOST, or 127.0.0.1)" },
    port: { value: "PORT", about: "port that the server listens on (default: $LOOM_PORT, or 10338)" },
    agents: { value: "FILE", about: "module with your own agents (default: $LOOM_AGENTS, or none)" },
    json: { about: "one JSON object per check" },
  },
  notes: [
    "Reads the same settings as `loom serve` and changes nothing. It asks each model provider that has a key for its models, which is free, and prints no key.",
    "Exit codes: 0 nothing failed, 1 a check failed, 2 the command could not run.",
  ],
  examples: ["loom doctor", "loom doctor --store postgres://loom@db.example.com/loom --json"],
};
