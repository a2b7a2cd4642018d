/**
 * What somebody shows to come in: `loom_tok_<id>_<secret>`. The first part says what it is, so that scanners find it where
 * it should not be; the id says which, and is no secret; the rest is 32 random bytes. It is told once and kept by nobody
 * here: only its digest is, which is of the whole text, so that a secret is worth nothing under another id or as another
 * kind. Chance makes it, not people: no slow hash is needed.
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
  /** What it is recognised by. */
  readonly digest: Uint8Array;
}

export interface NewKey extends Key {
  /** The whole of it, as it is shown. */
  readonly secret: string;
}

export function makeKey(kind: KeyKind): NewKey {
  let id = "";
  while (id.length < ID_LENGTH) id += ID_LETTERS[randomInt(ID_LETTERS.length)] ?? "";
  const secret = `loom_${PREFIXES[kind]}_${id}_${randomBytes(SECRET_BYTES).toString("base64url")}`;
  return { kind, id, digest: digestOf(secret), secret };
}

/** Undefined for what cannot be one. */
export function parseKey(text: string): Key | undefined {
  const { prefix = "", id = "" } = FORM.exec(text)?.groups ?? {};
  const kind = KINDS.get(prefix);
  return kind === undefined ? undefined : { kind, id, digest: digestOf(text) };
}

/** In the same time, whatever they have in common. */
export function isSameDigest(one: Uint8Array, other: Uint8Array): boolean {
  return one.byteLength === other.byteLength && timingSafeEqual(one, other);
}

function digestOf(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}
