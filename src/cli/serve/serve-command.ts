/** What `loom serve` takes, from the settings; and the settings as a table, for the docs and for `--print-config`. */
import type { Command, Option } from "../command.ts";
import { listRows } from "../command.ts";
import type { Environment } from "../find-store.ts";
import type { ReadSettings } from "./read-settings.ts";
import type { Setting } from "./setting.ts";
import { flagOf, otherFlagOf, SETTING_KEYS, type SettingKey, SETTINGS, variableOf } from "./settings.ts";

function describeSetting(key: SettingKey): Option {
  const { kind, about } = SETTINGS[key] as Setting<unknown>;
  const fallback = showFallback(key).replaceAll("`", "");
  const notes = [
    ...(kind.placeholder === "WORD" ? [kind.form] : []),
    ...(fallback === "" || fallback === "on" || fallback === "off" ? [] : [`default ${fallback}`]),
  ];
  const more = notes.length === 0 ? "" : ` (${notes.join("; ")})`;
  const isOff = flagOf(key) === `no-${key}`;
  const text = `${isOff ? "do not " : ""}${about}${more}; ${variableOf(key)}`;
  return kind.placeholder === undefined ? { about: text } : { value: kind.placeholder, about: text };
}

/** In Markdown. Empty where there is none, and `about` says what then. */
function showFallback(key: SettingKey): string {
  const { kind, fallback, standIn } = SETTINGS[key] as Setting<unknown>;
  if (standIn !== undefined) return standIn.words;
  if (typeof fallback === "boolean") return fallback ? "`on`" : "`off`";
  const shown = fallback === undefined ? "" : kind.show(fallback);
  return shown === "" ? "" : `\`${shown}\``;
}

const FLAGS = SETTING_KEYS.flatMap((key) => {
  const option = describeSetting(key);
  const [flag, other] = [flagOf(key), otherFlagOf(key)];
  return [
    ...(flag === undefined ? [] : [[flag, option] as const]),
    ...(other === undefined ? [] : [[other, { ...option, isUnlisted: true }] as const]),
  ];
});
const SECRETS = SETTING_KEYS.filter((key) => flagOf(key) === undefined);

export const SERVE: Command = {
  name: "serve",
  summary: "Serve agents, sessions and their streams over HTTP and WebSocket.",
  options: {
    config: { value: "FILE", about: "settings in a JSON file; LOOM_CONFIG" },
    "print-config": { about: "print every setting and where it comes from, and end" },
    ...Object.fromEntries(FLAGS),
  },
  notes: [
    "Every setting may come from its flag, from the variable named with it, or from the file under its name, as port or metrics; the first of these wins. A path in the file is taken from where the file lies. A file is read only where it is named.",
    `Secrets have no flag, since others on this machine can see flags: ${SECRETS.map((key) => `${variableOf(key)} or "${key}" in the file`).join(", ")}. The keys of providers are read from their own variables too, as OPENAI_API_KEY.`,
    "Sizes are written as 64KB or 10MB, times as 500ms, 15s, 10m, 24h or 30d, lists with commas. Switches are true or false in the environment and in the file; every one has a second flag for the opposite, as --no-debug and --metrics.",
    "Without a model the offline model answers, which needs no key and says what it is. Agents: react, tot, got, and agot, which is got with tasks that may become graphs.",
    "It listens on this machine only, and asks nobody there who they are until somebody has made a token (`loom token create NAME`) or named the keys of JWT (--jwks). To be reached by others (--host) it needs one of these; --allow-public lets everybody in where there is neither, or --auth is off.",
    "SIGINT and SIGTERM stop it in good order: nothing new is taken, runs may end within --grace, readers are told to come back, and what is left goes on with the next start. A second signal ends it at once.",
    "Exit code: 0 it was stopped, 2 it could not be started, 130 it was ended at once.",
  ],
  examples: [
    "loom serve",
    "loom serve --port 8080 --model anthropic/claude-sonnet-4-5 --workspace .",
    "loom token create me && loom serve --host 0.0.0.0 --hosts agents.example.com",
    "LOOM_STORE=/var/lib/loom/loom.db loom serve --retention-age 30d",
    "loom serve --config loom.json --print-config",
  ],
};

/** One line for each setting: its name, its value, and its source. */
export function describeSettings(
  { values, sources, file }: ReadSettings,
  width: number,
  env: Environment = process.env,
): string {
  const rows = SETTING_KEYS.map((key) => {
    const { kind, isSecret = false, standIn } = SETTINGS[key] as Setting<unknown>;
    const value = values[key] ?? standIn?.find(env);
    const shown = value === undefined ? "-" : isSecret ? "(hidden)" : kind.show(value);
    return { name: key, about: `${shown === "" ? '""' : shown}  (${describeSource(key, sources[key], value, file)})` };
  });
  return `${listRows(rows, width)}\n`;
}

function describeSource(key: SettingKey, source: string, value: unknown, file: string | undefined): string {
  if (source === "flag") return `--${value === false ? "no-" : ""}${key}`;
  if (source === "environment") return variableOf(key);
  return source === "file" ? (file ?? "") : "default";
}

/** The table of docs/configuration.md. */
export function settingsTable(): string {
  const lines: string[] = [];
  let group = "";
  for (const key of SETTING_KEYS) {
    const setting = SETTINGS[key] as Setting<unknown>;
    if (setting.group !== group) {
      group = setting.group;
      lines.push(
        "",
        `### ${group}`,
        "",
        "| setting | flag | variable | value | default | what |",
        "| --- | --- | --- | --- | --- | --- |",
      );
    }
    const flag = flagOf(key);
    const cells = [
      `\`${key}\``,
      flag === undefined ? "none: a secret" : `\`--${flag}\``,
      `\`${variableOf(key)}\``,
      setting.kind.form,
      showFallback(key) === "" ? "none" : showFallback(key),
      setting.about,
    ];
    lines.push(`| ${cells.join(" | ")} |`);
  }
  return lines.join("\n").trim();
}
