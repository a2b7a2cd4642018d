/**
 * Reads MCP server configuration: an object `mcpServers` with one entry per server. Error messages name the file and
 * the key, but never a value, which may be secret.
 */
import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { type JsonObject, LoomError } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { findJsonFault, type JsonFault } from "../find-json-fault.ts";

/** A server that is started as a child process and uses standard input and output. */
export interface StdioServerConfig {
  /** Program to start. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Variables in addition to the few that are inherited. */
  readonly env?: { readonly [name: string]: string };
  /** Working directory. Default: that of this process. */
  readonly cwd?: string;
}

/** A server that uses streamable HTTP. */
export interface HttpServerConfig {
  readonly type?: "http" | "streamable-http";
  /**
   * URL of the server. A user name and password in it are moved to the `authorization` header, because error messages
   * can show the URL.
   */
  readonly url: string;
  /** Headers sent with every request. */
  readonly headers?: { readonly [name: string]: string };
}

/** A local server, or a server at a URL. */
export type McpServerConfig = StdioServerConfig | HttpServerConfig;

/** MCP servers by name. */
export interface McpConfig {
  readonly mcpServers: { readonly [name: string]: McpServerConfig };
}

/** Maximum length of a configuration file, in characters. */
const MAX_LENGTH = 1024 * 1024;
const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

type ConfigVariables = { readonly [name: string]: string | undefined };

/**
 * Reads an MCP configuration file. In strings, `${NAME}` is replaced by that environment variable, and `${NAME:-text}`
 * by the text if the variable is not set.
 *
 * Throws `mcp_failed` with the file and the key if the configuration is invalid.
 */
export async function readMcpConfig(path: string, env: ConfigVariables = process.env): Promise<McpConfig> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    const code = (cause as { readonly code?: unknown }).code;
    throw refuse(path, "", `cannot be read${typeof code === "string" ? ` (${code})` : ""}`);
  });
  if (text.length > MAX_LENGTH) throw refuse(path, "", `has more than ${MAX_LENGTH} characters`);
  return parseMcpConfig(parseJson(text.replace(/^\uFEFF/, ""), path), path, (value, key) =>
    expand(value, key, path, env),
  );
}

/**
 * Validates a configuration that is already in memory. `source` is its name in error messages, `expandText` is applied
 * to each string.
 *
 * Throws `mcp_failed` with the key if the configuration is invalid.
 */
export function parseMcpConfig(
  value: unknown,
  source = "The MCP configuration",
  expandText: (value: string, key: string) => string = (text) => text,
): McpConfig {
  const servers = isJsonObject(value) ? value["mcpServers"] : undefined;
  if (!isJsonObject(servers)) throw refuse(source, "mcpServers", "must be an object with one entry per server");
  const read = Object.entries(servers).flatMap(([name, entry]): [string, McpServerConfig][] => {
    const key = `mcpServers.${name}`;
    if (!isJsonObject(entry)) throw refuse(source, key, "must be an object");
    if (entry["disabled"] === true) return [];
    return [[name, readServer(entry, new ServerEntryReader(source, key, entry, expandText))]];
  });
  return { mcpServers: Object.fromEntries(read) };
}

function readServer(entry: JsonObject, reader: ServerEntryReader): McpServerConfig {
  const type = reader.text("type");
  if (entry["url"] !== undefined && entry["command"] !== undefined)
    throw reader.refuse("", "has both `command` and `url`; use only one");
  if (entry["url"] !== undefined) {
    if (type !== undefined && type !== "http" && type !== "streamable-http")
      throw reader.refuse("type", `must be "http" or "streamable-http"; other transports are not supported`);
    const url = reader.text("url") ?? "";
    const target = URL.parse(url);
    if (target?.protocol !== "http:" && target?.protocol !== "https:")
      throw reader.refuse("url", "must be an http or https URL");
    const headers = reader.texts("headers");
    if (target.username !== "" || target.password !== "")
      return { type: type ?? "http", ...moveCredentials(target, headers, reader) };
    return dropUndefined({ type: type ?? "http", url, headers });
  }
  if (type !== undefined && type !== "stdio") throw reader.refuse("url", "is missing");
  const command = reader.text("command");
  if (command === undefined || command === "") throw reader.refuse("command", "is missing; set `command` or `url`");
  const args = reader.list("args");
  const env = reader.texts("env");
  const cwd = reader.text("cwd");
  return dropUndefined({ command, args, env, cwd });
}

