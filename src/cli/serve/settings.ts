/**
 * Declares every setting of `loom serve`; `limits.ts` has those of the setting `limits`. Flags, environment variables,
 * file keys, the help text and the table in docs/configuration.md are derived from it.
 *
 * The setting `base-path` is `--base-path`, `LOOM_BASE_PATH` and `"base-path"`. A boolean setting has two flags, `--debug`
 * and `--no-debug`. A secret has no flag.
 */
import { listKeyedModels, parseModelName } from "../../models/resolve-model.ts";
import { REASONING_LEVELS } from "../../protocol/reasoning-level.ts";
import { isJwksUrl } from "../../server/auth/jwt/verify-jwt.ts";
import { DEFAULT_SCOPE_PREFIX, DEFAULT_SCOPES, type Scope, SCOPES } from "../../server/auth/scopes.ts";
import { readProxies } from "../../server/guard/read-proxies.ts";
import { SERVER_LIMITS } from "../../server/guard/server-limits.ts";
import { readBasePath } from "../../server/http/strip-base.ts";
import { SESSION_DEFAULTS } from "../../engine/session-options.ts";
import { DATABASE_SETTINGS } from "../database-settings.ts";
import { type Environment, findKnowledgeBase, findStore, hideCredentials } from "../find-store.ts";
import { AUDIT_WORDS } from "../audit-command.ts";
import { isAgentName } from "../load-agents.ts";
import { limitItems, type LimitValues } from "./limits.ts";
import { capItems, DEFAULT_CAPS, valueItems } from "../strategy-items.ts";
import { isToolRule } from "./collect-tool-rules.ts";
import {
  bytes,
  chooseOf,
  define,
  defineOptional,
  duration,
  durationOrNone,
  listOf,
  path,
  pathOr,
  pathOrNone,
  type Setting,
  text,
  textOf,
  timer,
  timerFrom,
  toggle,
  url,
  type ValueOf,
  wholeNumber,
} from "./setting.ts";

const isOrigin = (item: string): boolean => /^https?:/.test(item) && URL.parse(item)?.origin === item;
const isHost = (item: string): boolean => /^[^\s/@]+$/.test(item) && URL.parse(`http://${item}`) !== null;

function isAccepted(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}

const isModel = (item: string): boolean => /^[^\s/]+(?:\/\S+)?$/.test(item);
const isBasePath = (text: string): boolean => isAccepted(() => readBasePath(text));
const isScope = (item: string): item is Scope => SCOPES.some((scope) => scope === item);
const isProxy = (item: string): boolean => isAccepted(() => readProxies([item]));

/**
 * The models available without configuration: the offline model, and for each provider key in the environment its default
 * model and all models that the provider reports.
 */
export function listDefaultModels(env: Environment): readonly string[] {
  return ["offline", ...listKeyedModels(env).flatMap((model) => [model, `${parseModelName(model).provider}/*`])];
}

const ADDRESS = {
  host: define(text, "127.0.0.1", "address or host name to listen on"),
  port: define(wholeNumber("a port number", 0, 65_535), 10_338, "port to listen on; 0 picks a free port"),
  "allow-public": define(toggle, false, "listen on a public address without authentication"),
  "allow-links": define(toggle, false, "without authentication: let other machines open share links, and nothing else"),
  "base-path": defineOptional(
    textOf("PATH", "a path such as /agents", isBasePath),
    "URL prefix for every route, such as /agents",
    "`/`",
  ),
  hosts: define(listOf("hosts", isHost), [], "additional host names that clients may use, such as agents.example.com"),
  origins: define(
    listOf("origins", isOrigin),
    [],
    "web origins that may call the API, such as https://app.example.com",
  ),
  "dev-origins": define(toggle, false, "allow pages of this machine on any port, such as a development server"),
  "trusted-proxies": define(
    listOf("IP addresses, CIDR ranges or the word loopback", isProxy),
    [],
    "proxies whose X-Forwarded-* headers are trusted: IP addresses, CIDR ranges such as 10.0.0.0/8, or loopback",
  ),
} as const;

