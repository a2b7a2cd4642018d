/**
 * Reads the settings of a server from flags, the environment, the configuration file and the defaults, in this order.
 * An invalid value is reported with its name and source before anything is opened.
 *
 * The file is read only if it is named: a file that happens to be in the current folder must not choose which programs
 * are started.
 */
import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isJsonObject } from "../../protocol/json.ts";
import { CliError, type ParsedCommand, quoteWord, textOption } from "../command.ts";
import { type Environment, readVariable } from "../find-store.ts";
import { findNearest } from "../../protocol/find-nearest.ts";
import { CLIENT_VARIABLES } from "../sessions/server-settings.ts";
import { completeLimits, LIMIT_KEYS, LIMITS } from "./limits.ts";
import { readValue, type Setting, variableOf } from "./setting.ts";
import { SETTING_KEYS, type SettingKey, SETTINGS, type Settings } from "./settings.ts";

export type SettingSource = "flag" | "environment" | "file" | "default";

export interface ReadSettings {
  readonly values: Settings;
  readonly sources: { readonly [K in SettingKey]: SettingSource };
  /** The configuration file, if one was read. */
  readonly file: string | undefined;
  readonly warnings: readonly string[];
}

interface GivenValue {
  readonly value: unknown;
  readonly source: SettingSource;
  /** The name as the user wrote it: `--port`, `LOOM_PORT`, `"port" in FILE`. */
  readonly name: string;
}

const MAX_FILE_BYTES = 1024 * 1024;

export function readSettings(parsed: ParsedCommand, env: Environment = process.env): ReadSettings {
  const file = textOption(parsed, "config") ?? readVariable(env, "LOOM_CONFIG");
  const written = file === undefined ? {} : readFile(file);
  assertNoLimitVariables(env);
  const values: { [key: string]: unknown } = {};
  const sources: { [key: string]: SettingSource } = {};
  for (const key of SETTING_KEYS) {
    const given = listGiven(key, parsed, env, written, file);
    const setting = SETTINGS[key] as Setting<unknown>;
    const { kind } = setting;
    const read = (kind.merge === undefined ? given.slice(0, 1) : given).map((one) => readGiven(setting, one, file));
    values[key] =
      read.length === 0 ? setting.defaultValue : read.reduceRight((low, high) => kind.merge?.(low, high) ?? high);
    sources[key] = given[0]?.source ?? "default";
  }
  return {
    values: { ...completeLimits((values as Pick<Settings, "limits">).limits), ...values } as unknown as Settings,
    sources: sources as ReadSettings["sources"],
    file,
    warnings: [...(file === undefined ? [] : findReadableSecrets(file, written)), ...findUnknownVariables(env)],
  };
}

/** The values of all sources, the first of which wins. */
function listGiven(
  key: SettingKey,
  parsed: ParsedCommand,
  env: Environment,
  written: { readonly [key: string]: unknown },
  file: string | undefined,
): readonly GivenValue[] {
  const given: GivenValue[] = [];
  const flagged = parsed.options[key];
  if (flagged !== undefined) given.push({ value: flagged, source: "flag", name: `--${key}` });
  const variable = variableOf(key);
  const set = readVariable(env, variable);
  if (set !== undefined) given.push({ value: set, source: "environment", name: variable });
  const own = Object.hasOwn(written, key) ? written[key] : undefined;
  if (own != null) given.push({ value: own, source: "file", name: `"${key}" in ${file ?? ""}` });
  return given;
}

function readGiven(setting: Setting<unknown>, { value, source, name }: GivenValue, file: string | undefined): unknown {
  const { kind } = setting;
  const read = readValue(setting, name, value);
  const isUrl = typeof read === "string" && /^[a-z][a-z\d+.-]+:\/\//i.test(read);
  const isFromFile = source === "file" && kind.isPath === true && !isUrl && file !== undefined;
  return isFromFile && kind.words?.includes(read as string) !== true ? resolve(dirname(file), read as string) : read;
}

