/**
 * MCP servers as configuration files name them: an object `mcpServers` with one entry per server. What is wrong is said
 * with the file and the key, never with the value: values may be secret.
 */
import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import { isJsonObject, type JsonObject, LoomError } from "../../protocol/index.ts";

/** A program that is started, and spoken to over its standard input and output. */
export interface StdioServerConfig {
  readonly command: string;
  readonly args?: readonly string[];
  /** Added to the little that a server's environment has. */
  readonly env?: { readonly [name: string]: string };
  readonly cwd?: string;
}

/** A server that is reached by streamable HTTP. */
export interface HttpServerConfig {
  readonly type?: "http" | "streamable-http";
  /** A user name and password in it become the header `authorization`: a URL is shown where it fails. */
  readonly url: string;
  readonly headers?: { readonly [name: string]: string };
}

export type McpServerConfig = StdioServerConfig | HttpServerConfig;

export interface McpConfig {
  readonly mcpServers: { readonly [name: string]: McpServerConfig };
}

/** Of a configuration file, in characters. */
const MAX_LENGTH = 1024 * 1024;
const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

type Environment = { readonly [name: string]: string | undefined };

/**
 * Reads a file of the usual shape. `${NAME}` in a text stands for that variable of the environment, `${NAME:-text}` for
 * the text where there is none. Throws `mcp_failed`, which names the file and the key.
 */
export async function readMcpConfig(path: string, env: Environment = process.env): Promise<McpConfig> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    const code = (cause as { readonly code?: unknown }).code;
    throw refuse(path, "", `cannot be read${typeof code === "string" ? ` (${code})` : ""}`);
  });
  if (text.length > MAX_LENGTH) throw refuse(path, "", `has more than ${MAX_LENGTH} characters`);
  return parseMcpConfig(parseJson(text.replace(/^\uFEFF/, ""), path), path, (value, key) =>
    expand(value, key, path, env),
  );
}

/** A configuration that is in memory already; `place` is how messages call it. */
export function parseMcpConfig(
  value: unknown,
  place = "The MCP configuration",
  expandText: (value: string, key: string) => string = (text) => text,
): McpConfig {
  const servers = isJsonObject(value) ? value["mcpServers"] : undefined;
  if (!isJsonObject(servers)) throw refuse(place, "mcpServers", "must be an object with one entry per server");
  const read = Object.entries(servers).flatMap(([name, entry]): [string, McpServerConfig][] => {
    const key = `mcpServers.${name}`;
    if (!isJsonObject(entry)) throw refuse(place, key, "must be an object");
    if (entry["disabled"] === true) return [];
    return [[name, readServer(entry, new Reader(place, key, entry, expandText))]];
  });
  return { mcpServers: Object.fromEntries(read) };
}

function readServer(entry: JsonObject, reader: Reader): McpServerConfig {
  const type = reader.text("type");
  if (entry["url"] !== undefined && entry["command"] !== undefined)
    throw reader.refuse("", "has both `command` and `url`: it is one or the other");
  if (entry["url"] !== undefined) {
    if (type !== undefined && type !== "http" && type !== "streamable-http")
      throw reader.refuse("type", `must be "http" or "streamable-http": no other transport over a URL is known here`);
    const url = reader.text("url") ?? "";
    const target = URL.parse(url);
    if (target?.protocol !== "http:" && target?.protocol !== "https:")
      throw reader.refuse("url", "must be a URL with http or https");
    const headers = reader.texts("headers");
    if (target.username !== "" || target.password !== "")
      return { type: type ?? "http", ...moveUser(target, headers, reader) };
    return { type: type ?? "http", url, ...(headers === undefined ? {} : { headers }) };
  }
  if (type !== undefined && type !== "stdio") throw reader.refuse("url", "is missing");
  const command = reader.text("command");
  if (command === undefined || command === "") throw reader.refuse("command", "is missing: give `command` or `url`");
  const args = reader.list("args");
  const env = reader.texts("env");
  const cwd = reader.text("cwd");
  return {
    command,
    ...(args === undefined ? {} : { args }),
    ...(env === undefined ? {} : { env }),
    ...(cwd === undefined ? {} : { cwd }),
  };
}

function moveUser(url: URL, headers: HttpServerConfig["headers"] = {}, reader: Reader): HttpServerConfig {
  let user: string;
  try {
    user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  } catch {
    throw reader.refuse("url", "has a user name or password in it that is not well encoded");
  }
  if (Object.keys(headers).some((name) => name.toLowerCase() === "authorization"))
    throw reader.refuse("url", "has a user name or password in it, and `headers` has an authorization");
  [url.username, url.password] = ["", ""];
  return { url: url.href, headers: { ...headers, authorization: `Basic ${Buffer.from(user).toString("base64")}` } };
}

/** Reads the fields of one entry. */
class Reader {
  readonly #place: string;
  readonly #key: string;
  readonly #entry: JsonObject;
  readonly #expand: (value: string, key: string) => string;

  constructor(place: string, key: string, entry: JsonObject, expandText: (value: string, key: string) => string) {
    this.#place = place;
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
    if (!Array.isArray(value)) throw this.refuse(field, "must be a list of texts");
    return value.map((item, index) => this.#read(item, `${field}[${index}]`));
  }

  texts(field: string): { readonly [name: string]: string } | undefined {
    const value = this.#entry[field];
    if (value === undefined || value === null) return undefined;
    if (!isJsonObject(value)) throw this.refuse(field, "must be an object of texts");
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, this.#read(item, `${field}.${name}`)]),
    );
  }

  refuse(field: string, why: string): LoomError {
    return refuse(this.#place, field === "" ? this.#key : `${this.#key}.${field}`, why);
  }

  #read(value: unknown, field: string): string {
    if (typeof value !== "string") throw this.refuse(field, "must be a text");
    if (value.includes("\0")) throw this.refuse(field, "has a NUL in it");
    return this.#expand(value, `${this.#key}.${field}`);
  }
}

function expand(text: string, key: string, path: string, env: Environment): string {
  return text.replaceAll(VARIABLE, (_, name: string, otherwise?: string) => {
    const value = env[name] === "" ? otherwise : (env[name] ?? otherwise);
    if (value === undefined) throw refuse(path, key, `names the variable ${name}, which is not set`);
    return value;
  });
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The parser's message quotes the file, which may hold keys.
    const place = /line \d+ column \d+/.exec(error instanceof Error ? error.message : "")?.[0];
    throw refuse(path, "", `is not JSON${place === undefined ? "" : `, from ${place} on`}`);
  }
}

function refuse(path: string, key: string, why: string): LoomError {
  const details = key === "" ? { path } : { path, key };
  return new LoomError("mcp_failed", `${path}${key === "" ? "" : `: \`${key}\``} ${why}.`, details);
}