const AUTHENTICATION = {
  auth: define(
    chooseOf("auto", "on", "off"),
    "auto",
    "authentication; auto turns it on once a token was created or `jwks` is set",
  ),
  jwks: defineOptional(
    textOf("URL", "an https URL, or an http URL on this machine", isJwksUrl),
    "JWKS URL of the token issuer",
  ),
  "jwt-issuer": defineOptional(text, "expected `iss` claim of a JWT, matched exactly"),
  "jwt-audience": defineOptional(text, "expected `aud` claim of a JWT"),
  "jwt-scopes": defineOptional(
    listOf(`scopes (${SCOPES.join(", ")})`, isScope),
    "the most scopes a JWT can have; others that it names are ignored",
    DEFAULT_SCOPES.join(","),
  ),
  "jwt-default-scopes": defineOptional(
    listOf(`scopes (${SCOPES.join(", ")})`, isScope),
    "scopes of a JWT that names no Loom scope, within `jwt-scopes`",
    "none",
  ),
  "jwt-scope-prefix": defineOptional(
    textOf("PREFIX", "a prefix without spaces, or none", (prefix) => /^\S+$/.test(prefix)),
    "prefix of Loom scopes in the claims of a JWT; with none, a plain `read` is a Loom scope",
    DEFAULT_SCOPE_PREFIX,
  ),
} as const;

const STORE = {
  store: {
    ...defineOptional(
      { ...path, show: hideCredentials },
      "session store, a file or a postgres:// URL; blobs and tokens are kept in PATH-blobs and PATH-auth, or in the database",
    ),
    defaultLabel: "`~/.local/share/loom/loom.db`",
    findDefault: findStore,
  },
  ...DATABASE_SETTINGS,
  lease: define(
    timerFrom(1000),
    SESSION_DEFAULTS.ttlMs,
    "time after which others take over the sessions of a process whose machine lost power or network; those of a killed process are free earlier",
  ),
  "retention-age": defineOptional(duration, "age at which finished runs are deleted", "keep all"),
  "retention-bytes": defineOptional(bytes, "total size of all runs above which the oldest are deleted", "keep all"),
  "retention-every": define(timer, 600_000, "interval between two deletions of old runs"),
} as const;

const AGENTS = {
  agents: defineOptional(path, "JavaScript or TypeScript module whose default export has your own agents by name"),
  agent: defineOptional(
    textOf("NAME", "the name of an agent", isAgentName),
    "agent for messages that name none: react, tot, got, agot or one of `agents`",
    "the first of `agents`, or `react`",
  ),
  model: define(text, "offline", "provider and model, such as openai/gpt-5"),
  models: {
    ...defineOptional(
      listOf("models", isModel),
      "additional models that users can choose, such as offline,openai/gpt-5, all of a provider, such as openai/*, or none",
    ),
    defaultLabel: "`offline`, and the models that each provider with a key reports",
    findDefault: listDefaultModels,
  },
  "base-url": defineOptional(url, "base URL of an OpenAI-compatible provider"),
  "api-key": {
    ...defineOptional(text, "API key of the provider; the provider's own variable, such as OPENAI_API_KEY, also works"),
    isSecret: true,
  },
  "offline-delay": define(durationOrNone, 20, "delay before each word of the offline model; shorter during a search"),
  reasoning: define(
    chooseOf(...REASONING_LEVELS),
    "auto",
    "how much models reason before they answer, unless a message says otherwise",
  ),
  system: defineOptional(text, "system prompt"),
  titles: define(toggle, true, "let the model write the title of a session after its first answer"),
  compression: define(toggle, true, "compress prompts that do not fit the context window of the model"),
  "record-prompts": define(
    toggle,
    true,
    "store the exact prompt and response of every model call, for the owner of the session only",
  ),
  workspace: defineOptional(path, "folder whose files agents may read, and write after approval"),
  mcp: defineOptional(path, "JSON file with the MCP servers to use, under `mcpServers`"),
  "tool-rules": define(
    listOf("rules such as write_file=ask or react:http_fetch=deny", isToolRule),
    [],
    "tool permissions of the built-in agents, such as write_file=ask,http_fetch=deny; * matches all other tools, a prefix such as react: limits a rule to one agent",
  ),
  "expose-tool-errors": define(
    toggle,
    false,
    "show the messages of unexpected exceptions in tools to clients and to the model; otherwise they get an ID, and the log has the message",
  ),
  "allow-fetch": define(
    toggle,
    false,
    "allow agents to fetch public web pages, and messages to name files by their URL",
  ),
  kb: {
    ...defineOptional(pathOrNone, "knowledge base to search, a file or a postgres:// URL, or none"),
    defaultLabel: "the store if that is a database, otherwise `knowledge.db` next to the default store",
    findDefault: findKnowledgeBase,
  },
  set: define(
    valueItems,
    [],
    "strategy settings of the built-in agents, such as tot.beam=5,agot.layers=3; a message can choose others",
  ),
  strict: define(
    toggle,
    false,
    "send loom and export with only the types and fields of specification 001, unless a request has strict=0",
  ),
  caps: {
    ...define(
      capItems,
      [],
      "highest values of the strategy settings that a message can choose, such as tot.beam=8, because they multiply the cost",
    ),
    defaultLabel: DEFAULT_CAPS,
  },
  timestamps: define(
    chooseOf("milliseconds", "seconds"),
    "milliseconds",
    "unit of the times in the engine dialect (specification 003)",
  ),
  images: define(toggle, true, "fetch https images on behalf of the page, which cannot load them itself"),
} as const;

