// Somebody who issues JWT: keys, tokens that are good, and all the ways to forge one.
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

export interface Pair {
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  readonly jwk: JWK;
}

export async function makePair(kid: string, alg = "ES256"): Promise<Pair> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}

export const secondsFromNow = (more: number): number => Math.floor(Date.now() / 1000) + more;

const usual = (): JWTPayload => ({
  iss: ISSUER,
  aud: AUDIENCE,
  sub: "alice",
  exp: secondsFromNow(600),
  scope: "read run",
});

/** A claim that is undefined is left out. */
export function signJwt(
  by: Pair,
  claims: { readonly [claim: string]: unknown } = {},
  header: object = {},
): Promise<string> {
  const all: JWTPayload = { ...usual(), ...claims };
  return new SignJWT(all)
    .setProtectedHeader({ alg: "ES256", kid: String(by.jwk.kid), ...header })
    .sign(by.privateKey, { crit: { x: true } });
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** With a shared secret. */
export function signHs256(secret: string | Uint8Array): string {
  const head = `${encode({ alg: "HS256", kid: "one" })}.${encode(usual())}`;
  return `${head}.${createHmac("sha256", secret).update(head).digest("base64url")}`;
}

/** `own` is a key of the issuer, `other` one of somebody else under the same name; `url` is where they would put theirs. */
export function listForgeries(own: Pair, other: Pair, url: string): readonly (readonly [string, Promise<string>])[] {
  const sign = (claims: object): Promise<string> => signJwt(own, { ...claims });
  const take = async (change: (head: string, claims: string, signature: string) => string): Promise<string> => {
    const [head = "", claims = "", signature = ""] = (await signJwt(own)).split(".");
    return change(head, claims, signature);
  };
  const forgeries: { readonly [what: string]: string | Promise<string> } = {
    "no JWT": "x",
    "one without a signature": take((head, claims) => `${head}.${claims}.`),
    "one of five parts": "a.b.c.d.e",
    "one that is too long": `${"a".repeat(17_000)}.b.c`,
    "one that is no JSON": "YQ.YQ.YQ",
    "alg none": new UnsecuredJWT(usual()).encode(),
    "alg none with a signature": take((_, claims, signature) => `${encode({ alg: "none" })}.${claims}.${signature}`),
    "HS256 with the public key as its secret": exportSPKI(own.publicKey).then(signHs256),
    "HS256 with the key itself as its secret": signHs256(JSON.stringify(own.jwk)),
    "a key in its header": signJwt(other, {}, { jwk: other.jwk, kid: "other" }),
    "an address of keys in its header": signJwt(other, {}, { jku: url, x5u: url, kid: "other" }),
    "the key of somebody else under a name that is known": signJwt(other),
    "a name of a key that is not known": signJwt(own, {}, { kid: "three" }),
    "a name of a key that is a path": signJwt(own, {}, { kid: "../../one" }),
    "claims that were changed": take(
      (head, _, signature) => `${head}.${encode({ ...usual(), sub: "bob" })}.${signature}`,
    ),
    "what is critical and not known": signJwt(own, {}, { crit: ["x"], x: 1 }),
    "another issuer": sign({ iss: "https://evil.example.com/" }),
    "the issuer without its slash": sign({ iss: ISSUER.slice(0, -1) }),
    "no issuer": sign({ iss: undefined }),
    "another audience": sign({ aud: `${AUDIENCE}x` }),
    "no audience": sign({ aud: undefined }),
    "one that is over": sign({ exp: secondsFromNow(-31) }),
    "one without an end": sign({ exp: undefined }),
    "an end that is no number": sign({ exp: "9999999999" }),
    "one that has not begun": sign({ nbf: secondsFromNow(60) }),
    "no sub": sign({ sub: undefined }),
    "an empty sub": sign({ sub: "" }),
    "a sub of two lines": sign({ sub: "a\nb" }),
    "a sub that is no text": sign({ sub: 5 }),
    "a sub that is too long": sign({ sub: "x".repeat(300) }),
  };
  return Object.entries(forgeries).map(([what, jwt]) => [what, Promise.resolve(jwt)]);
}
