import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SAMPLES } from "../../../test/sampling.ts";
import { createRedactor } from "./create-redactor.ts";

const redactor = createRedactor();
const clean = (text: string): string => redactor.cleanText(text, 1000);

describe("a text", () => {
  it.each([
    ["Incorrect API key provided: sk-proj-abcdef123456", "Incorrect API key provided: [redacted]"],
    ["Authorization: Bearer abcdef.ghijkl", "Authorization: Bearer [redacted]"],
    ["authorization=Basic dXNlcjpwYXNz", "authorization=Basic [redacted]"],
    ["AKIAIOSFODNN7EXAMPLE is an id", "[redacted] is an id"],
    ["aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPx", "aws_secret_access_key = [redacted]"],
    ["see eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig_x now", "see [redacted] now"],
    ["password=hunter2&next=1", "password=[redacted]&next=1"],
    ['{"password":"correct horse \\"battery\\" staple","a":1}', '{"password":[redacted],"a":1}'],
    ['{\\"token\\":\\"abc def\\"}', '{\\"token\\":[redacted]'],
    ["postgres://ann:s3cret@db/x", "postgres://[redacted]@db/x"],
    ["https://x.example/?api_key=0123456789abcdef", "https://x.example/?api_key=[redacted]"],
    ["key=0123456789abcdef0123456789abcdef", "key=[redacted]"],
    ["-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----.", "[redacted]."],
    ["ghp_0123456789abcdefABCDEF", "[redacted]"],
    ["xoxb-123456789-abc", "[redacted]"],
    ["密码：hunter2，好", "密码：[redacted]，好"],
    ["Set-Cookie: sid=abcdef; Path=/", "Set-Cookie: [redacted]; Path=/"],
  ])("loses what is secret in it: %s", (text, safe) => {
    expect(clean(text)).toBe(safe);
  });

  it.each([
    "The task is done: 3 tokens used.",
    "unknown key: colour",
    "Unexpected token } in JSON at position 3",
    "run-6f1c2a30-0d57-4b57-9d0a-2f6f0f1b8a11",
    "the model says: take the keys, and the risk",
    "https://example.com/path?q=loom",
  ])("keeps what is not: %s", (text) => {
    expect(clean(text)).toBe(text);
  });

  it("is cut so that no half of a key stays", () => {
    const key = `sk-${"a".repeat(40)}`;
    for (let before = 4080; before < 4130; before++) {
      const cut = redactor.cleanText(`${"x ".repeat(before / 2)}${key}${" y".repeat(9000)}`, 20);
      expect(cut).not.toContain("sk-");
    }
    // What is looked at beyond the cut is full of keys, whose removal makes room for its end.
    const long = `sk-${"a".repeat(100)} `;
    for (let before = 0; before < long.length; before++)
      expect(redactor.cleanText(`${"x".repeat(before)} ${long.repeat(50)}`, 500)).not.toContain("sk-");
  });

  it("takes linear time, whatever it is", () => {
    for (const piece of ["a", "password", "token=", "eyJ", "-----BEGIN PRIVATE KEY-----", '"', "://", "key:\\", " "])
      expect(redactor.cleanText(piece.repeat(50_000), 1_000_000).length).toBeGreaterThan(0);
  });
});

describe("a value", () => {
  it("loses what stands under a secret's name, at any depth", () => {
    const value = {
      user: "ann",
      headers: { Authorization: "x", "X-Api-Key": ["y"], accept: "text" },
      list: [{ clientSecret: { deep: "z" }, max_tokens: 5, refresh_token: "q" }],
    };
    expect(redactor.cleanValue(value, { maxCharacters: 1000 })).toEqual({
      user: "ann",
      headers: { Authorization: "[redacted]", "X-Api-Key": "[redacted]", accept: "text" },
      list: [{ clientSecret: "[redacted]", max_tokens: 5, refresh_token: "[redacted]" }],
    });
  });

  it("has limits of depth, items and characters", () => {
    const limits = { maxCharacters: 10, maxDepth: 2, maxItems: 3 };
    expect(redactor.cleanValue({ a: { b: { c: 1 } } }, limits)).toEqual({ a: { b: "…" } });
    expect(redactor.cleanValue([1, 2, 3, 4, 5], limits)).toEqual([1, 2, 3, "…"]);
    expect(redactor.cleanValue(["123456789", "123", "1"], limits)).toEqual(["123456789", "1…", "…"]);
    const map = JSON.parse('{"__proto__":{"a":1}}') as object;
    expect(JSON.stringify(redactor.cleanValue(map, limits))).toBe('{"__proto__":{"a":1}}');
  });

  it("loses what the program calls secret", () => {
    const own = createRedactor({ keys: ["staff-number"], patterns: [/\bEMP\d+/] });
    expect(own.cleanValue({ staffNumber: 7, note: "EMP12 and EMP13" }, { maxCharacters: 100 })).toEqual({
      staffNumber: "[redacted]",
      note: "[redacted] and [redacted]",
    });
  });
});

describe("secrets that were planted", () => {
  const word = fc.stringMatching(/^[a-zA-Z0-9]{24,40}$/);
  const filler = fc.constantFrom("see", "你好", "{", '"', ",", "\n", "the answer", "=", ": ", "&", "'");
  const form = fc.constantFrom(
    (secret: string) => ({ text: `sk-${secret}` }),
    (secret: string) => ({ text: `Bearer ${secret}` }),
    (secret: string) => ({ text: `password=${secret}` }),
    (secret: string) => ({ text: `{"api_key":"${secret}"}` }),
    (secret: string) => ({ text: `token: '${secret} ${secret}'` }),
    (secret: string) => ({ text: `https://ann:${secret}@host/` }),
    (secret: string) => ({ text: `eyJ${secret}.${secret}.${secret}` }),
    (secret: string) => ({ text: `ghp_${secret}` }),
    (secret: string) => ({ key: "password", text: secret }),
    (secret: string) => ({ key: "X-Auth-Token", text: secret }),
    (secret: string) => ({ key: "db_passphrase", text: secret }),
    (secret: string) => ({ key: "Cookie", text: `a=${secret}` }),
  );

  it("are not in what comes out", () => {
    fc.assert(
      fc.property(
        word,
        form,
        fc.array(filler),
        fc.array(filler),
        fc.nat({ max: 6 }),
        fc.nat({ max: 300 }),
        (secret, make, before, after, depth, maxCharacters) => {
          const { key, text } = make(secret) as { readonly key?: string; readonly text: string };
          const around = `${before.join(" ")} ${text} ${after.join(" ")}`;
          let value: unknown = key === undefined ? around : { note: before.join(""), [key]: text };
          for (let level = 0; level < depth; level++) value = level % 2 === 0 ? { inner: value } : [value];
          const out = JSON.stringify(redactor.cleanValue(value, { maxCharacters }));
          // Not even half of it.
          expect(out).not.toContain(secret.slice(0, 12));
          expect(out).not.toContain(secret.slice(-12));
        },
      ),
      { numRuns: SAMPLES.sessions * 4 },
    );
  });
});
