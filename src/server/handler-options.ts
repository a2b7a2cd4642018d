/**
 * Options of the handler and their validation.
 *
 * Invariant: an invalid option is rejected by name before anything is created.
 */
import { isCallback } from "../observe/callbacks/callback.ts";
import type { Log } from "../log/index.ts";
import type { AnyCallback, Observer, PrometheusRegister, ServerMeter, StreamMeter } from "../observe/index.ts";
import { LoomError } from "../protocol/index.ts";
import { describeValue } from "../protocol/fault.ts";
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

type Check = readonly [(value: unknown) => boolean, string];

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;
const hasMethods = (value: unknown, ...names: readonly string[]): boolean =>
  isObject(value) && names.every((name) => typeof (value as { readonly [name: string]: unknown })[name] === "function");
const isListOf = (value: unknown, isItem: (item: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every(isItem);
const isFunction = (value: unknown): boolean => typeof value === "function";
const isText = (value: unknown): boolean => typeof value === "string";
const isBoolean = (value: unknown): boolean => typeof value === "boolean";

const isFetchRules = (value: unknown): boolean =>
  isBoolean(value) || (isObject(value) && isListOf((value as { readonly allow?: unknown }).allow, isText));

const CHECKS: { readonly [name in keyof Required<LoomHandlerOptions>]: Check } = {
  log: [(value) => hasMethods(value, "append", "read"), "a log"],
  agents: [isObject, "an object of agents by name"],
  defaultAgent: [isText, "the name of an agent"],
  basePath: [isText, 'a path like "/agents"'],
  blobs: [(value) => hasMethods(value, "put", "read"), "a blob store"],
  knowledge: [(value) => hasMethods(value, "list", "search", "read", "addBytes", "removeDocument"), "a knowledge base"],
  limits: [isObject, "an object of limits by name"],
  origins: [(value) => isListOf(value, isOrigin), 'a list of exact origins like "https://app.example.com"'],
  devOrigins: [isBoolean, "true or false"],
  hosts: [(value) => isListOf(value, isHost), 'a list of hosts like "example.com" or "example.com:8080"'],
  trustedProxies: [(value) => isListOf(value, isText), "a list of IP addresses and CIDR ranges"],
  auth: [isAuth, "an object with `credentials`, `jwt` or `authenticate`"],
  allowPublic: [isBoolean, "true or false"],
  links: [
    (value) => hasMethods(value, "createShare", "find") || hasMethods(value, "find", "open"),
    "a credential store",
  ],
  authorize: [isFunction, "a function"],
  audit: [isFunction, "a function"],
  auditRequired: [isBoolean, "true or false"],
  observers: [(value) => isListOf(value, (item) => hasMethods(item, "openRun")), "a list of observers"],
  callbacks: [(value) => isListOf(value, isCallback), "a list of callbacks"],
  meter: [isObject, "a stream meter"],
  register: [(value) => hasMethods(value, "metrics"), "a Prometheus register"],
  onError: [isFunction, "a function"],
  notify: [isFunction, "a function"],
  debug: [isBoolean, "true or false"],
  strict: [isBoolean, "true or false"],
  timestamps: [(value) => value === "milliseconds" || value === "seconds", '"milliseconds" or "seconds"'],
  page: [isFunction, "a function from Request to Response"],
  images: [isBoolean, "true or false"],
  fetchAttachments: [isFetchRules, "true, false, or an object with `allow`, a list of hosts"],
  runs: [isObject, "an object"],
};

/**
 * Throws `invalid_arguments` for an unknown, missing or invalid option. Limits, base path and proxies are checked in
 * detail by `readLimits`, `readBasePath` and `readProxies`.
 */
export function checkHandlerOptions(options: LoomHandlerOptions): void {
  if (!isObject(options)) throw new LoomError("invalid_arguments", "The options must be an object");
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(CHECKS, name))
      throw new LoomError("invalid_arguments", `Unknown option \`${name.slice(0, 60)}\``);
    if (value === undefined) continue;
    const [isRight, form] = CHECKS[name as keyof LoomHandlerOptions];
    if (!isRight(value)) {
      const given = Array.isArray(value)
        ? `a list that contains ${describeItem(value, isRight)}`
        : describeValue(value);
      throw new LoomError("invalid_arguments", `\`${name}\` must be ${form}, not ${given}`);
    }
  }
  for (const name of ["authenticateMs", "recheckMs"] as const) {
    const { [name]: ms = 1 } = options.auth ?? {};
    if (!Number.isSafeInteger(ms) || ms < 1)
      throw new LoomError("invalid_arguments", `\`auth.${name}\` must be a positive integer, not ${describeValue(ms)}`);
  }
  for (const name of ["log", "agents"] as const)
    if (options[name] === undefined) throw new LoomError("invalid_arguments", `\`${name}\` is required`);
}

function describeItem(list: readonly unknown[], isRight: Check[0]): string {
  return describeValue(list.find((item) => !isRight([item])));
}

/** Without credentials, JWT and login no client could authenticate, so `{}` is rejected. */
function isAuth(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { credentials, jwt, authenticate } = value as AuthOptions;
  const isRight = credentials === undefined || hasMethods(credentials, "find", "useTicket", "isValid");
  if (!isRight || (jwt !== undefined && !isObject(jwt))) return false;
  if (authenticate !== undefined && !isFunction(authenticate)) return false;
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
