import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSameDigest, type Key, makeKey, parseKey } from "./credentials.ts";

const KINDS: readonly Key["kind"][] = ["token", "share", "cookie", "ticket"];

describe("makeKey", () => {
  it.each(KINDS)("creates %s secrets that are unique and can be parsed", (kind) => {
    const keys = Array.from({ length: 200 }, () => makeKey(kind));
    for (const key of keys) {
      const { secret, ...rest } = key;
      expect(parseKey(secret)).toEqual(rest);
      expect(secret).toMatch(/^loom_(?:tok|shr|ses|tkt)_[a-z0-9]{12}_[\w-]{43}$/);
      expect(Buffer.from(secret.slice(22), "base64url")).toHaveLength(32);
    }
    expect(new Set(keys.map(({ id }) => id)).size).toBe(200);
    expect(new Set(keys.map(({ secret }) => secret.slice(22))).size).toBe(200);
  });
});

describe("parseKey", () => {
  const { secret } = makeKey("token");

  it.each([
    "",
    "loom_tok_",
    secret.slice(0, -1),
    `${secret}A`,
    ` ${secret}`,
    `${secret}\n`,
    secret.toUpperCase(),
    secret.replace("_tok_", "_adm_"),
    secret.replace("_tok_", "__proto___"),
    secret.replace(/.$/, "="),
    secret.replace(/.$/, "é"),
    `Bearer ${secret}`,
  ])("rejects %j", (text) => expect(parseKey(text)).toBeUndefined());

  it("rejects random text", () => {
    fc.assert(fc.property(fc.string({ maxLength: 100 }), (text) => parseKey(text) === undefined));
  });

  it("gives another digest for any changed character", () => {
    const digest = parseKey(secret)?.digest ?? new Uint8Array();
    fc.assert(
      fc.property(
        fc.nat({ max: secret.length - 1 }),
        fc.constantFrom("a", "z", "A", "Z", "0", "9", "-", "_"),
        (at, letter) => {
          const changed = secret.slice(0, at) + letter + secret.slice(at + 1);
          const other = parseKey(changed);
          return other === undefined || isSameDigest(other.digest, digest) === (changed === secret);
        },
      ),
    );
    // Base64 decoders ignore bits of the last character; the digest must not.
    const last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".split("");
    const same = last.filter((letter) =>
      isSameDigest(parseKey(secret.slice(0, -1) + letter)?.digest ?? digest, digest),
    );
    expect(same).toEqual([secret.at(-1)]);
  });

  it("gives another digest for another kind", () => {
    const digests = ["tok", "shr", "ses", "tkt"].map((prefix) => parseKey(secret.replace("tok", prefix))?.digest);
    expect(new Set(digests.map((digest) => Buffer.from(digest ?? []).toString("hex"))).size).toBe(4);
  });
});

it("treats digests of different lengths as different", () => {
  expect(isSameDigest(new Uint8Array(32), new Uint8Array(31))).toBe(false);
  expect(isSameDigest(new Uint8Array(32), new Uint8Array(32))).toBe(true);
});
