/**
 * Declares the limits of `loom serve`: what clients and runs may use. They are rarely changed, so they share one setting,
 * `limits`: `max-body=1MB,max-sockets=100` as text, an object in the file.
 */
import { AUDIT_FILE_LIMITS } from "../../server/auth/audit/create-audit-file.ts";
import { DEFAULT_PRINCIPAL_LIMITS } from "../../server/auth/principal.ts";
import { MAY_BE_ZERO, SERVER_LIMITS, type ServerLimits } from "../../server/guard/server-limits.ts";
import { findNearest } from "../../protocol/find-nearest.ts";
import { isJsonObject } from "../../protocol/json.ts";
import {
  bytes,
  define,
  defineOptional,
  describeGivenValue,
  durationOrNone,
  type OptionalSetting,
  type Setting,
  type SettingKind,
  type SettingWithDefault,
  timer,
  type ValueOf,
  wholeNumber,
} from "./setting.ts";

/** A limit that is an option of the server, with its name there. */
interface ServerLimit extends SettingWithDefault<number> {
  readonly option: keyof ServerLimits;
}

/** The kind follows from the name of the option. */
function limit(option: keyof ServerLimits, about: string, kind = kindOf(option)): ServerLimit {
  return { ...define(kind, SERVER_LIMITS[option], about), option };
}

function kindOf(option: keyof ServerLimits): SettingKind<number> {
  if (option.endsWith("Ms")) return MAY_BE_ZERO.has(option) ? durationOrNone : timer;
  return option.endsWith("Bytes") ? bytes : count;
}

const count = wholeNumber("a number", 1);

function ofCredential(name: keyof typeof DEFAULT_PRINCIPAL_LIMITS, about: string): SettingWithDefault<number> {
  return define<number>(count, DEFAULT_PRINCIPAL_LIMITS[name], about);
}

/** There is none by default. */
function noLimit(kind: SettingKind<number>, about: string): OptionalSetting<number> {
  return defineOptional(kind, about, "no limit");
}

export const LIMITS = {
  heartbeat: limit("heartbeatMs", "interval between heartbeats on idle streams"),
  ping: limit("pingMs", "interval between WebSocket pings"),
  "command-timeout": limit(
    "commandTimeoutMs",
    "time to wait for the outcome of a command before answering that it is pending",
  ),
  "search-timeout": define(timer, 2000, "maximum time of a search in sessions or the knowledge base"),
  "max-run-attempts": define(
    count,
    3,
    "maximum attempts of a run whose process dies, the first included; then it ends with too_many_attempts",
  ),
  "max-sessions": define(count, 4000, "maximum number of active sessions; further ones wait"),
  "max-body": limit("maxBodyBytes", "maximum size of a JSON request body"),
  "max-inline": limit("maxInlineBytes", "maximum size of the JSON request body of a message with files in it"),
  "max-message": limit("maxInboundLength", "maximum length of a WebSocket message in characters", bytes),
  "max-frame": limit("maxFrameBytes", "maximum size of an outgoing frame"),
  "max-ingest": limit("maxIngestBytes", "maximum size of an ingested run"),
  "max-blob": limit("maxBlobBytes", "maximum size of an image or file"),
  "max-session-blobs": limit("maxSessionBlobBytes", "maximum total size of the images and files of a session"),
  "max-uploads": limit("maxUploads", "maximum number of concurrent uploads of images and files; further ones wait"),
  "max-uploads-per-token": limit(
    "maxUploadsPerToken",
    "maximum number of concurrent uploads of each credential; further ones wait",
  ),
  "upload-timeout": limit("uploadTimeoutMs", "maximum total time of an upload"),
  "max-forks": limit("maxForks", "maximum number of concurrent forks; further ones wait"),
  "max-forks-per-token": limit(
    "maxForksPerToken",
    "maximum number of concurrent forks of each credential; further ones wait",
  ),
  "max-image": limit("maxImageBytes", "maximum size of an image fetched for the page"),
  "max-document": limit("maxDocumentBytes", "maximum size of a document for the knowledge base"),
  "max-outbound": limit("maxOutboundBytes", "maximum unsent data of one stream"),
  "max-lag": limit("maxLagBytes", "maximum data a client may lag behind before its stream is closed"),
  "max-stall": limit("maxStallMs", "maximum time a client may accept no data before its stream is closed"),
  "max-stream-memory": limit("maxTotalSharedBytes", "memory for recent frames of all followed streams"),
  "max-readers": limit("maxReaders", "maximum number of open streams"),
  "max-sockets": limit("maxSockets", "maximum number of open WebSockets"),
  "max-subscriptions": limit("maxSubscriptions", "maximum number of streams on one WebSocket"),
  "max-connections": limit("maxConnections", "maximum number of open connections"),
  "requests-per-minute": ofCredential("requestsPerMinute", "requests per minute for each credential"),
  "runs-per-minute": ofCredential("runsPerMinute", "run starts per minute for each credential"),
  "max-runs-per-token": ofCredential("maxRuns", "concurrent runs of each credential, including queued runs"),
  "max-streams-per-token": ofCredential("maxStreams", "concurrent streams and WebSockets of each credential"),
  "max-searches-per-token": ofCredential("maxSearches", "concurrent searches of each credential; further ones wait"),
  "tokens-per-day": noLimit(count, "model tokens that the runs of each credential may use per UTC day"),
  "max-sessions-per-owner": noLimit(count, "sessions that each owner may have"),
  "max-bytes-per-owner": noLimit(bytes, "total size of the runs that each owner may have"),
  "max-blobs-per-owner": noLimit(count, "images and files that each owner may have"),
  "max-blob-bytes-per-owner": noLimit(bytes, "total size of the images and files that each owner may have"),
  "audit-log-bytes": define(bytes, AUDIT_FILE_LIMITS.maxBytes, "size at which the audit log is renamed to PATH.1"),
  "audit-log-files": define(
    wholeNumber("a number", 0, 1000),
    AUDIT_FILE_LIMITS.maxFiles,
    "number of renamed audit logs to keep",
  ),
} as const;

