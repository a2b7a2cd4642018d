/**
 * Runs the application's own login (`auth.authenticate`): limits its time, checks what it returns, and checks long-lived
 * connections again with the headers they were opened with.
 *
 * Invariants:
 * - A failure is never an anonymous user: the request is refused, and the error reported.
 * - A check of an open connection never blocks the others. While it cannot be checked, its actions are refused; after three
 *   failed checks in a row it ends, with a code that tells clients to connect again.
 */
import { randomUUID } from "node:crypto";
import { describeValue } from "../../protocol/fault.ts";
import { LoomError } from "../../protocol/index.ts";
import { withTimeout } from "../../protocol/with-timeout.ts";
import { LOCAL_OWNER } from "../../log/rules.ts";
import type { RequestInfo } from "../guard/read-request-info.ts";
import type { Authenticate, AuthOptions } from "./access.ts";
import { mayUseCookies } from "./request-credentials.ts";
import { isOwnerName } from "./credentials/credentials.ts";
import { accessEnded, type LoginLease, type Principal } from "./principal.ts";
import { type Scope, SCOPES } from "./scopes.ts";

export interface LoginOptions extends Pick<AuthOptions, "authenticateMs" | "recheckMs"> {
  readonly authenticate: Authenticate;
  readonly now: () => number;
  /** Receives failures of `authenticate`. */
  readonly report: (error: unknown) => void;
}

/** Returns the user of a request, undefined if `authenticate` knows none. Throws what must not be sent to clients. */
export type Login = (request: RequestInfo) => Promise<Principal | undefined>;

type User = Pick<Principal, "owner" | "scopes">;

const AUTHENTICATE_MS = 5000;
export const RECHECK_MS = 60_000;
const MAX_FAILED_CHECKS = 3;
/** Time before a failed check is repeated. */
const RETRY_MS = 1000;
/** Owners of sessions without a login, and names that IDs of other credentials begin with. */
const RESERVED_OWNER = new RegExp(`^(?:${LOCAL_OWNER}$|(?:jwt|token|share|user):)`);
const USER_FIELDS: ReadonlySet<string> = new Set(["owner", "scopes"]);

export function createLogin(options: LoginOptions): Login {
  const { authenticate, authenticateMs = AUTHENTICATE_MS, recheckMs = RECHECK_MS, now, report } = options;
  /** Whether the latest check of an open connection failed. One outage is reported once. */
  let isFailing = false;

  async function findUser(request: RequestInfo): Promise<User | undefined> {
    const message = `\`auth.authenticate\` took longer than ${authenticateMs} ms`;
    const late = (): Error => new LoomError("login_unavailable", message);
    return withTimeout({ timeoutMs: authenticateMs, late }, (signal) =>
      wrapErrors(async () => readUser(await authenticate(toRequest(request, signal)))),
    );
  }

  function createLease(request: RequestInfo, user: User): LoginLease {
    // Connections that opened together, after a restart for example, must not be checked together from then on.
    let dueAt = now() + recheckMs * (0.5 + Math.random() / 2);
    let failures = 0;
    let checking: Promise<void> | undefined;
    let ended: LoomError | undefined;
    const check = async (): Promise<void> => {
      try {
        const found = await findUser(request);
        isFailing = false;
        failures = 0;
        dueAt = now() + recheckMs;
        if (found === undefined || !isSameUser(found, user)) ended = accessEnded();
      } catch (error) {
        if (!isFailing) report(error);
        isFailing = true;
        dueAt = now() + Math.min(recheckMs, RETRY_MS);
        if (++failures >= MAX_FAILED_CHECKS) ended = loginUnavailable();
      } finally {
        checking = undefined;
      }
    };
    const checkIfDue = (): void => {
      if (ended === undefined && now() >= dueAt) checking ??= check();
    };
    return {
      key: randomUUID(),
      check() {
        checkIfDue();
        return ended;
      },
      async confirm() {
        checkIfDue();
        await checking;
        return ended ?? (failures > 0 ? loginUnavailable() : undefined);
      },
    };
  }

  return async (request) => {
    try {
      const user = await findUser(request);
      if (user === undefined) return undefined;
      const { owner } = user;
      return { kind: "user", id: `user:${owner}`, name: owner, ...user, limits: {}, login: createLease(request, user) };
    } catch (error) {
      report(error);
      throw error;
    }
  };
}

function loginUnavailable(): LoomError {
  return new LoomError("login_unavailable", "The login cannot be checked at the moment; connect again");
}

/** Errors of the application are internal, also if it throws one of ours. */
async function wrapErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const { message = String(cause) } = (cause ?? {}) as Partial<Error>;
    throw new Error(`\`auth.authenticate\` failed: ${message}`, { cause });
  }
}

/** The request without its body, and without cookies that the page of another site may have sent. */
function toRequest({ method, headers: given, url, origin }: RequestInfo, signal: AbortSignal): Request {
  const headers = new Headers(given);
  if (!mayUseCookies({ method, headers: given, origin })) headers.delete("cookie");
  return new Request(url, { method: method === "UPGRADE" ? "GET" : method, headers, signal });
}

function readUser(given: unknown): User | undefined {
  if (given === undefined || given === null) return undefined;
  if (typeof given !== "object")
    throw new TypeError(`it must return an object or undefined, not ${describeValue(given)}`);
  const unknown = Object.keys(given).find((name) => !USER_FIELDS.has(name));
  if (unknown !== undefined) throw new TypeError(`unknown field \`${unknown}\`; return \`owner\` and \`scopes\``);
  const { owner, scopes = [] } = given as { readonly owner?: unknown; readonly scopes?: unknown };
  if (!isOwnerName(owner) || owner.trim() !== owner)
    throw new TypeError(
      `\`owner\` must be a string, one line of 1 to 200 characters without spaces at either end, not ${describeValue(owner)}`,
    );
  if (RESERVED_OWNER.test(owner)) throw new TypeError(`the owner ${JSON.stringify(owner)} is reserved`);
  if (!Array.isArray(scopes)) throw new TypeError(`\`scopes\` must be a list, not ${describeValue(scopes)}`);
  const badAt = scopes.findIndex((scope) => !SCOPES.includes(scope as Scope));
  if (badAt >= 0) throw new TypeError(`unknown scope ${describeValue(scopes[badAt])}; use ${SCOPES.join(", ")}`);
  return { owner, scopes: new Set(scopes as readonly Scope[]) };
}

function isSameUser(one: User, other: User): boolean {
  const isSubset = [...one.scopes].every((scope) => other.scopes.has(scope));
  return one.owner === other.owner && isSubset && one.scopes.size === other.scopes.size;
}