const RUNNING = {
  drain: define(
    durationOrNone,
    3000,
    "time in which /readyz answers 503 and all requests still work, before the server stops; Ctrl-C in a terminal skips it",
  ),
  grace: define(durationOrNone, SERVER_LIMITS.graceMs, "time for live runs to finish when the server stops"),
  "on-interruption": define(
    chooseOf("resume", "fail"),
    "resume",
    "what to do with a run whose process died: run the interrupted nodes again, or end it; a message can choose",
  ),
  limits: define(limitItems, {}, "limits of requests, streams, credentials and owners, such as max-body=1MB"),
} as const;

const OBSERVABILITY = {
  metrics: define(toggle, true, "expose /metrics; requires prom-client"),
  "log-level": define(
    chooseOf("silent", "error", "warn", "info", "debug"),
    "info",
    "log level on standard error; runs are logged at info, their steps at debug",
  ),
  "log-format": define(chooseOf("plain", "json"), "plain", "log format; json requires pino"),
  "audit-log": defineOptional(pathOr(...AUDIT_WORDS), "file of the audit log, stdout, or none", "none"),
  "audit-required": define(toggle, false, "refuse actions that the audit log cannot record"),
  debug: define(toggle, false, "log stack traces and include them in the engine dialect"),
} as const;

/** The settings by group, in the order of the docs. */
export const SETTING_GROUPS = {
  Address: ADDRESS,
  Authentication: AUTHENTICATION,
  Store: STORE,
  Agents: AGENTS,
  "Runs, streams and limits": RUNNING,
  Observability: OBSERVABILITY,
} as const;

export const SETTINGS = {
  ...ADDRESS,
  ...AUTHENTICATION,
  ...STORE,
  ...AGENTS,
  ...RUNNING,
  ...OBSERVABILITY,
} as const;

export type SettingKey = keyof typeof SETTINGS;

/** Validated values of all settings and limits. */
export type Settings = { readonly [K in SettingKey]: ValueOf<(typeof SETTINGS)[K]> } & LimitValues;

export const SETTING_KEYS = Object.keys(SETTINGS) as readonly SettingKey[];

/**
 * Returns the flag listed in the help, or undefined for a secret. For a boolean setting this is the flag that changes
 * the default.
 */
export function flagOf(key: SettingKey): string | undefined {
  const { isSecret = false, defaultValue } = SETTINGS[key] as Setting<unknown>;
  if (isSecret) return undefined;
  return defaultValue === true ? `no-${key}` : key;
}