export type LimitKey = keyof typeof LIMITS;
export const LIMIT_KEYS = Object.keys(LIMITS) as readonly LimitKey[];

/** The value of each limit. */
export type LimitValues = { readonly [K in LimitKey]: ValueOf<(typeof LIMITS)[K]> };

const DEFAULTS = Object.fromEntries(LIMIT_KEYS.map((key) => [key, LIMITS[key].defaultValue])) as LimitValues;

/** Limits and settings that are options of the server, with their names there. */
export const SERVER_OPTIONS: readonly (readonly [key: LimitKey | "drain" | "grace", option: keyof ServerLimits])[] = [
  ["drain", "drainMs"],
  ["grace", "graceMs"],
  ...LIMIT_KEYS.flatMap((key) => {
    const setting: Setting<number> | ServerLimit = LIMITS[key];
    return "option" in setting ? [[key, setting.option] as const] : [];
  }),
];

/** The value of all limits, if these are changed. */
export function completeLimits(changed: Partial<LimitValues>): LimitValues {
  return { ...DEFAULTS, ...changed };
}

/** A fault in the value of `limits`. */
interface LimitFault {
  readonly fault: string;
}

/** Reads the changed limits, each with its text or JSON value. */
function readItems(given: unknown): Partial<LimitValues> | LimitFault | undefined {
  if (typeof given !== "string" && !isJsonObject(given)) return undefined;
  const items =
    typeof given === "string" ? splitItems(given) : Object.entries(given).filter(([, value]) => value !== null);
  const values: { [key: string]: unknown } = {};
  for (const [key, value] of items) {
    const shown = key.slice(0, 60);
    if (!Object.hasOwn(LIMITS, key)) {
      const nearest = findNearest(key, LIMIT_KEYS);
      const hint = nearest === undefined ? "docs/configuration.md lists them" : `did you mean \`${nearest}\`?`;
      return { fault: `unknown limit \`${shown}\`; ${hint}` };
    }
    if (Object.hasOwn(values, key)) return { fault: `\`${shown}\` is given twice` };
    if (value === undefined) return { fault: `\`${shown}\` has no value; write \`${shown}=…\`` };
    const { kind } = LIMITS[key as LimitKey] as Setting<unknown>;
    values[key] = kind.read(value);
    if (values[key] === undefined)
      return { fault: `\`${shown}\`: ${describeGivenValue(value, false)} is not ${kind.expected}` };
  }
  return values;
}

function splitItems(text: string): [key: string, value: string | undefined][] {
  const items = text.trim() === "" ? [] : text.split(",");
  return items.map((item) => {
    const [key = "", ...value] = item.split("=");
    return [key.trim(), value.length === 0 ? undefined : value.join("=").trim()];
  });
}

const isFault = (read: ReturnType<typeof readItems>): read is LimitFault => read !== undefined && "fault" in read;

/** The changed limits. */
export const limitItems: SettingKind<Partial<LimitValues>> = {
  placeholder: "LIST",
  expected: "a list of limits such as max-body=1MB,max-sockets=100, or an object in the file",
  read(given) {
    const read = readItems(given);
    return isFault(read) ? undefined : read;
  },
  explain(given) {
    const read = readItems(given);
    return isFault(read) ? read.fault : undefined;
  },
  merge: (low, high) => ({ ...low, ...high }),
  show: (values) =>
    Object.entries(values)
      .map(([key, value]) => `${key}=${LIMITS[key as LimitKey].kind.show(value as number)}`)
      .join(","),
};
