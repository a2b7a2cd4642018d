import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LONG, SAMPLES } from "../../../test/sampling.ts";
import { createRedactor } from "./create-redactor.ts";

const redactor = createRedactor();
const clean = (text: string): string => redactor.cleanText(text, 1000);

describe("cleanText", () => {
  it.each([
    ["Incorrect API key provided: sk-proj-abcdef123456", "Incorrect API key provided: [redacted]"],
    ["Authorization: Bearer abcdef.ghijkl", "Authorization: [redacted]"],
    ["authorization=Basic dXNlcjpwYXNz", "authorization=[redacted]"],
    ["sent Bearer abcdef.ghijkl twice", "sent Bearer [redacted] twice"],
    ["AKIAIOSFODNN7EXAMPLE is an id", "[redacted] is an id"],
    ["aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPx", "aws_secret_access_key = [redacted]"],
    ["see eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig_x now", "see [redacted] now"],
    ["password=hunter2&next=1", "password=[redacted]&next=1"],
    ['{"password":"correct horse \\"battery\\" staple","a":1}', '{"password":[redacted],"a":1}'],
    ['{\\"token\\":\\"abc def\\"}', '{\\"token\\":[redacted]}'],
    ["postgres://ann:s3cret@db/x", "postgres://[redacted]@db/x"],
    ["https://x.example/?api_key=0123456789abcdef", "https://x.example/?api_key=[redacted]"],
    ["key=0123456789abcdef0123456789abcdef", "key=[redacted]"],
    ["-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----.", "[redacted]."],
    ["ghp_0123456789abcdefABCDEF", "[redacted]"],
    ["xoxb-123456789-abc", "[redacted]"],
    ["密码：hunter2，好", "密码：[redacted]，好"],
    ["Set-Cookie: sid=abcdef; Path=/\nAccept: */*", "Set-Cookie: [redacted]\nAccept: */*"],
    ["Authorization: Token abcdef99, and more", "Authorization: [redacted]"],
    ["Cookie: a=1; sid=deadbeef", "Cookie: [redacted]"],
    ["postgres://bob:p@ssw0rd@db/x and a@b.example", "postgres://[redacted]@db/x and a@b.example"],
    ["pin=1234, otp: 987654", "pin=[redacted], otp: [redacted]"],
    ["signingKey: hunter2; bearer=hunter2", "signingKey: [redacted]; bearer=[redacted]"],
    ["the API key: hunter2 is wrong", "the API key: [redacted] is wrong"],
    ["PGPASSWORD=x dbpassword=y csrftoken=z", "PGPASSWORD=[redacted] dbpassword=[redacted] csrftoken=[redacted]"],
    ["tokens: ['abc', 'def'] and on", "tokens: [redacted] and on"],
    ['said {"pin":"1234","auth":"hunter2"} to it', 'said {"pin":[redacted],"auth":[redacted]} to it'],
    [
      '{"pin":"1234","otp":"98","auth":"h","key":"s"}',
      '{"pin":[redacted],"otp":[redacted],"auth":[redacted],"key":[redacted]}',
    ],
    ['{"password":{"value":"hunter2"},"b":1}', '{"password":[redacted],"b":1}'],
    ['{"headers":[["X-Api-Key","K"],["a","b"]]}', '{"headers":[["X-Api-Key",[redacted]],["a","b"]]}'],
    ['["authorization","Token a","accept","b"]', '["authorization",[redacted],"accept","b"]'],
    ['{"name":"password","value":"hunter2"}', '{"name":"password","value":[redacted]}'],
    ['{"tokens":["abc123"],"password":12345678}', '{"tokens":[redacted],"password":[redacted]}'],
    [
      JSON.stringify({ body: JSON.stringify({ name: "token", value: "hunter2" }) }),
      String.raw`{"body":"{\"name\":\"token\",\"value\":[redacted]}"}`,
    ],
    ["note: password=hunter2", "note: password=[redacted]"],
    ["token loom_tok_0a1b2c3d4e5f_Zm9v-YmFy_x is known", "token [redacted] is known"],
    ["loom-session-10338=loom_ses_0a1b2c3d4e5f_Zm9v; x", "loom-session-10338=[redacted]; x"],
    ["GET /v1/ws?ticket=loom_tkt_0a1b_x&after=1", "GET /v1/ws?ticket=[redacted]&after=1"],
    ["GET /v1/ws?after=1&ticket=guess HTTP/1.1", "GET /v1/ws?after=1&ticket=[redacted] HTTP/1.1"],
    ["http://h/#share=loom_shr_0a1b_x then", "http://h/#share=[redacted] then"],
    ["我的密码是hunter2。", "我的密码是[redacted]。"],
  ])("redacts secrets: %s", (text, safe) => {
    expect(clean(text)).toBe(safe);
  });

  it.each([
    "The task is done: 3 tokens used.",
    "unknown key: colour",
    "Unexpected token } in JSON at position 3",
    "run-6f1c2a30-0d57-4b57-9d0a-2f6f0f1b8a11",
    "the model says: take the keys, and the risk",
    "https://example.com/path?q=loom",
    "tokens: 5, token_count: 7, completion_tokens=12, tokenizer: cl100k, secretary: Bob",
    '{ "token_usage": {"prompt": 5}, "token": 5, "secretary": "Bob" }',
    "the secret to success: work",
    "pass: the tests; auth: none",
    "mail a@b.example: https://example.com/@ann",
  ])("keeps harmless text: %s", (text) => {
    expect(clean(text)).toBe(text);
  });

  it("leaves no part of a key at a cut", () => {
    const key = `sk-${"a".repeat(40)}`;
    for (let before = 4080; before < 4130; before++) {
      const cut = redactor.cleanText(`${"x ".repeat(before / 2)}${key}${" y".repeat(9000)}`, 20);
      expect(cut).not.toContain("sk-");
    }
    // The text beyond the cut is full of keys; redacting them makes room for its end.
    const long = `sk-${"a".repeat(100)} `;
    for (let before = 0; before < long.length; before++)
      expect(redactor.cleanText(`${"x".repeat(before)} ${long.repeat(50)}`, 500)).not.toContain("sk-");
  });

  it("cuts text without spaces anywhere, and removes the user part of a cut URL", () => {
    for (const piece of ["中文没有空格", "QUJDREVGR0hJSktM"])
      expect(redactor.cleanText(piece.repeat(2000), 300)).toBe(`${piece.repeat(2000).slice(0, 300)}…`);
    const address = `https://ann:${"p".repeat(400)}@host/`;
    for (let end = 0; end < address.length; end += 7) {
      const keys = `sk-${"a".repeat(100)},`.repeat(60);
      const text = keys.slice(0, 4096 + 600 - end) + address + "x".repeat(9000);
      expect(redactor.cleanText(text, 600)).not.toContain("ppp");
    }
  });

  it.runIf(LONG)("takes linear time for any text", () => {
    const json = ["[", '{"a":', '"{', "[[]],"];
    for (const piece of json) expect(redactor.cleanText(piece.repeat(50_000), 1_000_000).length).toBeGreaterThan(0);
    for (const piece of ["a:", "a b c:", "@", "://a@", "Cookie:", "tokens:[", `${"x".repeat(64)}=`, "'a':", "密码是"])
      expect(redactor.cleanText(piece.repeat(20_000), 1_000_000).length).toBeGreaterThan(0);
    for (const piece of ["a", "password", "token=", "eyJ", "-----BEGIN PRIVATE KEY-----", '"', "://", "key:\\", " "])
      expect(redactor.cleanText(piece.repeat(50_000), 1_000_000).length).toBeGreaterThan(0);
  });
});

