/**
 * Options of the handler and their validation.
 *
 * Invariant: an invalid option is rejected by name before anything is created.
 */
import { type AnyCallback, isCallback } from "../observe/callbacks/callback.ts";
import type { Log } from "../log/index.ts";
import type { Observer, StreamMeter } from "../observe/index.ts";
import type { PrometheusRegister } from "../observe/metrics/prometheus-metrics.ts";
import type { ServerMeter } from "../observe/metrics/server-meter.ts";
import { LoomError } from "../protocol/index.ts";
import {
  acceptInteger,
  acceptListOf,
  acceptMethods,
  acceptOneOf,
  BOOLEAN_OPTION,
  FUNCTION_OPTION,
  hasMethods,
  OBJECT_OPTION,
  type OptionTable,
  readOptions,
  TEXT_OPTION,
  TEXTS_OPTION,
} from "../protocol/read-options.ts";
import type { Audit } from "./auth/audit/auditor.ts";
import type { AuthOptions } from "./auth/access.ts";
import type { Credentials } from "./auth/credentials/credentials.ts";
import type { LinkStore } from "./auth/open-access.ts";
import type { BlobStore } from "./blobs/blob-store.ts";
import type { Authorize } from "./auth/authorize.ts";
import type { Notify } from "./guard/notice.ts";
import type { RunDispatcherOptions } from "./runs/create-run-dispatcher.ts";
import type { ServedAgents } from "./runs/agent-registry.ts";
import type { ServedKnowledge } from "./api/server-core.ts";
import type { ServerLimits } from "./guard/server-limits.ts";

/** Options of `createLoomHandler` and `startLoomServer`. Only `log` and `agents` are required. */
export interface LoomHandlerOptions {
  /** Log that stores the sessions: `openSqliteLog(file)` or `new MemoryLog()`. The handler does not close it. */
  readonly log: Log;
  /** Agents by name; at least one. */
  readonly agents: ServedAgents;
  /** Name of the agent that answers messages without an `agent` field. Default: the first of `agents`. */
  readonly defaultAgent?: string | undefined;
  /** URL prefix of every route as clients see it, for example `/agents`. Default: none. */
  readonly basePath?: string | undefined;
  /** Store of uploaded images and files. Default: none; the blob endpoints answer 404. */
  readonly blobs?: BlobStore | undefined;
  /** Knowledge base, shared by all users, that clients can list, search and change. Default: none. */
  readonly knowledge?: ServedKnowledge | undefined;
  /** Limits that replace the defaults in `SERVER_LIMITS`: sizes, counts and timeouts. */
  readonly limits?: Partial<ServerLimits> | undefined;
  /**
   * Origins of other sites whose pages may call the server, for example `https://app.example.com`. The server's own
   * origin is always allowed. Default: no others.
   */
  readonly origins?: readonly string[] | undefined;
  /**
   * Allow pages of this machine (localhost, 127.0.0.1, [::1]) on any port, such as a development server. Any program on
   * this machine can serve such a page. Default: false.
   */
  readonly devOrigins?: boolean | undefined;
  /**
   * `Host` headers that are accepted, with the port unless it is the default one. Default: any host with `auth` or
   * `allowPublic`, otherwise loopback names. `startLoomServer` accepts loopback names and its own host in addition, and by default only those.
   */
  readonly hosts?: readonly string[] | undefined;
  /** Proxies whose `X-Forwarded-*` headers are trusted: IP addresses, CIDR ranges or `loopback`. Default: none. */
  readonly trustedProxies?: readonly string[] | undefined;
  /**
   * Authentication with tokens, JWTs or your own login. Default: off; only this machine may connect, unless `allowPublic`
   * is set.
   */
  readonly auth?: AuthOptions | undefined;
  /**
   * Let every client that reaches the server use its agents and tools although `auth` is not set. Without it, a mounted
   * handler refuses requests from other addresses, from unknown ones (as in Next.js) and through proxies, except those with
   * a share link, and `startLoomServer` refuses a `host` that other machines can reach unless `allowLinks` is set.
   * Default: false.
   */
  readonly allowPublic?: boolean | undefined;
  /**
   * Where share links are stored if `auth` is not set: `openCredentials(file)`, or functions that open it with the first
   * link. The handler does not close it. Default: in memory, until the process ends.
   */
  readonly links?: Credentials | LinkStore | undefined;
  /** Additional authorization check, called after the one of `auth`. Throws to reject. Default: none. */
  readonly authorize?: Authorize | undefined;
  /**
   * Receives the entries of the audit log: sign-ins, refused credentials, links, approvals, deletions. Default: none.
   */
  readonly audit?: Audit | undefined;
  /**
   * Refuse actions with `audit_failed` if `audit` fails; an entry `started` is then written before each action.
   * Default: false; failures are reported only.
   */
  readonly auditRequired?: boolean | undefined;
  /** Observers of all runs of the server. Default: none. */
  readonly observers?: readonly Observer[] | undefined;
  /** Callbacks for the events of all runs of the server. Default: none. */
  readonly callbacks?: readonly AnyCallback[] | undefined;
  /** Meter of all streams of the server, and of the server itself if it can. Default: none. */
  readonly meter?: (StreamMeter & Partial<ServerMeter>) | undefined;
  /** Prometheus register behind `/metrics`. Default: none; `/metrics` answers 404. */
  readonly register?: PrometheusRegister | undefined;
  /**
   * Receives errors whose text clients must not see. Clients get a general message and `errorId` instead. Default:
   * these errors are discarded.
   */
  readonly onError?: ((error: unknown, errorId: string) => void) | undefined;
  /**
   * Receives a notice when a request is rejected for its host or origin, with the option that would allow it; the same
   * notice at most once a minute. Default: a process warning.
   */
  readonly notify?: Notify | undefined;
  /** Include stack traces in the dialect `engine`. For development only. Default: false. */
  readonly debug?: boolean | undefined;
  /**
   * Send `loom` and `export` in strict form, with only the types and fields of specification 001, unless a request has `strict=0`.
   * Default: false.
   */
  readonly strict?: boolean | undefined;
  /** Unit of `metadata.timestamp` in the dialect `engine`. Default: `milliseconds`. */
  readonly timestamps?: "milliseconds" | "seconds" | undefined;
  /** Serves `/` and the files below `/assets`: `createPage()` or your own function. Default: none; 404. */
  readonly page?: ((request: Request) => Response | Promise<Response>) | undefined;
  /** Fetch images from other sites for the server's own pages (`/v1/images`). Default: true. */
  readonly images?: boolean | undefined;
  /**
   * Fetch files from the http and https URLs in messages of clients. Only hosts with public addresses are fetched, and
   * those in `allow`: `host`, or `host:port` to also allow that port. Default: false; such messages are refused with
   * `url_refused`.
   */
  readonly fetchAttachments?: boolean | { readonly allow: readonly string[] } | undefined;
  /** How many sessions the server holds, and how it finds sessions without a holder. */
  readonly runs?:
    | Pick<RunDispatcherOptions, "maxSessions" | "maxOpening" | "lingerMs" | "sweepMs" | "session">
    | undefined;
}

