/** Declares `loom serve`, and prints its settings for `--print-config`. */
import type { CliCommand, CliOption } from "../command.ts";
import { listRows } from "../command.ts";
import { AGENTS_NOTE } from "../load-agents.ts";
import { SET_TABLE } from "../commands.ts";
import type { Environment } from "../find-store.ts";
import type { ReadSettings } from "./read-settings.ts";
import { findNearest } from "../../protocol/find-nearest.ts";
import { LIMIT_KEYS, LIMITS } from "./limits.ts";
import { type Setting, variableOf } from "./setting.ts";
import { flagOf, SETTING_KEYS, type SettingKey, SETTINGS } from "./settings.ts";

function describeSetting(key: SettingKey): CliOption {
  const { kind, about, defaultValue } = SETTINGS[key] as Setting<unknown>;
  const variable = `env: ${variableOf(key)}`;
  if (typeof defaultValue === "boolean")
    return { about: `${defaultValue ? "do not " : ""}${about} (${variable})`, defaultsTo: defaultValue };
  const shownDefault = showDefault(SETTINGS[key]).replaceAll("`", "");
  const notes = [
    ...(kind.placeholder === "CHOICE" ? [kind.expected] : []),
    ...(shownDefault === "" ? [] : [`default: ${shownDefault}`]),
    variable,
  ];
  const { placeholder = "", choices } = kind;
  return { value: placeholder, about: `${about} (${notes.join("; ")})`, ...(choices === undefined ? {} : { choices }) };
}

/** Returns the default in Markdown, or an empty string if there is none. */
export function showDefault({ kind, defaultValue, defaultLabel }: Setting<unknown>): string {
  if (defaultLabel !== undefined) return defaultLabel;
  if (typeof defaultValue === "boolean") return defaultValue ? "`on`" : "`off`";
  const shown = defaultValue === undefined ? "" : kind.show(defaultValue);
  return shown === "" ? "" : `\`${shown}\``;
}

const SECRETS = SETTING_KEYS.filter((key) => flagOf(key) === undefined);
const FLAGS = SETTING_KEYS.filter((key) => !SECRETS.includes(key));

export const SERVE: CliCommand = {
  name: "serve",
  summary: "Serve agents and sessions over HTTP and WebSocket.",
  options: {
    config: { value: "FILE", about: "JSON file with settings (env: LOOM_CONFIG)" },
    "print-config": { about: "print every setting with its source, then exit" },
    ...Object.fromEntries(FLAGS.map((key) => [key, describeSetting(key)])),
  },
  explainOption(name) {
    const nearest = findNearest(name, [...FLAGS, ...LIMIT_KEYS]);
    if (nearest === undefined || !Object.hasOwn(LIMITS, nearest)) return undefined;
    return `\`${nearest}\` is a limit: use \`--limits ${nearest}=…\``;
  },
  table: SET_TABLE,
  notes: [
    'A setting is read from its flag, its environment variable or its key in the file, such as "port"; the first of these wins. Paths in the file are relative to the file. No file is read unless --config or LOOM_CONFIG names it.',
    `Secrets have no flag, because other users of this machine can see flags: set ${SECRETS.map((key) => `${variableOf(key)}, or "${key}" in the file`).join("; ")}. Provider keys are also read from their own variables, such as OPENAI_API_KEY.`,
    'Limits: `--limits max-body=1MB,max-sockets=100`, or `{"limits": {"max-body": "1MB"}}` in the file. docs/configuration.md and --print-config list all of them.',
    "Sizes: 64KB, 10MB. Durations: 500ms, 15s, 10m, 24h, 30d. Lists: comma-separated. Boolean settings are true or false in the environment and in the file, and have a second flag for the opposite, such as --no-debug or --metrics.",
    "Without --model, the offline model answers: it needs no key and is not a language model. Agents: react, tot, got, and agot (adaptive got).",
    AGENTS_NOTE,
    "By default the server listens on localhost without authentication. Authentication turns on once you create a token (`loom token create NAME`) or set --jwks. A public --host requires one of these; --allow-links lets other machines open share links only; --allow-public serves a public address without authentication.",
    "SIGINT, SIGTERM and SIGHUP shut the server down: it answers 503 on /readyz for the --drain period, then accepts no new requests, gives live runs the --grace period to finish and asks clients to reconnect. Unfinished runs continue at the next start. A second signal exits immediately.",
    "Exit codes: 0 stopped, 1 the store can no longer be written, 2 could not start, 130 stopped by a second signal.",
  ],
  examples: [
    "loom serve",
    "loom serve --port 8080 --model anthropic/claude-sonnet-4-5 --workspace .",
    "loom serve --agents agents.mts",
    "loom token create me && loom serve --host 0.0.0.0 --hosts agents.example.com",
    "LOOM_STORE=/var/lib/loom/loom.db loom serve --retention-age 30d",
    "loom serve --config loom.json --print-config",
  ],
};

/** Returns one line per setting: name, value and source. */
export function describeSettings(
  { values, sources, file }: ReadSettings,
  width: number,
  env: Environment = process.env,
): string {
  const rows = SETTING_KEYS.map((key) => {
    const { kind, isSecret = false, findDefault } = SETTINGS[key] as Setting<unknown>;
    const value = values[key] ?? findDefault?.(env, values.store);
    const shown = value === undefined ? "-" : isSecret ? "(hidden)" : kind.show(value);
    return { name: key, about: `${shown === "" ? '""' : shown}  (${describeSource(key, sources[key], value, file)})` };
  });
  const limits = LIMIT_KEYS.map((key) => {
    const { kind } = LIMITS[key] as Setting<unknown>;
    const about = values[key] === undefined ? "-" : kind.show(values[key]);
    return { name: `limits.${key}`, about: `${about}  (${values.limits[key] === undefined ? "default" : "limits"})` };
  });
  return `${listRows([...rows, ...limits], width)}\n`;
}

function describeSource(key: SettingKey, source: string, value: unknown, file: string | undefined): string {
  if (source === "flag") return `--${value === false ? "no-" : ""}${key}`;
  if (source === "environment") return variableOf(key);
  return source === "file" ? (file ?? "") : "default";
}
