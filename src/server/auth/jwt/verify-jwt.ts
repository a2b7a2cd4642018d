/**
 * Verifies JWTs of another issuer: signature, issuer, audience and expiry. Only asymmetric algorithms are accepted:
 * with a shared secret, every service that can verify a token could also create one. `jose` is loaded with the first
 * token.
 *
 * Unavailable issuer keys are reported as `keys_unavailable`, never as `unauthorized`.
 */
import type * as JoseModule from "jose";
import type { JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from "jose";
import { MAX_OWNER_LENGTH } from "../../../log/rules.ts";
import { LoomError } from "../../../protocol/index.ts";
import { isJsonObject } from "../../../protocol/json.ts";
import type { JwtOptions } from "../access.ts";
import type { Principal } from "../principal.ts";
import { DEFAULT_SCOPE_PREFIX, DEFAULT_SCOPES, type Scope, SCOPES } from "../scopes.ts";
import { isLoopback } from "../../guard/read-proxies.ts";

/** Returns the principal of a JWT. Throws `unauthorized` or `keys_unavailable`. */
export type JwtVerifier = (jwt: string) => Promise<Principal>;

type Jose = typeof JoseModule;

const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];
/** Tolerated clock difference. */
const TOLERANCE_S = 30;
const FETCH_MS = 5000;
const MAX_KEYS_BYTES = 256 * 1024;
/** How long fetched keys are used before they are fetched again. */
const FRESH_MS = 10 * 60_000;
/** Minimum time between two fetches for an unknown key. */
const COOL_DOWN_MS = 30_000;
/** Minimum time between fetches after a failure; verifications in between fail at once. */
const RETRY_MS = 1000;
const MAX_JWT_LENGTH = 16_384;
/** Keys to try for a token that does not name its key. */
const MAX_TRIED_KEYS = 10;
const SCOPE_CLAIMS = ["scope", "scp", "scopes"] as const;

/** Throws `invalid_arguments` for options that would accept every token or none. Tests shorten `fetchMs`. */
export function createJwtVerifier(options: JwtOptions, fetchMs: number = FETCH_MS): JwtVerifier {
  assertOptions(options);
  const { issuer, audience } = options;
  const rules: JWTVerifyOptions = {
    algorithms: ALGORITHMS,
    issuer,
    audience,
    requiredClaims: ["exp", "sub"],
    clockTolerance: TOLERANCE_S,
  };
  let loaded: Promise<readonly [Jose, JWTVerifyGetKey]> | undefined;
  const load = async (): Promise<readonly [Jose, JWTVerifyGetKey]> => {
    const jose = await import("jose");
    return [jose, findKeys(jose, options.jwks, fetchMs)];
  };

  return async (jwt) => {
    if (jwt.length > MAX_JWT_LENGTH || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(jwt)) throw refuse("not a JWT");
    const [jose, keys] = await (loaded ??= load());
    return toPrincipal(await verify(jose, jwt, keys, rules), options);
  };
}

async function verify(jose: Jose, jwt: string, keys: JWTVerifyGetKey, rules: JWTVerifyOptions): Promise<JWTPayload> {
  const { errors, jwtVerify } = jose;
  try {
    return (await jwtVerify(jwt, keys, rules)).payload;
  } catch (error) {
    if (error instanceof LoomError) throw error;
    if (error instanceof errors.JWKSMultipleMatchingKeys) return tryKeys(jose, jwt, error, rules);
    throw refuse(describeFailure(error));
  }
}

/** A token without a `kid` may be signed with any of the keys. */
async function tryKeys(
  { errors, jwtVerify }: Jose,
  jwt: string,
  candidates: InstanceType<Jose["errors"]["JWKSMultipleMatchingKeys"]>,
  rules: JWTVerifyOptions,
): Promise<JWTPayload> {
  let tried = 0;
  for await (const key of candidates) {
    if (++tried > MAX_TRIED_KEYS) break;
    try {
      return (await jwtVerify(jwt, key, rules)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw refuse(describeFailure(error));
    }
  }
  throw refuse("not signed with a key of the issuer");
}

function findKeys(jose: Jose, jwks: JwtOptions["jwks"], fetchMs: number): JWTVerifyGetKey {
  if (typeof jwks !== "string") return jose.createLocalJWKSet(jwks);
  const remote = jose.createRemoteJWKSet(new URL(jwks), {
    timeoutDuration: fetchMs,
    cooldownDuration: COOL_DOWN_MS,
    cacheMaxAge: FRESH_MS,
    headers: { "user-agent": "loom" },
    [jose.customFetch]: fetchBounded,
  });
  let failedAt = Number.NEGATIVE_INFINITY;
  return async (header, token) => {
    if (performance.now() - failedAt < RETRY_MS && !remote.fresh) throw unavailable();
    try {
      return await remote(header, token);
    } catch (error) {
      const { JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported } = jose.errors;
      // These errors concern the token; all others concern the keys.
      for (const known of [JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported])
        if (error instanceof known) throw error;
      failedAt = performance.now();
      throw unavailable(error);
    }
  };
}

/** Limits the size of the response and accepts only status 200. */
async function fetchBounded(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (response.status !== 200 || response.body === null) {
    await response.body?.cancel();
    return new Response(null, { status: 502 });
  }
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array<ArrayBuffer>>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_KEYS_BYTES) throw new RangeError(`The JWKS response is larger than ${MAX_KEYS_BYTES} bytes`);
    chunks.push(chunk);
  }
  return new Response(new Blob(chunks), { status: 200 });
}

