/** The settings of commands that use a server instead of a local store. */
import { readFileSync, statSync } from "node:fs";
import { CliError, type CliOption, type ParsedCommand, quoteGiven, quoteWord, textOption } from "../command.ts";
import { type Environment, findStore, readVariable } from "../find-store.ts";
import { cleanText } from "../fit-text.ts";
import type { ServerAddress } from "./server-api.ts";
import { defineOptional, path, readValue, type Setting, text, url, variableOf } from "../serve/setting.ts";

export const CLIENT_SETTINGS = {
  server: defineOptional(url, "address of a Loom server, used instead of a local store"),
  "token-file": defineOptional(path, "file with the token for the server"),
  token: { ...defineOptional(text, "token for the server, if there is no token file"), isSecret: true },
} as const;

type ClientSettingKey = keyof typeof CLIENT_SETTINGS;

export const CLIENT_VARIABLES: readonly string[] = Object.keys(CLIENT_SETTINGS).map(variableOf);

export const STORE_OPTION: CliOption = {
  value: "STORE",
  about: "session store, a file or a postgres:// URL (default: $LOOM_STORE, or ~/.local/share/loom/loom.db)",
};

/** Options of every command that works on a store or on a server. */
export const SERVICE_OPTIONS: { readonly [name: string]: CliOption } = {
  server: describeOption("server", "none"),
  "token-file": describeOption("token-file", "$LOOM_TOKEN, or none"),
  store: STORE_OPTION,
};

function describeOption(key: ClientSettingKey, otherwise: string): CliOption {
  const { kind, about } = CLIENT_SETTINGS[key];
  return { value: kind.placeholder ?? "", about: `${about} (default: $${variableOf(key)}, or ${otherwise})` };
}

export const SERVICE_NOTE =
  "With --server or LOOM_SERVER, the command uses a server, with the token of --token-file, LOOM_TOKEN_FILE or LOOM_TOKEN.";

export const STREAM_NOTE = `${SERVICE_NOTE} A stream that is cut continues where it was cut.`;

/** Returns another command with the store or the server of this one, to be shown to the user. */
export function describeNextCommand(parsed: ParsedCommand, command: string): string {
  return cleanText([`loom ${command}`, ...quoteGiven(parsed, Object.keys(SERVICE_OPTIONS))].join(" "));
}

/** Where the sessions are. */
export type ServiceAddress =
  | { readonly kind: "store"; readonly store: string }
  | (ServerAddress & { readonly kind: "server"; readonly warnings: readonly string[] });

/** Reads the options and the environment. `--store` selects a store even if LOOM_SERVER is set. Throws a CliError. */
export function readServiceAddress(parsed: ParsedCommand, env: Environment = process.env): ServiceAddress {
  const store = textOption(parsed, "store");
  const flag = textOption(parsed, "server");
  if (store !== undefined && flag !== undefined) throw new CliError("`--store` and `--server` cannot be used together");
  const server = store === undefined ? readSetting("server", parsed, env) : undefined;
  if (server === undefined) {
    if (textOption(parsed, "token-file") !== undefined) throw new CliError("`--token-file` needs `--server URL`");
    return { kind: "store", store: store ?? findStore(env) };
  }
  const address = new URL(server);
  if (address.username !== "" || address.password !== "")
    throw new CliError("the address of the server has a user name or a password", "use `--token-file FILE` instead");
  const file = readSetting("token-file", parsed, env);
  const token = file === undefined ? readSetting("token", parsed, env) : readTokenFile(file);
  const warnings = [...findOpenPermissions(file), ...findOpenConnection(address, token !== undefined)];
  // The file is read for every request, so that a renewed token is used.
  const readToken = file === undefined ? () => token ?? "" : () => readTokenFile(file);
  return { kind: "server", url: server, token: token === undefined ? undefined : readToken, warnings };
}

function readSetting(key: ClientSettingKey, parsed: ParsedCommand, env: Environment): string | undefined {
  const setting: Setting<string> = CLIENT_SETTINGS[key];
  const flag = setting.isSecret === true ? undefined : textOption(parsed, key);
  const given = flag ?? readVariable(env, variableOf(key));
  return given === undefined ? undefined : readValue(setting, flag === undefined ? variableOf(key) : `--${key}`, given);
}

function readTokenFile(file: string): string {
  let content: string;
  try {
    content = readFileSync(file, "utf8").trim();
  } catch (error) {
    const { code = "?" } = error as NodeJS.ErrnoException;
    throw new CliError(
      `cannot read the token in \`${file}\` (${code})`,
      "create the file on the machine of the server with `loom token create NAME --output FILE`",
    );
  }
  if (content !== "") return content;
  throw new CliError(`the token file \`${file}\` is empty`, "save the output of `loom token create NAME` in it");
}

function findOpenPermissions(file: string | undefined): readonly string[] {
  if (file === undefined || process.platform === "win32" || (statSync(file).mode & 0o077) === 0) return [];
  return [`${cleanText(file)} is readable by other users; run chmod 600 ${quoteWord(file)}`];
}

function findOpenConnection({ protocol, hostname }: URL, hasToken: boolean): readonly string[] {
  const isLocal = hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
  if (!hasToken || protocol === "https:" || isLocal) return [];
  return [`the token is sent to ${hostname} without encryption; use an https:// address`];
}
