/** Writes the tables of settings in docs/configuration.md. */
import { showDefault } from "../../src/cli/serve/serve-command.ts";
import { LIMIT_KEYS, LIMITS } from "../../src/cli/serve/limits.ts";
import { type Setting, variableOf } from "../../src/cli/serve/setting.ts";
import { flagOf, SETTING_GROUPS, type SettingKey } from "../../src/cli/serve/settings.ts";
import { CLIENT_SETTINGS } from "../../src/cli/sessions/server-settings.ts";

const TABLE_HEAD = [
  "| setting | flag | variable | value | default | description |",
  "| --- | --- | --- | --- | --- | --- |",
];

/** Returns the tables of the settings of `loom serve`, by group. */
export function settingsTable(): string {
  const lines = Object.entries(SETTING_GROUPS).flatMap(([group, settings]) => [
    "",
    `### ${group}`,
    "",
    ...TABLE_HEAD,
    ...Object.entries(settings).map(([key, setting]: [string, Setting<unknown>]) =>
      formatRow(key, flagOf(key as SettingKey), setting, showDefault(setting)),
    ),
  ]);
  return lines.join("\n").trim();
}

/** Returns the table of the limits. */
export function limitsTable(): string {
  const rows = LIMIT_KEYS.map((key) => {
    const limit = LIMITS[key] as Setting<unknown>;
    return `| \`${key}\` | ${limit.kind.expected} | ${showDefault(limit)} | ${limit.about} |`;
  });
  return ["| limit | value | default | description |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

/** Returns the table of the settings of commands that use a server. */
export function clientSettingsTable(): string {
  const rows = Object.entries(CLIENT_SETTINGS).map(([key, setting]: [string, Setting<string>]) =>
    formatRow(key, setting.isSecret === true ? undefined : key, setting, ""),
  );
  return [...TABLE_HEAD, ...rows].join("\n");
}

function formatRow(key: string, flag: string | undefined, setting: Setting<unknown>, defaultValue: string): string {
  const cells = [
    `\`${key}\``,
    flag === undefined ? "none (secret)" : `\`--${flag}\``,
    `\`${variableOf(key)}\``,
    setting.kind.expected,
    defaultValue === "" ? "none" : defaultValue,
    setting.about,
  ];
  return `| ${cells.join(" | ")} |`;
}
