// A JWT issuer: keys, valid tokens, and forged tokens.
import { createHmac } from "node:crypto";
import {
  type CryptoKey,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  type JWK,
  type JWTPayload,
  SignJWT,
  UnsecuredJWT,
} from "jose";

export const ISSUER = "https://id.example.com/";
export const AUDIENCE = "loom";

export interface KeyPair {
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  readonly jwk: JWK;
}

export async function makeKeyPair(kid: string, alg = "ES256"): Promise<KeyPair> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}

export const secondsFromNow = (more: number): number => Math.floor(Date.now() / 1000) + more;

const usual = (): JWTPayload => ({
  iss: ISSUER,
  aud: AUDIENCE,
  sub: "alice",
  exp: secondsFromNow(600),
  scope: "loom:read loom:run",
});

/** Signs a JWT. A claim that is undefined is omitted. */
export function signJwt(
  by: KeyPair,
  claims: { readonly [claim: string]: unknown } = {},
  header: object = {},
): Promise<string> {
  const all: JWTPayload = { ...usual(), ...claims };
  return new SignJWT(all)
    .setProtectedHeader({ alg: "ES256", kid: String(by.jwk.kid), ...header })
    .sign(by.privateKey, { crit: { x: true } });
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Signs a JWT with a shared secret. */
export function signHs256(secret: string | Uint8Array): string {
  const head = `${encode({ alg: "HS256", kid: "one" })}.${encode(usual())}`;
  return `${head}.${createHmac("sha256", secret).update(head).digest("base64url")}`;
}

/**
 * Forged tokens by description. `own` is a key of the issuer, `other` is an attacker's key with the same ID, and `url`
 * is where the attacker would publish keys.
 */
export function listForgeries(
  own: KeyPair,
  other: KeyPair,
  url: string,
): readonly (readonly [string, Promise<string>])[] {
  const sign = (claims: object): Promise<string> => signJwt(own, { ...claims });
  const take = async (change: (head: string, claims: string, signature: string) => string): Promise<string> => {
    const [head = "", claims = "", signature = ""] = (await signJwt(own)).split(".");
    return change(head, claims, signature);
  };
  const forgeries: { readonly [what: string]: string | Promise<string> } = {
    "not a JWT": "x",
    "without a signature": take((head, claims) => `${head}.${claims}.`),
    "five parts": "a.b.c.d.e",
    "too long": `${"a".repeat(17_000)}.b.c`,
    "invalid JSON": "YQ.YQ.YQ",
    "alg none": new UnsecuredJWT(usual()).encode(),
    "alg none with a signature": take((_, claims, signature) => `${encode({ alg: "none" })}.${claims}.${signature}`),
    "HS256 with the public key as its secret": exportSPKI(own.publicKey).then(signHs256),
    "HS256 with the JWK as its secret": signHs256(JSON.stringify(own.jwk)),
    "a key in its header": signJwt(other, {}, { jwk: other.jwk, kid: "other" }),
    "a key URL in its header": signJwt(other, {}, { jku: url, x5u: url, kid: "other" }),
    "an attacker's key with a known key id": signJwt(other),
    "an unknown key id": signJwt(own, {}, { kid: "three" }),
    "a key id that is a path": signJwt(own, {}, { kid: "../../one" }),
    "changed claims": take((head, _, signature) => `${head}.${encode({ ...usual(), sub: "bob" })}.${signature}`),
    "an unknown critical header": signJwt(own, {}, { crit: ["x"], x: 1 }),
    "another issuer": sign({ iss: "https://evil.example.com/" }),
    "the issuer without its trailing slash": sign({ iss: ISSUER.slice(0, -1) }),
    "no issuer": sign({ iss: undefined }),
    "another audience": sign({ aud: `${AUDIENCE}x` }),
    "no audience": sign({ aud: undefined }),
    expired: sign({ exp: secondsFromNow(-31) }),
    "without an expiry": sign({ exp: undefined }),
    "an expiry that is a string": sign({ exp: "9999999999" }),
    "not valid yet": sign({ nbf: secondsFromNow(60) }),
    "no sub": sign({ sub: undefined }),
    "an empty sub": sign({ sub: "" }),
    "a sub with a line break": sign({ sub: "a\nb" }),
    "a sub that is a number": sign({ sub: 5 }),
    "a sub that is too long": sign({ sub: "x".repeat(300) }),
  };
  return Object.entries(forgeries).map(([what, jwt]) => [what, Promise.resolve(jwt)]);
}