describe("cleanValue", () => {
  it("redacts values with a secret name at any depth", () => {
    const value = {
      user: "ann",
      headers: { Authorization: "x", "X-Api-Key": ["y"], accept: "text" },
      list: [{ clientSecret: { deep: "z" }, max_tokens: 5, refresh_token: "q" }],
    };
    expect(redactor.cleanValue(value, 1000)).toEqual({
      user: "ann",
      headers: { Authorization: "[redacted]", "X-Api-Key": "[redacted]", accept: "text" },
      list: [{ clientSecret: "[redacted]", max_tokens: 5, refresh_token: "[redacted]" }],
    });
  });

  it("redacts values next to a secret name in lists and forms", () => {
    const value = {
      headers: [
        ["x-api-key", "K"],
        ["accept", "b"],
      ],
      rawHeaders: ["Cookie", "a=1", "Accept", "b"],
      fields: [
        { name: "password", id: 1, value: "hunter2" },
        { name: "colour", value: "red" },
      ],
    };
    const safe = {
      headers: [
        ["x-api-key", "[redacted]"],
        ["accept", "b"],
      ],
      rawHeaders: ["Cookie", "[redacted]", "Accept", "b"],
      fields: [
        { name: "password", id: 1, value: "[redacted]" },
        { name: "colour", value: "red" },
      ],
    };
    expect(redactor.cleanValue(value, 1000)).toEqual(safe);
    // The same for JSON inside a text.
    const text = redactor.cleanValue({ text: JSON.stringify(value) }, 1000);
    expect(JSON.stringify(text)).not.toMatch(/"K|a=1|hunter2/);
    expect(JSON.stringify(text)).toContain("red");
  });

  it("keeps values whose name only resembles a secret", () => {
    const value = { token_count: 5, token_usage: { prompt: 5 }, tokens: 12, tokenizer: "cl100k", secretary: "Bob" };
    expect(redactor.cleanValue(value, 1000)).toEqual(value);
  });

  it("limits depth, items and characters", () => {
    const nest = (depth: number, inner: unknown): unknown => (depth === 0 ? inner : { a: nest(depth - 1, inner) });
    expect(redactor.cleanValue(nest(9, 1), 10)).toEqual(nest(8, "…"));
    const numbers = Array.from({ length: 201 }, (_, index) => index);
    expect(redactor.cleanValue(numbers, 10)).toEqual([...numbers.slice(0, 200), "…"]);
    expect(redactor.cleanValue(["123456789", "123", "1"], 10)).toEqual(["123456789", "1…", "…"]);
    const map = JSON.parse('{"__proto__":{"a":1}}') as object;
    expect(JSON.stringify(redactor.cleanValue(map, 10))).toBe('{"__proto__":{"a":1}}');
  });

  it("redacts additional names and patterns", () => {
    const own = createRedactor({ keys: ["staff-number", "工号"], patterns: [/\bEMP\d+/] });
    for (const [text, safe] of [
      ['{"staff_number":"E17"}', '{"staff_number":[redacted]}'],
      ["my staff number: E17, user.staffNumber=E18", "my staff number: [redacted], user.staffNumber=[redacted]"],
      ["我的工号：E17", "我的工号：[redacted]"],
    ] as const)
      expect(own.cleanText(text, 100)).toBe(safe);
    expect(own.cleanValue({ staffNumber: 7, note: "EMP12 and EMP13" }, 100)).toEqual({
      staffNumber: "[redacted]",
      note: "[redacted] and [redacted]",
    });
  });
});

describe("planted secrets", () => {
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
    (secret: string) => ({ text: `Cookie: a=1; sid=${secret}` }),
    (secret: string) => ({ text: `Authorization: Token ${secret}` }),
    (secret: string) => ({ text: `[["x-api-key","${secret}"],{"name":"pin","value":"${secret}"}]` }),
    (secret: string) => ({ key: "password", text: secret }),
    (secret: string) => ({ key: "X-Auth-Token", text: secret }),
    (secret: string) => ({ key: "db_passphrase", text: secret }),
    (secret: string) => ({ key: "Cookie", text: `a=${secret}` }),
  );

  it("never appear in the output", () => {
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
          const out = JSON.stringify(redactor.cleanValue(value, maxCharacters));
          // Not even half of the secret.
          expect(out).not.toContain(secret.slice(0, 12));
          expect(out).not.toContain(secret.slice(-12));
        },
      ),
      { numRuns: SAMPLES.sessions * 4 },
    );
  });
});
