/**
 * All settings of `loom serve`, each declared once: flags, variables, the file, the usage text and the table of the docs
 * follow from it. A setting `max-body` is `--max-body`, `LOOM_MAX_BODY` and `"max-body"`; a switch has two flags,
 * `--debug` and `--no-debug`; a secret has none.
 */
import { isKeysAddress } from "../../server/auth/jwt/is-keys-address.ts";
import { USUAL_LIMITS } from "../../server/auth/principal.ts";
import { type Scope, SCOPES } from "../../server/auth/scopes.ts";
import { readProxies } from "../../server/guard/read-proxies.ts";
import { readBasePath } from "../../server/http/strip-base.ts";
import { SERVER_LIMITS, type ServerLimits } from "../../server/server-limits.ts";
import { findKnowledgeBase, findStore } from "../find-store.ts";
import { isToolRule } from "./collect-tool-rules.ts";
import { listUsualModels } from "./list-usual-models.ts";
import {
  bytes,
  chooseOf,
  duration,
  durationOrNone,
  listOf,
  path,
  pathOrNone,
  type Setting,
  text,
  textOf,
  timer,
  toggle,
  url,
  wholeNumber,
} from "./setting.ts";

const ADDRESS = "Address";
const ACCESS = "Who may come in";
const STORE = "Store";
const AGENTS = "Agents";
const LIMITS = "Limits and times";
const WATCHING = "Watching";

export const AGENT_NAMES = ["react", "tot", "got", "agot"] as const;

const isOrigin = (item: string): boolean => /^https?:/.test(item) && URL.parse(item)?.origin === item;
const isHost = (item: string): boolean => /^[^\s/@]+$/.test(item) && URL.parse(`http://${item}`) !== null;

function isTaken(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}

const isModel = (item: string): boolean => /^[^\s/]+(?:\/\S+)?$/.test(item);
const isBasePath = (text: string): boolean => isTaken(() => readBasePath(text));
const isScope = (item: string): item is Scope => SCOPES.some((scope) => scope === item);
const isProxy = (item: string): boolean => isTaken(() => readProxies([item]));

interface Closed<T> extends Setting<T> {
  readonly fallback: T;
}

interface Open<T> extends Setting<T> {
  readonly fallback: undefined;
}

function define<T>(group: string, kind: Setting<T>["kind"], fallback: T, about: string): Closed<T> {
  return { group, kind, fallback, about };
}

/** One that need not have a value. */
function defineOpen<T>(group: string, kind: Setting<T>["kind"], about: string): Open<T> {
  return { group, kind, fallback: undefined, about };
}

/** The settings that are a limit of the server, and which. */
export const LIMIT_SETTINGS = {
  heartbeat: "heartbeatMs",
  ping: "pingMs",
  grace: "graceMs",
  "command-timeout": "commandTimeoutMs",
  "max-body": "maxBodyBytes",
  "max-message": "maxInboundLength",
  "max-frame": "maxFrameBytes",
  "max-ingest": "maxIngestBytes",
  "max-blob": "maxBlobBytes",
  "max-session-blobs": "maxSessionBlobBytes",
  "max-image": "maxImageBytes",
  "max-document": "maxDocumentBytes",
  "max-outbound": "maxOutboundBytes",
  "max-lag": "maxLagBytes",
  "max-stall": "maxStallMs",
  "max-readers": "maxReaders",
  "max-sockets": "maxSockets",
  "max-subscriptions": "maxSubscriptions",
  "max-connections": "maxConnections",
} as const satisfies { readonly [setting: string]: keyof ServerLimits };

function limit(name: keyof typeof LIMIT_SETTINGS, kind: Setting<number>["kind"], about: string): Closed<number> {
  return define(LIMITS, kind, SERVER_LIMITS[LIMIT_SETTINGS[name]], about);
}

const amount = (what: string) => wholeNumber(what, 1);

