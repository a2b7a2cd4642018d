/**
 * Runs the server of `loom serve`: opens the store, creates the agents, serves until a signal arrives, and shuts down.
 * It does not handle requests.
 */
import { LOG_LIMITS } from "../../log/log-limits.ts";
import type { StoredLog, StoreOptions } from "../../log/open-log.ts";
import { createLogObserver, createPrometheusObserver, type PrometheusObserver } from "../../observe/index.ts";
import { formatModelName, parseModelName } from "../../models/resolve-model.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { isLoomError } from "../../protocol/index.ts";
import { createPage, type ServerLimits, startLoomServer } from "../../server/index.ts";
import { readLimits } from "../../server/guard/server-limits.ts";
import { CliError } from "../command.ts";
import { collectDatabaseOptions, findUnusedSettings } from "../database-settings.ts";
import { type AgentResources, openAgentResources } from "../agent-resources.ts";
import { describeError } from "../explain-error.ts";
import { findStore, hideCredentials, isDatabase } from "../find-store.ts";
import { cutColumns, formatDuration } from "../fit-text.ts";
import { isMissingFile } from "../kb/default-knowledge-base.ts";
import { type LoadedAgents, loadAgents } from "../load-agents.ts";
import { openStore } from "../open-store.ts";
import type { StoreParts } from "../store-parts.ts";
import type { Terminal } from "../terminal.ts";
import { chooseServerKnowledgeBase } from "./choose-server-knowledge-base.ts";
import { createAgents } from "./create-agents.ts";
import { createLogger, createNotifier, createReporter } from "./create-logger.ts";
import { openServerAudit } from "./open-server-audit.ts";
import { openAdditionalModels } from "./additional-models.ts";
import { openAuth } from "./open-auth.ts";
import { startRetention } from "./retention.ts";
import { timer } from "./setting.ts";
import { LIMITS, SERVER_OPTIONS } from "./limits.ts";
import { type SettingKey, SETTINGS, type Settings } from "./settings.ts";
import { BUILT_IN_AGENTS } from "../strategy-items.ts";
import { waitForSignal } from "../stop-signals.ts";

/** Throws a CliError for errors that the user can fix. */
export async function runServer(settings: Settings, terminal: Terminal): Promise<number> {
  try {
    return await serve(settings, terminal);
  } catch (error) {
    if (!isLoomError(error)) throw error;
    const setting = SETTING_BY_ERROR[error.code];
    const [message, hint] = error.code.startsWith("store_") ? describeError(error) : [error.message, HINTS[error.code]];
    throw new CliError(`${setting === undefined ? "" : `${setting}: `}${toSettingNames(message)}`, hint);
  }
}

/** The setting to name in the error, for messages that do not name one. */
const SETTING_BY_ERROR: { readonly [code: string]: SettingKey } = {
  unknown_model: "model",
  missing_key: "model",
  mcp_failed: "mcp",
};

const HINTS: { readonly [code: string]: string } = {
  listen_failed: "choose another address with `--host` and `--port`, or LOOM_HOST and LOOM_PORT",
  unknown_model:
    "choose a model with `--model` or LOOM_MODEL; set the URL of a provider with `--base-url` or LOOM_BASE_URL",
  missing_key: "or set LOOM_API_KEY",
  mcp_failed: "choose another file with `--mcp` or LOOM_MCP",
};

const WRITER_FAILED_EXIT_CODE = 1;

