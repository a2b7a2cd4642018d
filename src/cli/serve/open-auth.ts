/**
 * Decides whether a server requires authentication. With `auth: auto` it does once the store has had a token or a JWT
 * issuer is configured; a store that ever had a token is never served without authentication by default. A server on a
 * public address does not start without a usable credential, unless `allow-links` or `allow-public` is set.
 */
import type { AuthOptions, JwtOptions } from "../../server/auth/access.ts";
import type { Credentials } from "../../server/auth/credentials/credentials.ts";
import type { LinkStore } from "../../server/auth/open-access.ts";
import { DEFAULT_SCOPES, type Scope } from "../../server/auth/scopes.ts";
import { isLoopback } from "../../server/guard/read-proxies.ts";
import { CliError } from "../command.ts";
import { type Environment, findStore, hideCredentials } from "../find-store.ts";
import type { StoreParts } from "../store-parts.ts";
import { isLive } from "../token/format-token.ts";
import { NONE } from "./setting.ts";
import type { Settings } from "./settings.ts";

export interface ServerAuth {
  /** Undefined if authentication is off. */
  readonly options: AuthOptions | undefined;
  /** Where share links are stored if authentication is off. */
  readonly links?: LinkStore;
  readonly warnings: readonly string[];
}

/** Throws a CliError if a public server would be open to everyone, or if no credential could be used. */
export async function openAuth(
  values: Settings,
  store: StoreParts,
  env: Environment = process.env,
): Promise<ServerAuth> {
  const jwt = readJwt(values);
  const { auth, host, "allow-public": allowPublic, "allow-links": allowLinks } = values;
  const found = auth === "off" ? undefined : await store.findCredentials();
  const isPublic = host !== "localhost" && !isLoopback(host);
  const create = formatCreateCommand(store.address, env);
  const hasTokens = (await found?.hasTokens()) === true;
  const isRequired = auth === "on" || (auth === "auto" && (hasTokens || jwt !== undefined));
  if (!isRequired) {
    if (isPublic && !allowPublic && !allowLinks) throw createPublicAccessError(values, create);
    const warnings = isPublic ? [describePublicAccess(values)] : listProxyWarnings(values);
    return { options: undefined, links: createLinkStore(store, found), warnings };
  }
  const tokens = (await found?.listTokens()) ?? [];
  const hasLiveToken = tokens.some((token) => isLive(token, Date.now()));
  const canSignIn = jwt !== undefined || hasLiveToken;
  const lack = hasTokens ? "every token is revoked or expired" : "no token exists yet";
  if (isPublic && !canSignIn)
    throw new CliError(
      `host: other machines can reach ${host} and authentication is on, but ${lack}`,
      `create a token with \`${create}\`, then start the server again`,
    );
  const credentials = found ?? (await store.openCredentials());
  const rateCounters = await store.openRateCounters();
  return {
    options: { credentials, rateCounters, ...(jwt === undefined ? {} : { jwt }), limits: readLimits(values) },
    warnings: canSignIn ? [] : [`auth: no client can sign in yet because ${lack}; create a token with \`${create}\``],
  };
}

function createPublicAccessError({ auth, host }: Settings, create: string): CliError {
  const why = auth === "off" ? "authentication is off" : "no token exists yet";
  return new CliError(
    `host: other machines can reach ${host} and could use these agents and their tools: ${why}`,
    `create a token with \`${auth === "off" ? `${create}\` and remove \`auth\`` : `${create}\``}, then start the server again; or add \`--allow-links\` to let them open share links only, or \`--allow-public\` to serve everyone`,
  );
}

function describePublicAccess({ host, "allow-public": allowPublic }: Settings): string {
  if (!allowPublic)
    return `auth: authentication is off; anyone who can reach ${host} can open share links, but only this machine can do more`;
  return `auth: authentication is off; anyone who can reach ${host} can use these agents and their tools`;
}