const OPTIONS: OptionTable<LoomHandlerOptions> = {
  log: acceptMethods("a log", "append", "read"),
  agents: { ...OBJECT_OPTION, expected: "an object of agents by name" },
  defaultAgent: { ...TEXT_OPTION, expected: "the name of an agent" },
  basePath: { ...TEXT_OPTION, expected: 'a path like "/agents"' },
  blobs: acceptMethods("a blob store", "put", "read"),
  knowledge: acceptMethods("a knowledge base", "list", "search", "read", "addBytes", "removeDocument"),
  limits: { ...OBJECT_OPTION, expected: "an object of limits by name" },
  origins: acceptListOf('a list of exact origins like "https://app.example.com"', isOrigin),
  devOrigins: BOOLEAN_OPTION,
  hosts: acceptListOf('a list of hosts like "example.com" or "example.com:8080"', isHost),
  trustedProxies: { ...TEXTS_OPTION, expected: "a list of IP addresses and CIDR ranges" },
  auth: { expected: "an object with `credentials`, `jwt` or `authenticate`", accepts: isAuth },
  allowPublic: BOOLEAN_OPTION,
  links: {
    expected: "a credential store",
    accepts: (value) => hasMethods(value, "createShare", "find") || hasMethods(value, "find", "open"),
  },
  authorize: FUNCTION_OPTION,
  audit: FUNCTION_OPTION,
  auditRequired: BOOLEAN_OPTION,
  observers: acceptListOf("a list of observers", (item) => hasMethods(item, "openRun")),
  callbacks: acceptListOf("a list of callbacks", isCallback),
  meter: { ...OBJECT_OPTION, expected: "a stream meter" },
  register: acceptMethods("a Prometheus register", "metrics"),
  onError: FUNCTION_OPTION,
  notify: FUNCTION_OPTION,
  debug: BOOLEAN_OPTION,
  strict: BOOLEAN_OPTION,
  timestamps: acceptOneOf(["milliseconds", "seconds"]),
  page: { ...FUNCTION_OPTION, expected: "a function from Request to Response" },
  images: BOOLEAN_OPTION,
  fetchAttachments: {
    expected: "true, false, or an object with `allow`, a list of hosts",
    accepts: (value) => BOOLEAN_OPTION.accepts(value) || isFetchRules(value),
  },
  runs: OBJECT_OPTION,
};

const AUTH_TIMES = { authenticateMs: acceptInteger(1), recheckMs: acceptInteger(1) };

/**
 * Throws `invalid_arguments` for an unknown, missing or invalid option. Limits, base path and proxies are checked in
 * detail by `readLimits`, `readBasePath` and `readProxies`.
 */
export function checkHandlerOptions(options: LoomHandlerOptions): void {
  readOptions(OPTIONS, options);
  readOptions(AUTH_TIMES, options.auth ?? {}, { path: "auth", isPart: true });
  for (const name of ["log", "agents"] as const)
    if (options[name] === undefined) throw new LoomError("invalid_arguments", `\`${name}\` is required`);
}

function isFetchRules(value: unknown): boolean {
  return OBJECT_OPTION.accepts(value) && TEXTS_OPTION.accepts((value as { readonly allow?: unknown }).allow);
}

/** Without credentials, JWT and login no client could authenticate, so `{}` is rejected. */
function isAuth(value: unknown): boolean {
  if (!OBJECT_OPTION.accepts(value)) return false;
  const { credentials, jwt, authenticate } = value as AuthOptions;
  const isRight = credentials === undefined || hasMethods(credentials, "find", "useTicket", "isValid");
  if (!isRight || (jwt !== undefined && !OBJECT_OPTION.accepts(jwt))) return false;
  if (authenticate !== undefined && !FUNCTION_OPTION.accepts(authenticate)) return false;
  return (credentials ?? jwt ?? authenticate) !== undefined;
}

/** Origins are compared as strings, so the value must be spelled exactly as browsers send it. */
function isOrigin(value: unknown): boolean {
  if (typeof value !== "string") return false;
  const url = URL.parse(value);
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === value;
}

/** A host, with or without a port, as browsers send it. The comparison ignores case. */
function isHost(value: unknown): boolean {
  return typeof value === "string" && URL.parse(`http://${value}`)?.host === value.replace(/:80$/, "").toLowerCase();
}