async function serve(values: Settings, terminal: Terminal): Promise<number> {
  const store = values.store ?? findStore(process.env);
  await using parts = await openStore(store, collectDatabaseOptions(values));
  // Signals are handled from here on, so a slow start can also be stopped.
  using signal = waitForSignal(() => terminal.warn("stopping; press Ctrl-C again to exit immediately"));
  await Promise.race([waitForDatabase(parts, values["store-start-wait"], terminal), signal.first]);
  if (signal.isStopping) return 0;
  // Checked before anything else is opened.
  const auth = await openAuth(values, parts);
  await using stack = new AsyncDisposableStack();
  for (const warning of auth.warnings) terminal.warn(warning);
  for (const key of findUnusedSettings(store, values)) terminal.warn(`${key} has no effect: the store is a file`);
  const own = values.agents === undefined ? {} : await loadAgents(values.agents);
  const defaultAgent = chooseDefaultAgent(values.agent, own);
  const logger = await createLogger(values, terminal);
  const audit = await openServerAudit(values, terminal, { hasAuth: auth.options !== undefined });
  stack.defer(() => audit?.close());
  const resources = stack.use(await openResources(values, parts, (warning) => terminal.warn(cutColumns(warning, 500))));
  for (const warning of resources.warnings) terminal.warn(cutColumns(warning, 500));
  const first = { name: formatModelName(parseModelName(values.model)), model: resources.model };
  const additional = await openAdditionalModels(collectModels(values), (warning) =>
    terminal.warn(cutColumns(warning, 500)),
  );
  if (signal.isStopping) return 0;
  const limits = collectLimits(values);
  const prometheus = values.metrics ? await openMetrics() : undefined;
  const log = await openLog(parts, limits, values, {
    searchTimeoutMs: values["search-timeout"],
    ...(prometheus === undefined ? {} : { meter: prometheus }),
  });
  stack.defer(async () => void (await Promise.all(Object.values(own).map(({ agent }) => agent.close()))));
  if (signal.isStopping) return 0;
  const blobs = await parts.openBlobs(limits);
  const server = await startLoomServer({
    log,
    // The agents of the user come first in lists, and replace built-in ones of the same name.
    agents: { ...own, ...createAgents(resources, [first, ...additional], values), ...own },
    defaultAgent,
    host: values.host,
    port: values.port,
    allowPublic: values["allow-public"],
    allowLinks: values["allow-links"],
    links: auth.links,
    blobs,
    limits,
    origins: values.origins,
    devOrigins: values["dev-origins"],
    hosts: values.hosts,
    trustedProxies: values["trusted-proxies"],
    ...dropUndefined({ basePath: values["base-path"], knowledge: resources.knowledge, auth: auth.options }),
    ...(audit === undefined ? {} : { audit: audit.write, auditRequired: values["audit-required"] }),
    observers: [await createLogObserver({ logger }), ...(prometheus === undefined ? [] : [prometheus])],
    ...(prometheus === undefined ? {} : { meter: prometheus, register: prometheus.register }),
    onError: createReporter(logger, values.debug),
    notify: createNotifier(logger, values),
    debug: values.debug,
    strict: values.strict,
    timestamps: values.timestamps,
    images: values.images,
    fetchAttachments: values["allow-fetch"],
    runs: {
      maxSessions: values["max-sessions"],
      session: {
        ttlMs: values.lease,
        maxAttempts: values["max-run-attempts"],
        onInterruption: values["on-interruption"],
      },
    },
    page: createPage(),
  });
  stack.defer(() => server.close());
  stack.use(startRetention(log, values, logger, (deleted) => audit?.recordPruned(deleted)));
  const { promise: writerFailed, resolve: failWriter } = Promise.withResolvers<"writer_failed">();
  let failedAt: number | undefined;
  let wasDegraded = false;
  const unwatch = log.monitor.watch((fault, warning) => {
    if (wasDegraded && warning === undefined) logger.info({}, "the database sends notifications again");
    wasDegraded = warning !== undefined;
    if (fault !== undefined) failedAt ??= performance.now();
    else if (failedAt !== undefined) {
      logger.info({}, `the store can be written again after ${formatDuration(performance.now() - failedAt)}`);
      failedAt = undefined;
    }
    if (isLoomError(fault, "writer_failed")) failWriter("writer_failed");
  });
  stack.defer(unwatch);
  await terminal.write(
    describeServer(
      {
        url: server.url,
        store: hideCredentials(store),
        model: values.model,
        requiresAuth: auth.options !== undefined,
      },
      terminal,
    ),
  );
  const reason = await Promise.race([signal.first, writerFailed]);
  if (reason === "writer_failed") {
    logger.error({}, "stopping, because the store can no longer be written");
    await server.close({ graceMs: 0, drainMs: 0 });
    return WRITER_FAILED_EXIT_CODE;
  }
  // A developer who presses Ctrl-C has no load balancer to wait for.
  const isInteractive = reason === "SIGINT" && terminal.stdin.isTTY;
  await server.close(isInteractive ? { drainMs: 0 } : {});
  return 0;
}

/** Says once that it waits, and when it need not any more. */
async function waitForDatabase(parts: StoreParts, waitMs: number, terminal: Terminal): Promise<void> {
  const began = performance.now();
  await parts.waitForDatabase?.({
    waitMs,
    onChange: (fault) => {
      if (fault === undefined)
        terminal.warn(`the database is available after ${formatDuration(performance.now() - began)}`);
      else if (waitMs > 0) terminal.warn(`${fault.message}; waiting for it, at most ${timer.show(waitMs)}`);
    },
  });
}

/** Throws a CliError if no built-in agent and none of the user's has this name. */
function chooseDefaultAgent(name: string | undefined, own: LoadedAgents): string {
  const known = [...new Set([...Object.keys(own), ...BUILT_IN_AGENTS])];
  const [first = "react"] = known;
  if (name === undefined || known.includes(name)) return name ?? first;
  throw new CliError(`agent: ${name} is not one of ${known.join(", ")}`);
}

