/** What a server is made with, and the check of it: a bad option is refused by its name before anything begins. */
import type { Log } from "../log/index.ts";
import type { Callback, Observer, PrometheusRegister, StreamMeter } from "../observe/index.ts";
import { describeValue, LoomError } from "../protocol/index.ts";
import type { AuthOptions } from "./auth/auth-options.ts";
import type { BlobStore } from "./blobs/blob-store.ts";
import type { Authorize } from "./guard/authorize.ts";
import type { Notify } from "./guard/notice.ts";
import type { RunDeskOptions } from "./runs/create-run-desk.ts";
import type { ServedAgents } from "./runs/served-agents.ts";
import type { ServedKnowledge } from "./served-knowledge.ts";
import type { ServerLimits } from "./server-limits.ts";

export interface LoomHandlerOptions {
  readonly log: Log;
  /** By name; the first answers messages that name none, unless `defaultAgent` does. */
  readonly agents: ServedAgents;
  readonly defaultAgent?: string | undefined;
  /** What stands before every path, as clients write it: `/agents`. */
  readonly basePath?: string | undefined;
  /** Where images and files are kept; without it there are none. */
  readonly blobs?: BlobStore | undefined;
  /** The documents that can be listed, searched, added and removed, one collection for all who come in; without it none. */
  readonly knowledge?: ServedKnowledge | undefined;
  readonly limits?: Partial<ServerLimits> | undefined;
  /** Other sites whose pages may ask, as `https://app.example.com`. Pages of the server's own origin always may. */
  readonly origins?: readonly string[] | undefined;
  /** Names by which the server may be asked, with a port where it is not the usual one; by any when absent. */
  readonly hosts?: readonly string[] | undefined;
  /** Proxies whose `X-Forwarded-*` are believed: addresses, ranges, or `loopback`. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** Whom to let in; everybody who reaches it when absent. */
  readonly auth?: AuthOptions | undefined;
  /** Who may do what, asked after `auth` has agreed; everybody who has come in when absent. */
  readonly authorize?: Authorize | undefined;
  /** Told of every run of the server. */
  readonly observers?: readonly Observer[] | undefined;
  readonly callbacks?: readonly Callback[] | undefined;
  /** Told of every stream. */
  readonly meter?: StreamMeter | undefined;
  /** What `/metrics` shows; without it there is nothing at that address. */
  readonly register?: PrometheusRegister | undefined;
  /** Told of what users must not see, under the id that they are told. */
  readonly onError?: ((error: unknown, errorId: string) => void) | undefined;
  /** Told of callers who were turned away at the entrance, and of the option that would let them in; each once in a minute. */
  readonly notify?: Notify | undefined;
  /** Stack traces in the dialect `engine`. Never where users are not the programmers. */
  readonly debug?: boolean | undefined;
  /** What `/` answers, and the addresses below `/assets`: `createPage()`, or a page of your own. */
  readonly page?: ((request: Request) => Response | Promise<Response>) | undefined;
  /** False: images of other sites are not fetched for pages. */
  readonly images?: boolean | undefined;
  /** How sessions are held and looked for. */
  readonly runs?: Pick<RunDeskOptions, "maxSessions" | "maxOpening" | "lingerMs" | "sweepMs" | "session"> | undefined;
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

const CHECKS: { readonly [name in keyof Required<LoomHandlerOptions>]: Check } = {
  log: [(value) => hasMethods(value, "append", "read"), "a log"],
  agents: [isObject, "agents by their names"],
  defaultAgent: [isText, "the name of an agent"],
  basePath: [isText, 'a path like "/agents"'],
  blobs: [(value) => hasMethods(value, "put", "read"), "a store of blobs"],
  knowledge: [(value) => hasMethods(value, "list", "search", "addBytes", "removeDocument"), "a knowledge base"],
  limits: [isObject, "limits by their names"],
  origins: [(value) => isListOf(value, isOrigin), 'a list of exact origins like "https://app.example.com"'],
  hosts: [(value) => isListOf(value, isHost), 'a list of hosts like "example.com" or "example.com:8080"'],
  trustedProxies: [(value) => isListOf(value, isText), "a list of addresses and ranges"],
  auth: [isAuth, "an object with `credentials` or `jwt`"],
  authorize: [isFunction, "a function"],
  observers: [(value) => isListOf(value, (item) => hasMethods(item, "openRun")), "a list of observers"],
  callbacks: [(value) => isListOf(value, (item) => hasMethods(item, "onEvent")), "a list of callbacks"],
  meter: [isObject, "a meter of streams"],
  register: [(value) => hasMethods(value, "metrics"), "a register of metrics"],
  onError: [isFunction, "a function"],
  notify: [isFunction, "a function"],
  debug: [isBoolean, "true or false"],
  page: [isFunction, "a function from Request to Response"],
  images: [isBoolean, "true or false"],
  runs: [isObject, "an object"],
};

/** Throws `invalid_arguments`. Limits, base path and proxies are checked by those who read them. */
export function checkHandlerOptions(options: LoomHandlerOptions): void {
  if (!isObject(options)) throw new LoomError("invalid_arguments", "the options of a server must be an object");
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(CHECKS, name))
      throw new LoomError("invalid_arguments", `a server has no option \`${name.slice(0, 60)}\``);
    if (value === undefined) continue;
    const [isRight, form] = CHECKS[name as keyof LoomHandlerOptions];
    if (!isRight(value)) {
      const given = Array.isArray(value) ? `one that has ${describeItem(value, isRight)}` : describeValue(value);
      throw new LoomError("invalid_arguments", `\`${name}\` must be ${form}, not ${given}`);
    }
  }
  for (const name of ["log", "agents"] as const)
    if (options[name] === undefined) throw new LoomError("invalid_arguments", `\`${name}\` is missing`);
}

function describeItem(list: readonly unknown[], isRight: Check[0]): string {
  return describeValue(list.find((item) => !isRight([item])));
}

/** One that lets in nobody is a mistake. */
function isAuth(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { credentials, jwt } = value as AuthOptions;
  const isRight = credentials === undefined || hasMethods(credentials, "find", "useTicket", "isGood");
  return isRight && (jwt === undefined ? credentials !== undefined : isObject(jwt));
}

/** As a browser writes it, to the letter: it is compared so. */
function isOrigin(value: unknown): boolean {
  if (typeof value !== "string") return false;
  const url = URL.parse(value);
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === value;
}

/** As a browser writes it. */
function isHost(value: unknown): boolean {
  return typeof value === "string" && URL.parse(`http://${value}`)?.host === value.replace(/:80$/, "").toLowerCase();
}