/** Creates the store with the first link. Calls wait for each other: each of them could open the store. */
function createLinkStore(store: StoreParts, found: Credentials | undefined): LinkStore {
  let known = found;
  let last: Promise<unknown> = Promise.resolve();
  const load = <T extends Credentials | undefined>(open: () => Promise<T>): Promise<T | Credentials> => {
    const loading = last.then(async () => known ?? (await open()));
    last = loading.then(
      (credentials) => (known = credentials),
      () => undefined,
    );
    return loading;
  };
  return { find: () => load(() => store.findCredentials()), open: () => load(() => store.openCredentials()) };
}

/** `hosts` and `trusted-proxies` suggest that other machines reach this server through a proxy. */
function listProxyWarnings(values: Settings): readonly string[] {
  const { hosts, "trusted-proxies": proxies, auth, "allow-links": allowLinks } = values;
  if (auth === "off" || allowLinks || (hosts.length === 0 && proxies.length === 0)) return [];
  const name = hosts.length === 0 ? "trusted-proxies" : "hosts";
  return [
    `auth: authentication is off although \`${name}\` is set; use \`--auth on\` to require it, or \`--auth off\` to hide this warning`,
  ];
}

/** The command to type: from a checkout through npm, with `--store` if the store is not the default. */
function formatCreateCommand(store: string, env: Environment): string {
  const loom = env["npm_lifecycle_event"] === "start" ? "npm run --silent loom -- " : "loom ";
  const name = hideCredentials(store);
  const option = store === findStore(env) ? "" : ` --store ${/^[\w.:/-]+$/.test(name) ? name : JSON.stringify(name)}`;
  return `${loom}token create NAME${option}`;
}

function readJwt(values: Settings): JwtOptions | undefined {
  const { jwks, "jwt-issuer": issuer, "jwt-audience": audience } = values;
  const given = { jwks, "jwt-issuer": issuer, "jwt-audience": audience };
  if (jwks === undefined && issuer === undefined && audience === undefined) {
    const lone = (["jwt-scopes", "jwt-default-scopes", "jwt-scope-prefix"] as const).find(
      (name) => values[name] !== undefined,
    );
    if (lone !== undefined)
      throw new CliError(`${lone}: no JWT issuer is configured`, "set `--jwks`, `--jwt-issuer` and `--jwt-audience`");
    return undefined;
  }
  if (values.auth === "off") throw new CliError("jwks: authentication is off", "remove `auth` or `jwks`");
  if (jwks !== undefined && issuer !== undefined && audience !== undefined)
    return { jwks, issuer, audience, ...readJwtScopes(values) };
  const missing = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [name] : []));
  throw new CliError(
    `${missing.join(", ")} missing: JWTs need jwks, jwt-issuer and jwt-audience`,
    "without all three, tokens issued for other services would be accepted",
  );
}

function readJwtScopes(values: Settings): Pick<JwtOptions, "scopes" | "defaultScopes" | "scopePrefix"> {
  const scopes = (values["jwt-scopes"] ?? DEFAULT_SCOPES) as readonly Scope[];
  const defaultScopes = (values["jwt-default-scopes"] ?? []) as readonly Scope[];
  const excess = defaultScopes.filter((scope) => !scopes.includes(scope));
  if (excess.length > 0)
    throw new CliError(
      `jwt-default-scopes: \`jwt-scopes\` does not allow ${excess.join(", ")}`,
      `use only ${scopes.join(", ")}, or extend \`jwt-scopes\``,
    );
  const prefix = values["jwt-scope-prefix"];
  return { scopes, defaultScopes, scopePrefix: prefix === NONE ? "" : prefix };
}

function readLimits(values: Settings): AuthOptions["limits"] {
  return {
    requestsPerMinute: values["requests-per-minute"],
    runsPerMinute: values["runs-per-minute"],
    maxRuns: values["max-runs-per-token"],
    maxStreams: values["max-streams-per-token"],
    maxSearches: values["max-searches-per-token"],
    tokensPerDay: values["tokens-per-day"],
  };
}