function moveCredentials(
  url: URL,
  headers: HttpServerConfig["headers"] = {},
  reader: ServerEntryReader,
): HttpServerConfig {
  let user: string;
  try {
    user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  } catch {
    throw reader.refuse("url", "has a malformed user name or password");
  }
  if (Object.keys(headers).some((name) => name.toLowerCase() === "authorization"))
    throw reader.refuse("url", "has a user name or password, but `headers` also has an authorization header");
  [url.username, url.password] = ["", ""];
  return { url: url.href, headers: { ...headers, authorization: `Basic ${Buffer.from(user).toString("base64")}` } };
}

/** Reads the fields of one server entry. */
class ServerEntryReader {
  readonly #source: string;
  readonly #key: string;
  readonly #entry: JsonObject;
  readonly #expand: (value: string, key: string) => string;

  constructor(source: string, key: string, entry: JsonObject, expandText: (value: string, key: string) => string) {
    this.#source = source;
    this.#key = key;
    this.#entry = entry;
    this.#expand = expandText;
  }

  text(field: string): string | undefined {
    const value = this.#entry[field];
    return value === undefined || value === null ? undefined : this.#read(value, field);
  }

  list(field: string): string[] | undefined {
    const value = this.#entry[field];
    if (value === undefined || value === null) return undefined;
    if (!Array.isArray(value)) throw this.refuse(field, "must be an array of strings");
    return value.map((item, index) => this.#read(item, `${field}[${index}]`));
  }

  texts(field: string): { readonly [name: string]: string } | undefined {
    const value = this.#entry[field];
    if (value === undefined || value === null) return undefined;
    if (!isJsonObject(value)) throw this.refuse(field, "must be an object with string values");
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, this.#read(item, `${field}.${name}`)]),
    );
  }

  refuse(field: string, why: string): LoomError {
    return refuse(this.#source, field === "" ? this.#key : `${this.#key}.${field}`, why);
  }

  #read(value: unknown, field: string): string {
    if (typeof value !== "string") throw this.refuse(field, "must be a string");
    if (value.includes("\0")) throw this.refuse(field, "contains a NUL character");
    return this.#expand(value, `${this.#key}.${field}`);
  }
}

function expand(text: string, key: string, path: string, env: ConfigVariables): string {
  return text.replaceAll(VARIABLE, (_, name: string, otherwise?: string) => {
    const value = env[name] === "" ? otherwise : (env[name] ?? otherwise);
    if (value === undefined) throw refuse(path, key, `uses the environment variable ${name}, which is not set`);
    return value;
  });
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The message of the parser quotes the file, which may contain secrets.
    const { position, expected } = findJsonFault(text) as JsonFault;
    const before = text.slice(0, position).split("\n");
    const place = `line ${before.length} column ${(before.at(-1) ?? "").length + 1}`;
    throw refuse(path, "", `is not valid JSON (${place}: expected ${expected})`);
  }
}

function refuse(path: string, key: string, why: string): LoomError {
  const details = key === "" ? { path } : { path, key };
  return new LoomError("mcp_failed", `${path}${key === "" ? "" : `: \`${key}\``} ${why}`, details);
}

/** Shorter values are unlikely to be secrets, and removing them would garble texts. */
const MIN_SECRET_LENGTH = 6;

/** Returns the secrets of a server, longest first, because one can be part of another: for removing them from errors. */
export function listSecrets(config: McpServerConfig): readonly string[] {
  const given = Object.values(("command" in config ? config.env : config.headers) ?? {});
  const words = given.flatMap((value) => [value, ...value.split(/\s+/)]);
  // Basic credentials are sent encoded; user name and password are secrets too.
  const users = given.flatMap((value) =>
    /^basic /i.test(value) ? [Buffer.from(value.slice(6), "base64").toString()] : [],
  );
  words.push(...users.flatMap((user) => [user, ...user.split(":")]));
  const url = "url" in config ? URL.parse(config.url) : null;
  const query = url?.search.slice(1).split("&") ?? [];
  words.push(...query.map((pair) => pair.slice(pair.indexOf("=") + 1)), ...(url?.searchParams.values() ?? []));
  return [...new Set(words)]
    .filter((value) => value.length >= MIN_SECRET_LENGTH)
    .toSorted((one, other) => other.length - one.length);
}