export const SETTINGS = {
  host: define(ADDRESS, text, "127.0.0.1", "address or name to listen on"),
  port: define(ADDRESS, wholeNumber("a port", 0, 65_535), 10_338, "port to listen on; 0 for any that is free"),
  "allow-public": define(
    ADDRESS,
    toggle,
    false,
    "listen where others can reach it, though nobody is asked who they are",
  ),
  "base-path": defineOpen(
    ADDRESS,
    textOf("PATH", "a path like /agents", isBasePath),
    "what stands before every path, as /agents",
  ),
  hosts: define(
    ADDRESS,
    listOf("hosts", isHost),
    [],
    "more names by which the server may be asked, as agents.example.com",
  ),
  origins: define(
    ADDRESS,
    listOf("origins", isOrigin),
    [],
    "other sites whose pages may ask, as https://app.example.com",
  ),
  "trusted-proxies": define(
    ADDRESS,
    listOf("addresses, ranges like 10.0.0.0/8, or loopback", isProxy),
    [],
    "proxies whose X-Forwarded-* headers are believed: addresses, ranges, or loopback",
  ),

  auth: define(
    ACCESS,
    chooseOf("auto", "on", "off"),
    "auto",
    "ask everybody who they are; auto: where a token was ever made, keys are named, or others can reach it",
  ),
  jwks: defineOpen(
    ACCESS,
    textOf("URL", "an https address, or an http address of this machine", isKeysAddress),
    "where the keys are that JWT of somebody else are signed with",
  ),
  "jwt-issuer": defineOpen(ACCESS, text, "who issues them: their `iss`, to the letter"),
  "jwt-audience": defineOpen(ACCESS, text, "whom they are for: their `aud`"),
  "jwt-scopes": define(
    ACCESS,
    listOf(`scopes (${SCOPES.join(", ")})`, isScope),
    [],
    "what those may do that name none",
  ),
  "requests-per-minute": define(
    ACCESS,
    amount("an amount"),
    USUAL_LIMITS.requestsPerMinute,
    "requests of one credential in a minute",
  ),
  "runs-per-minute": define(
    ACCESS,
    amount("an amount"),
    USUAL_LIMITS.runsPerMinute,
    "runs that one credential may begin in a minute",
  ),
  "max-runs-per-token": define(
    ACCESS,
    amount("an amount"),
    USUAL_LIMITS.maxRuns,
    "runs of one credential at once, those that wait included",
  ),
  "max-streams-per-token": define(
    ACCESS,
    amount("an amount"),
    USUAL_LIMITS.maxStreams,
    "streams and WebSockets of one credential at once",
  ),
  "tokens-per-day": defineOpen(
    ACCESS,
    amount("an amount"),
    "tokens of models that the runs of one credential may use up in a day of UTC (default: no limit)",
  ),

  store: {
    ...defineOpen(STORE, path, "where sessions are kept; blobs lie beside it, in FILE-blobs, and tokens, in FILE-auth"),
    standIn: { words: "`~/.local/share/loom/loom.db`", find: findStore },
  },
  "retention-age": defineOpen(STORE, duration, "forget runs that ended longer ago than this (default: keep all)"),
  "retention-bytes": defineOpen(STORE, bytes, "forget the oldest runs beyond this size of all (default: keep all)"),
  "retention-every": define(STORE, timer, 600_000, "how often to look for what is to be forgotten"),

  agent: define(AGENTS, chooseOf(...AGENT_NAMES), "react", "the agent that answers messages which name none"),
  model: define(AGENTS, text, "offline", "provider and model of the agents, as openai/gpt-5"),
  models: {
    ...defineOpen(
      AGENTS,
      listOf("models", isModel),
      "further models that people may choose, as offline,openai/gpt-5; or none",
    ),
    standIn: { words: "`offline`, and of every provider whose key is there its usual model", find: listUsualModels },
  },
  "base-url": defineOpen(AGENTS, url, "where the provider is, for servers that speak like OpenAI"),
  "api-key": {
    ...defineOpen(AGENTS, text, "key of the provider; its own variable, as OPENAI_API_KEY, does as well"),
    isSecret: true,
  },
  "offline-delay": define(
    AGENTS,
    durationOrNone,
    20,
    "before each word of the offline model, so that people can watch it; quicker in a search",
  ),
  system: defineOpen(AGENTS, text, "what the model is told before everything else"),
  compression: define(AGENTS, toggle, true, "make prompts fit the model when a conversation grows too long"),
  workspace: defineOpen(AGENTS, path, "folder whose files may be read, and with consent written"),
  mcp: defineOpen(AGENTS, path, "MCP servers to use, as `mcpServers` in a JSON file"),
  "tool-rules": define(
    AGENTS,
    listOf("rules like write_file=ask or react:http_fetch=deny", isToolRule),
    [],
    "what agents may do with tools, as write_file=ask,http_fetch=deny; * is for the others, react: before it for one agent",
  ),
  "allow-fetch": define(AGENTS, toggle, false, "let agents fetch public web pages"),
  kb: {
    ...defineOpen(AGENTS, pathOrNone, "knowledge base to search, or none"),
    standIn: { words: "`knowledge.db` beside the default store", find: findKnowledgeBase },
  },
  images: define(AGENTS, toggle, true, "fetch https images for the page, which may not load them itself"),

  heartbeat: limit("heartbeat", durationOrNone, "a sign of life in streams that are silent"),
  ping: limit("ping", durationOrNone, "between two pings of a WebSocket"),
  grace: limit("grace", durationOrNone, "how long runs may go on when the server stops"),
  "command-timeout": limit(
    "command-timeout",
    durationOrNone,
    "how long a command is waited for before the answer is that it waits",
  ),
  "max-sessions": define(LIMITS, amount("an amount"), 4000, "sessions that are worked on at once; more wait"),
  "max-body": limit("max-body", bytes, "size of a request in JSON"),
  "max-message": limit("max-message", bytes, "characters of one message of a WebSocket"),
  "max-frame": limit("max-frame", bytes, "size of one frame that is sent"),
  "max-ingest": limit("max-ingest", bytes, "size of a run that is streamed in"),
  "max-blob": limit("max-blob", bytes, "size of one image or file"),
  "max-session-blobs": limit("max-session-blobs", bytes, "size of all images and files of a session"),
  "max-image": limit("max-image", bytes, "size of an image that is fetched for the page"),
  "max-document": limit("max-document", bytes, "size of a document for the knowledge base"),
  "max-outbound": limit("max-outbound", bytes, "what may be on its way to one reader"),
  "max-lag": limit("max-lag", bytes, "how far a reader may fall behind before it is told to come back"),
  "max-stall": limit("max-stall", timer, "how long a reader may take nothing at all"),
  "max-readers": limit("max-readers", amount("an amount"), "streams that are read at once"),
  "max-sockets": limit("max-sockets", amount("an amount"), "WebSockets at once"),
  "max-subscriptions": limit("max-subscriptions", amount("an amount"), "streams on one WebSocket"),
  "max-connections": limit("max-connections", amount("an amount"), "connections at once"),

  metrics: define(WATCHING, toggle, true, "show /metrics, where prom-client is installed"),
  "log-level": define(
    WATCHING,
    chooseOf("silent", "error", "warn", "info", "debug"),
    "info",
    "what is logged to standard error: runs at info, each step at debug",
  ),
  "log-format": define(WATCHING, chooseOf("plain", "json"), "plain", "lines to read, or JSON, which needs pino"),
  debug: define(WATCHING, toggle, false, "log stack traces, and show them in the dialect engine"),
} as const;

export type SettingKey = keyof typeof SETTINGS;

type ValueOf<S> = S extends Closed<infer T> ? T : S extends Open<infer T> ? T | undefined : never;

/** The values of all settings, checked. */
export type Settings = { readonly [K in SettingKey]: ValueOf<(typeof SETTINGS)[K]> };

export const SETTING_KEYS = Object.keys(SETTINGS) as readonly SettingKey[];

export function variableOf(key: string): string {
  return `LOOM_${key.toUpperCase().replaceAll("-", "_")}`;
}

/** Undefined for a secret. Of a switch the one that changes what is so by itself. */
export function flagOf(key: SettingKey): string | undefined {
  const { isSecret = false, fallback } = SETTINGS[key] as Setting<unknown>;
  if (isSecret) return undefined;
  return fallback === true ? `no-${key}` : key;
}

/** The other flag of a switch: it says what is so by itself, where the environment or the file say otherwise. */
export function otherFlagOf(key: SettingKey): string | undefined {
  const { fallback } = SETTINGS[key] as Setting<unknown>;
  if (typeof fallback !== "boolean") return undefined;
  return fallback ? key : `no-${key}`;
}
