/**
 * Secrets of the form `loom_tok_<id>_<secret>`. The prefix lets secret scanners find leaked ones, the ID is public, and
 * the rest is 32 random bytes. Only a digest of the whole text is stored, so a secret is not valid under another ID or
 * kind. The secret is random, not chosen by a person, so a slow hash is not needed.
 */
import { createHash, randomBytes, randomInt, timingSafeEqual } from "node:crypto";

const PREFIXES = { token: "tok", share: "shr", cookie: "ses", ticket: "tkt" } as const;
export type KeyKind = keyof typeof PREFIXES;

const KINDS = new Map(Object.entries(PREFIXES).map(([kind, prefix]) => [prefix as string, kind as KeyKind]));
const ID_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789";
const ID_LENGTH = 12;
const SECRET_BYTES = 32;
const FORM = /^loom_(?<prefix>tok|shr|ses|tkt)_(?<id>[a-z0-9]{12})_[\w-]{43}$/;

export interface Key {
  readonly kind: KeyKind;
  readonly id: string;
  /** SHA-256 of the secret. */
  readonly digest: Uint8Array;
}

export interface NewKey extends Key {
  /** The whole text, including prefix and ID. */
  readonly secret: string;
}

export function makeKey(kind: KeyKind): NewKey {
  let id = "";
  while (id.length < ID_LENGTH) id += ID_LETTERS[randomInt(ID_LETTERS.length)] ?? "";
  const secret = `loom_${PREFIXES[kind]}_${id}_${randomBytes(SECRET_BYTES).toString("base64url")}`;
  return { kind, id, digest: digestOf(secret), secret };
}

/** Undefined if the text does not have the form of a secret. */
export function parseKey(text: string): Key | undefined {
  const { prefix = "", id = "" } = FORM.exec(text)?.groups ?? {};
  const kind = KINDS.get(prefix);
  return kind === undefined ? undefined : { kind, id, digest: digestOf(text) };
}

/** Compares in constant time. */
export function isSameDigest(one: Uint8Array, other: Uint8Array): boolean {
  return one.byteLength === other.byteLength && timingSafeEqual(one, other);
}

function digestOf(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}