async function openResources(
  values: Settings,
  store: StoreParts,
  onWarning: (warning: string) => void,
): Promise<AgentResources> {
  const { workspace, mcp } = values;
  const base = chooseServerKnowledgeBase(values);
  if (base !== undefined && isMissingFile(base))
    onWarning(`kb: \`${base.file}\` does not exist yet; it is created on first use`);
  if (base !== undefined && isDatabase(store.address) && !isDatabase(base.file))
    onWarning(`kb: \`${base.file}\` is a file of this machine; other servers of the database do not see its documents`);
  // Creates the tables now, so that a server that may not do it ends at its start.
  if (base?.file === store.address) await (await store.openKnowledge(base.limits))?.close();
  return openAgentResources(
    {
      ...collectModels(values),
      workspace,
      mcp,
      allowFetch: values["allow-fetch"],
      knowledge: base === undefined ? undefined : { ...base, isAutomatic: false },
    },
    { onWarning, store },
  );
}

function collectModels(values: Settings) {
  const { model, models, "base-url": baseURL, "api-key": apiKey, "offline-delay": offlineDelayMs } = values;
  return { model, models, baseURL, apiKey, offlineDelayMs };
}

function collectLimits(values: Settings): ServerLimits {
  const given = SERVER_OPTIONS.map(([key, option]) => [option, values[key]]);
  return readLimits(Object.fromEntries(given) as Partial<ServerLimits>);
}

/** A message is stored as a command, and its JSON encoding is longer than the message. */
function openLog(
  parts: StoreParts,
  { maxBodyBytes, maxFrameBytes }: ServerLimits,
  values: Settings,
  options: Pick<StoreOptions, "searchTimeoutMs" | "meter">,
): Promise<StoredLog> {
  const limits = {
    maxCommandBytes: Math.max(LOG_LIMITS.maxCommandBytes, 2 * maxBodyBytes),
    maxEventBytes: Math.max(LOG_LIMITS.maxEventBytes, Math.min(maxFrameBytes, LOG_LIMITS.maxBatchBytes)),
    maxOwnerSessions: values["max-sessions-per-owner"] ?? Infinity,
    maxOwnerBytes: values["max-bytes-per-owner"] ?? Infinity,
    maxOwnerBlobs: values["max-blobs-per-owner"] ?? Infinity,
    maxOwnerBlobBytes: values["max-blob-bytes-per-owner"] ?? Infinity,
  };
  return parts.openLog({ limits, ...options });
}

/** Returns undefined if prom-client is not installed. */
async function openMetrics(): Promise<PrometheusObserver | undefined> {
  try {
    return await createPrometheusObserver();
  } catch (error) {
    if (isLoomError(error, "missing_package")) return undefined;
    throw error;
  }
}

/** Replaces option names of the server API in an error message with setting names. */
function toSettingNames(message: string): string {
  return message.replaceAll(/`(?:limits\.)?(\w+)`/g, (quoted, word: string) => {
    const limit = SERVER_OPTIONS.find(([, option]) => option === word)?.[0];
    const key = limit ?? word.replaceAll(/[A-Z]+/g, (letters) => `-${letters.toLowerCase()}`);
    return Object.hasOwn(SETTINGS, key) || Object.hasOwn(LIMITS, key) ? `\`${key}\`` : quoted;
  });
}

interface ServerDescription {
  readonly url: string;
  readonly store: string;
  readonly model: string;
  /** Requests need a credential. */
  readonly requiresAuth: boolean;
}

/** The text a server prints after it has started: its URL and commands to try. */
function describeServer({ url, store, model, requiresAuth }: ServerDescription, terminal: Terminal): string {
  const isOffline = model === "offline" || model.startsWith("offline/");
  const note = isOffline ? " (offline demo, not a language model; choose one with --model)" : "";
  const bearer = requiresAuth ? ` -H "authorization: Bearer $TOKEN"` : "";
  const rows: readonly (readonly [string, string])[] = [
    ["page", `${url}/`],
    ...(requiresAuth
      ? [["sign in", "with a token, on the page or as $TOKEN below; create one with `loom token create NAME`"] as const]
      : []),
    [
      "ask",
      `curl -N ${url}/api/chat${bearer} -H 'content-type: application/json' -d '{"session_id":"demo","content":"What is 6*7?"}'`,
    ],
    ["replay", `curl -N ${url}/v1/sessions/demo/events${bearer}`],
    ["model", `${model}${note}`],
    ["store", store],
  ];
  const lines = rows.map(([name, text]) => `  ${terminal.style("dim", name.padEnd(7))} ${text}\n`);
  // The first line is parsed by programs that wait for the URL.
  return `listening on ${terminal.style("bold", url)}\n${lines.join("")}`;
}