function readFile(file: string): { readonly [key: string]: unknown } {
  const content = parseFile(file);
  if (!isJsonObject(content)) throw new CliError(`${file}: settings must be one JSON object, such as {"port": 10338}`);
  for (const key of Object.keys(content)) {
    if (Object.hasOwn(SETTINGS, key)) continue;
    const hint = suggest(
      key,
      (setting) => `did you mean "${setting}"?`,
      (limit) => `"${limit}" belongs into "limits": {}`,
    );
    throw new CliError(`${file}: unknown setting "${key.slice(0, 60)}"`, hint);
  }
  return content;
}

/** Says which setting or limit an unknown name may mean. */
function suggest(name: string, setting: (key: string) => string, limit: (key: string) => string): string {
  const nearest = findNearest(name, [...SETTING_KEYS, ...LIMIT_KEYS]);
  if (nearest === undefined) return "run `loom serve --help` for a list";
  return Object.hasOwn(LIMITS, nearest) ? limit(nearest) : setting(nearest);
}

function parseFile(file: string): unknown {
  let content: string;
  try {
    if (statSync(file).size > MAX_FILE_BYTES) throw new CliError(`${file}: the file is larger than 1 MB`);
    content = readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof CliError) throw error;
    const { code } = error as { readonly code?: string };
    throw new CliError(`cannot read the settings in ${file} (${code ?? "?"})`);
  }
  try {
    return JSON.parse(content.replace(/^\ufeff/, "")) as unknown;
  } catch (error) {
    // The content may be a secret, so only the line is reported.
    const where = /line (?<line>\d+)/.exec(String(error))?.groups?.["line"] ?? findLine(content, error);
    throw new CliError(`${file}: invalid JSON${where === undefined ? "" : ` on line ${where}`}`);
  }
}

function findLine(content: string, error: unknown): string | undefined {
  const position = /position (?<at>\d+)/.exec(String(error))?.groups?.["at"];
  return position === undefined ? undefined : String(content.slice(0, Number(position)).split("\n").length);
}

/** Variables that are not settings of a server: the name of the file, and those of other commands and the tests. */
const OTHER_VARIABLES: ReadonlySet<string> = new Set([
  "LOOM_CONFIG",
  ...CLIENT_VARIABLES,
  "LOOM_NODE_RERUN",
  "LOOM_LONG",
  "LOOM_LOG",
  "LOOM_FIXTURE",
  "LOOM_CHROMIUM",
  "LOOM_SHOT",
]);
const MAX_UNKNOWN = 10;

/** A limit that is ignored would not protect the server. */
function assertNoLimitVariables(env: Environment): void {
  for (const key of LIMIT_KEYS) {
    const variable = variableOf(key);
    if (readVariable(env, variable) === undefined) continue;
    throw new CliError(`unknown setting ${variable}`, `it is a limit: use \`LOOM_LIMITS="${key}=…"\``);
  }
}

/** A warning only: other programs may also use the prefix LOOM_. */
function findUnknownVariables(env: Environment): readonly string[] {
  const known = SETTING_KEYS.map(variableOf);
  const unknown = Object.keys(env).filter(
    (name) => /^LOOM_/i.test(name) && readVariable(env, name) !== undefined && !known.includes(name),
  );
  return unknown
    .filter((name) => !OTHER_VARIABLES.has(name))
    .slice(0, MAX_UNKNOWN)
    .map((name) => {
      const hint = suggest(
        name.slice(5),
        (setting) => `did you mean ${variableOf(setting)}?`,
        (limit) => `use LOOM_LIMITS="${limit}=…"`,
      );
      return `ignored the unknown setting ${name.slice(0, 60)}: ${hint}`;
    });
}

/** Warns if other users of this machine can read a secret in the file. */
function findReadableSecrets(file: string, written: { readonly [key: string]: unknown }): readonly string[] {
  const secrets = SETTING_KEYS.filter((key) => (SETTINGS[key] as Setting<unknown>).isSecret === true && key in written);
  if (secrets.length === 0 || process.platform === "win32" || (statSync(file).mode & 0o077) === 0) return [];
  return [`${file} contains ${secrets.join(", ")} and is readable by other users; run chmod 600 ${quoteWord(file)}`];
}