function toPrincipal(claims: JWTPayload, options: JwtOptions): Principal {
  const { sub, exp = 0 } = claims as { readonly sub?: unknown; readonly exp?: number };
  if (typeof sub !== "string" || !isName(sub)) throw refuse("`sub` is not a valid name");
  const id = `jwt:${sub}`;
  return {
    kind: "jwt",
    id,
    name: sub,
    owner: id,
    scopes: new Set(readScopes(claims, options)),
    limits: {},
    expiresAt: Math.min((exp + TOLERANCE_S) * 1000, Number.MAX_SAFE_INTEGER),
  };
}

/** One line that fits into an owner name. */
function isName(sub: string): boolean {
  if (sub === "" || sub.length + "jwt:".length > MAX_OWNER_LENGTH || !sub.isWellFormed()) return false;
  return !/[\p{Cc}\u2028\u2029]/u.test(sub);
}

/** A token that names only unknown or excessive Loom scopes gets none, not the default scopes. */
function readScopes(
  claims: JWTPayload,
  { scopes = DEFAULT_SCOPES, defaultScopes = [], scopePrefix = DEFAULT_SCOPE_PREFIX }: JwtOptions,
): readonly Scope[] {
  const words = SCOPE_CLAIMS.flatMap((name) => {
    const claim = claims[name];
    return typeof claim === "string" ? claim.split(/\s+/) : Array.isArray(claim) ? (claim as readonly unknown[]) : [];
  });
  const named = SCOPES.filter((scope) => words.includes(scopePrefix + scope));
  const hasLoomScope =
    scopePrefix === ""
      ? named.length > 0
      : words.some((word) => typeof word === "string" && word.startsWith(scopePrefix));
  return hasLoomScope ? named.filter((scope) => scopes.includes(scope)) : defaultScopes;
}

function assertOptions(options: JwtOptions): void {
  const { jwks, issuer, audience, scopes = DEFAULT_SCOPES, defaultScopes = [], scopePrefix = "" } = options;
  for (const [name, value] of Object.entries({ issuer, audience }))
    if (typeof value !== "string" || value === "")
      throw new LoomError(
        "invalid_arguments",
        `\`jwt.${name}\` is missing; without it, tokens for other services would be accepted`,
      );
  const unknown = scopes.find((scope) => !SCOPES.includes(scope));
  if (unknown !== undefined)
    throw new LoomError(
      "invalid_arguments",
      `\`jwt.scopes\` contains the unknown scope "${unknown.slice(0, 60)}"; use ${SCOPES.join(", ")}`,
    );
  const excess = defaultScopes.find((scope) => !scopes.includes(scope));
  if (excess !== undefined)
    throw new LoomError(
      "invalid_arguments",
      `\`jwt.defaultScopes\` contains "${excess.slice(0, 60)}", which \`jwt.scopes\` does not allow`,
    );
  if (typeof scopePrefix !== "string" || /\s/.test(scopePrefix))
    throw new LoomError("invalid_arguments", "`jwt.scopePrefix` must be a text without spaces");
  const isValid = typeof jwks === "string" ? isJwksUrl(jwks) : isJsonObject(jwks) && Array.isArray(jwks["keys"]);
  if (!isValid)
    throw new LoomError(
      "invalid_arguments",
      "`jwt.jwks` must be an https URL, an http URL on localhost, or a JSON Web Key Set",
    );
}

const REASONS: { readonly [code: string]: string } = {
  ERR_JWT_EXPIRED: "expired",
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: "not signed with a key of the issuer",
  ERR_JWKS_NO_MATCHING_KEY: "not signed with a key of the issuer",
  ERR_JOSE_ALG_NOT_ALLOWED: "signature algorithm not accepted",
};

function describeFailure(error: unknown): string {
  const { code = "", claim } = error as { readonly code?: string; readonly claim?: unknown };
  if (code === "ERR_JWT_CLAIM_VALIDATION_FAILED" && typeof claim === "string")
    return `claim \`${claim}\` is missing or does not match`;
  return REASONS[code] ?? "malformed";
}

/** Does not include jose's own message, which may contain parts of the token. */
function refuse(reason: string): LoomError {
  return new LoomError("unauthorized", `Invalid JWT: ${reason}`);
}

function unavailable(cause?: unknown): LoomError {
  return new LoomError(
    "keys_unavailable",
    "Cannot verify the JWT because the keys of its issuer are unavailable; try again later",
    {},
    { cause },
  );
}

/** Whether keys may be fetched from a URL: only https, or http on localhost, because altered keys could forge any token. */
export function isJwksUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== "" || url.password !== "") return false;
  const host = url.hostname.replaceAll(/^\[|\]$/g, "");
  return url.protocol === "https:" || (url.protocol === "http:" && (host === "localhost" || isLoopback(host)));
}
