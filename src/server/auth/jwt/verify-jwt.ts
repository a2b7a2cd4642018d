/**
 * Tokens that somebody else issues: who they say is asking, once their signature, their issuer and whom they are meant for
 * are proven with the issuer's keys. Only signatures of key pairs count: with a shared secret whoever can check a token
 * could make one. `jose` is loaded when the first token comes.
 *
 * Keys that cannot be had say nothing of a token: that is `keys_unavailable`, never `unauthorized`.
 */
import type * as JoseModule from "jose";
import type { JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from "jose";
import { MAX_OWNER_LENGTH } from "../../../log/index.ts";
import { isJsonObject, LoomError } from "../../../protocol/index.ts";
import type { JwtOptions } from "../auth-options.ts";
import { isKeysAddress } from "./is-keys-address.ts";
import type { Principal } from "../principal.ts";
import { type Scope, SCOPES } from "../scopes.ts";

/** Throws `unauthorized`, or `keys_unavailable`. */
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
/** Clocks differ. */
const TOLERANCE_S = 30;
const FETCH_MS = 5000;
const MAX_KEYS_BYTES = 256 * 1024;
/** How long keys are used before they are asked for again. */
const FRESH_MS = 10 * 60_000;
/** A key that is not known is looked for no sooner than this after the last time. */
const COOL_DOWN_MS = 30_000;
/** The same where they could not be had at all: whoever comes meanwhile is told so at once. */
const RETRY_MS = 1000;
const MAX_JWT_LENGTH = 16_384;
/** Of one that does not say which key it is signed with, so many are tried. */
const MAX_TRIED_KEYS = 10;
const PREFIX = "loom:";
const SCOPE_CLAIMS = ["scope", "scp", "scopes"] as const;

/** For tests of time. */
export interface JwtVerifierParts {
  readonly coolDownMs?: number | undefined;
  readonly retryMs?: number | undefined;
  readonly fetchMs?: number | undefined;
}

/** Throws `invalid_arguments` for options that let anybody in, or nobody. */
export function createJwtVerifier(options: JwtOptions, parts: JwtVerifierParts = {}): JwtVerifier {
  checkOptions(options);
  const { issuer, audience, scopes = [] } = options;
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
    return [jose, findKeys(jose, options.jwks, parts)];
  };

  return async (jwt) => {
    if (jwt.length > MAX_JWT_LENGTH || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(jwt)) throw refuse("it is no JWT");
    const [jose, keys] = await (loaded ??= load());
    return toPrincipal(await verify(jose, jwt, keys, rules), scopes);
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

/** One that names no key may be signed with any of them. */
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
  throw refuse("it is signed with no key of its issuer");
}

function findKeys(jose: Jose, jwks: JwtOptions["jwks"], parts: JwtVerifierParts): JWTVerifyGetKey {
  if (typeof jwks !== "string") return jose.createLocalJWKSet(jwks);
  const { coolDownMs = COOL_DOWN_MS, retryMs = RETRY_MS, fetchMs = FETCH_MS } = parts;
  const remote = jose.createRemoteJWKSet(new URL(jwks), {
    timeoutDuration: fetchMs,
    cooldownDuration: coolDownMs,
    cacheMaxAge: FRESH_MS,
    headers: { "user-agent": "loom" },
    [jose.customFetch]: fetchBounded,
  });
  let failedAt = Number.NEGATIVE_INFINITY;
  return async (header, token) => {
    if (performance.now() - failedAt < retryMs && !remote.fresh) throw unavailable();
    try {
      return await remote(header, token);
    } catch (error) {
      const { JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported } = jose.errors;
      // These are about the token; all others about the keys.
      for (const known of [JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported])
        if (error instanceof known) throw error;
      failedAt = performance.now();
      throw unavailable(error);
    }
  };
}

/** No more than keys can be, and from where they were said to be. */
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
    if (bytes > MAX_KEYS_BYTES) throw new RangeError(`the keys have more than ${MAX_KEYS_BYTES} bytes`);
    chunks.push(chunk);
  }
  return new Response(new Blob(chunks), { status: 200 });
}

function toPrincipal(claims: JWTPayload, fallback: readonly Scope[]): Principal {
  const { sub, exp = 0 } = claims as { readonly sub?: unknown; readonly exp?: number };
  if (typeof sub !== "string" || !isName(sub)) throw refuse("its `sub` is no name");
  const id = `jwt:${sub}`;
  return {
    kind: "jwt",
    id,
    name: sub,
    owner: id,
    scopes: new Set(readScopes(claims) ?? fallback),
    limits: {},
    expiresAt: Math.min((exp + TOLERANCE_S) * 1000, Number.MAX_SAFE_INTEGER),
  };
}

/** One line that an owner can be named with. */
function isName(sub: string): boolean {
  if (sub === "" || sub.length + "jwt:".length > MAX_OWNER_LENGTH || !sub.isWellFormed()) return false;
  return !/[\p{Cc}\u2028\u2029]/u.test(sub);
}

/** Undefined where it names none that could be ours. */
function readScopes(claims: JWTPayload): readonly Scope[] | undefined {
  const words = SCOPE_CLAIMS.flatMap((name) => {
    const claim = claims[name];
    return typeof claim === "string" ? claim.split(/\s+/) : Array.isArray(claim) ? (claim as readonly unknown[]) : [];
  });
  const named = SCOPES.filter((scope) => words.includes(scope) || words.includes(PREFIX + scope));
  const isMeant = words.some((word) => typeof word === "string" && word.startsWith(PREFIX));
  return named.length > 0 || isMeant ? named : undefined;
}

function checkOptions({ jwks, issuer, audience, scopes = [] }: JwtOptions): void {
  for (const [name, value] of Object.entries({ issuer, audience }))
    if (typeof value !== "string" || value === "")
      throw new LoomError("invalid_arguments", `\`jwt.${name}\` is missing: tokens for others would be taken`);
  const unknown = scopes.find((scope) => !SCOPES.includes(scope));
  if (unknown !== undefined)
    throw new LoomError("invalid_arguments", `\`jwt.scopes\` has "${unknown.slice(0, 60)}", which is no scope`);
  const isRight = typeof jwks === "string" ? isKeysAddress(jwks) : isJsonObject(jwks) && Array.isArray(jwks["keys"]);
  if (!isRight)
    throw new LoomError(
      "invalid_arguments",
      "`jwt.jwks` must be an https address, an http address of this machine, or a set of keys",
    );
}

const REASONS: { readonly [code: string]: string } = {
  ERR_JWT_EXPIRED: "it is over",
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: "it is signed with no key of its issuer",
  ERR_JWKS_NO_MATCHING_KEY: "it is signed with no key of its issuer",
  ERR_JOSE_ALG_NOT_ALLOWED: "it is signed in a way that is not taken",
};

function describeFailure(error: unknown): string {
  const { code = "", claim } = error as { readonly code?: string; readonly claim?: unknown };
  if (code === "ERR_JWT_CLAIM_VALIDATION_FAILED" && typeof claim === "string") return `its \`${claim}\` is not right`;
  return REASONS[code] ?? "it cannot be read";
}

/** What jose says may have parts of the token in it. */
function refuse(reason: string): LoomError {
  return new LoomError("unauthorized", `the JWT is no good: ${reason}`);
}

function unavailable(cause?: unknown): LoomError {
  return new LoomError(
    "keys_unavailable",
    "whether the JWT is good cannot be told now: the keys of its issuer cannot be had. Try again later",
    {},
    { cause },
  );
}
