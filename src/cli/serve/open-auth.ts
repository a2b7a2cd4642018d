/**
 * Whether a server asks everybody who they are, and with what. On this machine it does where somebody has made a token or
 * named keys; where others can reach it, it does not start without one of them, unless it is told that all of them are
 * meant. A store that had a token once is never open again by itself.
 */
import type { AuthOptions, JwtOptions } from "../../server/auth/auth-options.ts";
import type { Credentials } from "../../server/auth/credentials/credentials.ts";
import type { Scope } from "../../server/auth/scopes.ts";
import { isLoopback } from "../../server/guard/read-proxies.ts";
import { CliError } from "../command.ts";
import { type Environment, findStore } from "../find-store.ts";
import { isLive } from "../token/format-token.ts";
import { findCredentialsOf, openCredentialsOf } from "../token/open-credentials-of.ts";
import type { Settings } from "./settings.ts";

export interface OpenAuth {
  /** Undefined: nobody is asked. */
  readonly options: AuthOptions | undefined;
  readonly warnings: readonly string[];
  close(): void;
}

/** Throws a CliError where others could reach what is open, or nobody could come in. */
export function openAuth(values: Settings, store: string, env: Environment = process.env): OpenAuth {
  const jwt = readJwt(values);
  const found = values.auth === "off" ? undefined : findCredentialsOf(store);
  try {
    return decide(values, jwt, found, { store, env });
  } catch (error) {
    found?.close();
    throw error;
  }
}

function decide(
  values: Settings,
  jwt: JwtOptions | undefined,
  found: Credentials | undefined,
  place: { readonly store: string; readonly env: Environment },
): OpenAuth {
  const { auth, host, "allow-public": allowPublic } = values;
  const isPublic = host !== "localhost" && !isLoopback(host);
  const create = tellCreate(place.store, place.env);
  const hasTokens = found?.hasTokens === true;
  const isAsked = auth === "on" || (auth === "auto" && (hasTokens || jwt !== undefined));
  if (!isAsked) {
    if (isPublic && !allowPublic) throw refuseOpen(values, create);
    found?.close();
    return { options: undefined, warnings: isPublic ? [warnOfAll(host)] : warnOfProxy(values), close: () => undefined };
  }
  const hasGood = found?.listTokens().some((token) => isLive(token, Date.now())) === true;
  const isReachable = jwt !== undefined || hasGood;
  const lack = hasTokens ? "every token is revoked or over" : "there is no token yet";
  if (isPublic && !isReachable)
    throw new CliError(
      `host: others can reach ${host}, everybody is asked who they are, and nobody could say so: ${lack}`,
      `make a token with \`${create}\`, and start it again`,
    );
  const credentials = found ?? openCredentialsOf(place.store);
  return {
    options: { credentials, ...(jwt === undefined ? {} : { jwt }), limits: readLimits(values) },
    warnings: isReachable ? [] : [`auth: nobody can come in yet, ${lack}; make one with \`${create}\``],
    close: () => credentials.close(),
  };
}

function refuseOpen({ auth, host }: Settings, create: string): CliError {
  const why = auth === "off" ? "`auth` is off" : "there is no token yet";
  return new CliError(
    `host: others can reach ${host}, and whoever does could use these agents and their tools: ${why}`,
    `make a token with \`${auth === "off" ? `${create}\` and leave \`auth\` out` : `${create}\``}, and start it again; or add \`--allow-public\` if everybody is meant`,
  );
}

function warnOfAll(host: string): string {
  return `auth: nobody is asked who they are: whoever reaches ${host} can use these agents and their tools`;
}

/** A name for others, or a proxy, is no other address: but whoever sets it expects others. */
function warnOfProxy({ hosts, "trusted-proxies": proxies, auth }: Settings): readonly string[] {
  if (auth === "off" || (hosts.length === 0 && proxies.length === 0)) return [];
  const name = hosts.length === 0 ? "trusted-proxies" : "hosts";
  return [
    `auth: nobody is asked who they are, though \`${name}\` means others; \`--auth on\` asks, \`--auth off\` is silent`,
  ];
}

/** What to type here: from a checkout, and for a store that the environment does not name. */
function tellCreate(store: string, env: Environment): string {
  const loom = env["npm_lifecycle_event"] === "start" ? "npm run --silent loom -- " : "loom ";
  const option = store === findStore(env) ? "" : ` --store ${/^[\w./-]+$/.test(store) ? store : JSON.stringify(store)}`;
  return `${loom}token create NAME${option}`;
}

function readJwt(values: Settings): JwtOptions | undefined {
  const { jwks, "jwt-issuer": issuer, "jwt-audience": audience, "jwt-scopes": scopes } = values;
  const given = { jwks, "jwt-issuer": issuer, "jwt-audience": audience };
  if (jwks === undefined && issuer === undefined && audience === undefined) {
    if (scopes.length > 0)
      throw new CliError("jwt-scopes: there are no JWT to give them to", "name their keys with `--jwks`");
    return undefined;
  }
  if (values.auth === "off") throw new CliError("auth is off, and `jwks` would not be asked", "leave one of them out");
  if (jwks !== undefined && issuer !== undefined && audience !== undefined)
    return { jwks, issuer, audience, scopes: scopes as readonly Scope[] };
  const missing = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [name] : []));
  throw new CliError(
    `${missing.join(", ")}: JWT are taken with all of jwks, jwt-issuer and jwt-audience`,
    "without them, tokens that were issued to others would be taken",
  );
}

function readLimits(values: Settings): AuthOptions["limits"] {
  return {
    requestsPerMinute: values["requests-per-minute"],
    runsPerMinute: values["runs-per-minute"],
    maxRuns: values["max-runs-per-token"],
    maxStreams: values["max-streams-per-token"],
    tokensPerDay: values["tokens-per-day"],
  };
}
