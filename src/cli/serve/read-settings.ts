/**
 * The settings of a server from where they may come: flags, then the environment, then the file, then the defaults. What
 * is wrong is told with its name and its source before anything is opened. A file is read only where it is named: one
 * that happens to lie in the folder must not choose which programs are started.
 */
import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isJsonObject } from "../../protocol/index.ts";
import { CliError, type ParsedCommand, textOption } from "../command.ts";
import { type Environment, readVariable } from "../find-store.ts";
import { findNearest } from "./find-nearest.ts";
import { describeGiven, NONE, type Setting } from "./setting.ts";
import { flagOf, otherFlagOf, SETTING_KEYS, type SettingKey, SETTINGS, type Settings, variableOf } from "./settings.ts";

export type SettingSource = "flag" | "environment" | "file" | "default";

export interface ReadSettings {
  readonly values: Settings;
  readonly sources: { readonly [K in SettingKey]: SettingSource };
  /** The file that was read. */
  readonly file: string | undefined;
  readonly warnings: readonly string[];
}

interface Given {
  readonly value: unknown;
  readonly source: SettingSource;
  /** As whoever gave it wrote it: `--port`, `LOOM_PORT`, `"port" in FILE`. */
  readonly name: string;
}

const MAX_FILE_BYTES = 1024 * 1024;

export function readSettings(parsed: ParsedCommand, env: Environment = process.env): ReadSettings {
  const file = textOption(parsed, "config") ?? readVariable(env, "LOOM_CONFIG");
  const written = file === undefined ? {} : readFile(file);
  const values: { [key: string]: unknown } = {};
  const sources: { [key: string]: SettingSource } = {};
  for (const key of SETTING_KEYS) {
    const given = findGiven(key, parsed, env, written, file);
    const setting = SETTINGS[key] as Setting<unknown>;
    values[key] = given === undefined ? setting.fallback : readGiven(setting, given, file);
    sources[key] = given?.source ?? "default";
  }
  return {
    values: values as unknown as Settings,
    sources: sources as ReadSettings["sources"],
    file,
    warnings: [...(file === undefined ? [] : findOpenSecrets(file, written)), ...findUnknownVariables(env)],
  };
}

function findGiven(
  key: SettingKey,
  parsed: ParsedCommand,
  env: Environment,
  written: { readonly [key: string]: unknown },
  file: string | undefined,
): Given | undefined {
  const flags = [flagOf(key), otherFlagOf(key)].filter(
    (flag) => flag !== undefined && parsed.options[flag] !== undefined,
  );
  const [flag, other] = flags;
  if (other !== undefined) throw new CliError(`--${flag ?? ""} and --${other} cannot both be`);
  if (flag !== undefined) {
    const flagged = parsed.options[flag];
    // Of a switch, the one that has its name turns it on.
    return { value: flagged === true ? flag === key : flagged, source: "flag", name: `--${flag}` };
  }
  const variable = variableOf(key);
  const set = readVariable(env, variable);
  if (set !== undefined) return { value: set, source: "environment", name: variable };
  const own = Object.hasOwn(written, key) ? written[key] : undefined;
  return own == null ? undefined : { value: own, source: "file", name: `"${key}" in ${file ?? ""}` };
}

function readGiven(setting: Setting<unknown>, { value, source, name }: Given, file: string | undefined): unknown {
  const { kind, isSecret = false } = setting;
  const read = kind.read(value);
  if (read === undefined) throw new CliError(`${name}: ${describeGiven(value, isSecret)} is not ${kind.form}`);
  const isFromFile = source === "file" && kind.isPath === true && file !== undefined;
  return isFromFile && !(kind.allowsNone === true && read === NONE) ? resolve(dirname(file), read as string) : read;
}

function readFile(file: string): { readonly [key: string]: unknown } {
  const content = parseFile(file);
  if (!isJsonObject(content)) throw new CliError(`${file}: settings are one JSON object, as {"port": 10338}`);
  for (const key of Object.keys(content)) {
    if (Object.hasOwn(SETTINGS, key)) continue;
    const nearest = findNearest(key, SETTING_KEYS);
    const hint = nearest === undefined ? "`loom serve --help` lists all" : `did you mean "${nearest}"?`;
    throw new CliError(`${file}: there is no setting "${key.slice(0, 60)}"`, hint);
  }
  return content;
}

function parseFile(file: string): unknown {
  let content: string;
  try {
    if (statSync(file).size > MAX_FILE_BYTES) throw new CliError(`${file}: no settings are larger than 1 MB`);
    content = readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof CliError) throw error;
    const { code } = error as { readonly code?: string };
    throw new CliError(`the settings cannot be read from ${file} (${code ?? "?"})`);
  }
  try {
    return JSON.parse(content.replace(/^\ufeff/, "")) as unknown;
  } catch (error) {
    // What stands there may be a secret: only where it is wrong is told.
    const where = /line (?<line>\d+)/.exec(String(error))?.groups?.["line"] ?? findLine(content, error);
    throw new CliError(`${file}: it is not JSON${where === undefined ? "" : `, see line ${where}`}`);
  }
}

function findLine(content: string, error: unknown): string | undefined {
  const position = /position (?<at>\d+)/.exec(String(error))?.groups?.["at"];
  return position === undefined ? undefined : String(content.slice(0, Number(position)).split("\n").length);
}

/** What is read elsewhere: the file itself, and what the tests of a checkout are told. */
const OTHER_VARIABLES: ReadonlySet<string> = new Set([
  "LOOM_CONFIG",
  "LOOM_NODE_RERUN",
  "LOOM_LONG",
  "LOOM_LOG",
  "LOOM_FIXTURE",
  "LOOM_CHROMIUM",
  "LOOM_SHOT",
]);
const MAX_UNKNOWN = 10;

/** Told and no more: the environment is not ours alone, as the file is. */
function findUnknownVariables(env: Environment): readonly string[] {
  const known = SETTING_KEYS.map(variableOf);
  const unknown = Object.keys(env).filter(
    (name) => /^LOOM_/i.test(name) && readVariable(env, name) !== undefined && !known.includes(name),
  );
  return unknown
    .filter((name) => !OTHER_VARIABLES.has(name))
    .slice(0, MAX_UNKNOWN)
    .map((name) => {
      const nearest = findNearest(name.slice(5), SETTING_KEYS);
      const hint = nearest === undefined ? "`loom serve --help` lists all" : `did you mean ${variableOf(nearest)}?`;
      return `${name.slice(0, 60)} is no setting and is ignored: ${hint}`;
    });
}

/** Others on this machine must not read a key. */
function findOpenSecrets(file: string, written: { readonly [key: string]: unknown }): readonly string[] {
  const secrets = SETTING_KEYS.filter((key) => (SETTINGS[key] as Setting<unknown>).isSecret === true && key in written);
  if (secrets.length === 0 || process.platform === "win32" || (statSync(file).mode & 0o077) === 0) return [];
  return [`${file} holds ${secrets.join(", ")}, and others on this machine can read it: chmod 600 ${file}`];
}
