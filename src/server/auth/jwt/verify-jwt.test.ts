// JWT against a real server of keys: what is taken, what is refused, and what cannot be told.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  AUDIENCE,
  ISSUER,
  listForgeries,
  makePair,
  type Pair,
  secondsFromNow as seconds,
  signHs256,
  signJwt,
} from "../../../../test/security/jwt-issuer.ts";
import { isLoomError } from "../../../protocol/index.ts";
import type { JwtOptions } from "../auth-options.ts";
import { createJwtVerifier, type JwtVerifier } from "./verify-jwt.ts";

let first: Pair;
let second: Pair;
let stranger: Pair;
let server: Server;
let url: string;
/** What the server answers. */
let answer: { status?: number; body?: string; headers?: { [name: string]: string }; delayMs?: number } = {};
let asked = 0;

const serve = (...pairs: readonly Pair[]): void => {
  answer = { body: JSON.stringify({ keys: pairs.map(({ jwk }) => jwk) }) };
};

beforeAll(async () => {
  [first, second, stranger] = await Promise.all([makePair("one"), makePair("two"), makePair("one")]);
  server = createServer((_, response) => {
    asked += 1;
    const { status = 200, body = "", headers = {}, delayMs = 0 } = answer;
    setTimeout(() => response.writeHead(status, { "content-type": "application/json", ...headers }).end(body), delayMs);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
afterEach(() => {
  asked = 0;
  answer = {};
});

const optionsOf = (more: Partial<JwtOptions> = {}): JwtOptions => ({
  jwks: url,
  issuer: ISSUER,
  audience: AUDIENCE,
  ...more,
});
const sign = (
  claims: { readonly [claim: string]: unknown } = {},
  by: Pair = first,
  header: object = {},
): Promise<string> => signJwt(by, claims, header);

async function codeOf(verify: JwtVerifier, jwt: string): Promise<string> {
  try {
    await verify(jwt);
    return "taken";
  } catch (error) {
    if (!isLoomError(error)) throw error;
    // Nothing of it is told.
    for (const part of jwt.split(".")) if (part.length > 8) expect(error.message).not.toContain(part);
    return error.code;
  }
}

describe("a JWT that is good", () => {
  it("says who asks, until it ends, and keys are asked for once", async () => {
    serve(first, second);
    const verify = createJwtVerifier(optionsOf());
    const exp = seconds(600);
    expect(await verify(await sign({ exp, aud: ["other", AUDIENCE] }))).toEqual({
      kind: "jwt",
      id: "jwt:alice",
      name: "alice",
      owner: "jwt:alice",
      scopes: new Set(["read", "run"]),
      limits: {},
      expiresAt: (exp + 30) * 1000,
    });
    await Promise.all([1, 2, 3].map(async () => verify(await sign({}, second))));
    expect(asked).toBe(1);
  });

  it.each(["RS256", "PS256", "ES384", "EdDSA"])("is signed with %s, and its keys may be given", async (alg) => {
    const pair = await makePair("k", alg);
    const verify = createJwtVerifier(optionsOf({ jwks: { keys: [pair.jwk] } }));
    expect((await verify(await sign({}, pair, { alg }))).owner).toBe("jwt:alice");
  });

  it("may be signed with any key where it names none", async () => {
    serve(first, second);
    const verify = createJwtVerifier(optionsOf());
    expect(await codeOf(verify, await sign({}, second, { kid: undefined }))).toBe("taken");
    expect(await codeOf(verify, await sign({}, stranger, { kid: undefined }))).toBe("unauthorized");
    expect(await codeOf(verify, await sign({ aud: "x" }, second, { kid: undefined }))).toBe("unauthorized");
  });

  it.each<[{ readonly [claim: string]: unknown }, readonly string[]]>([
    [{ scope: "read openid loom:run" }, ["read", "run"]],
    [{ scope: undefined, scp: ["loom:admin", "x", 5, null] }, ["admin"]],
    [{ scope: undefined, scp: "write  read" }, ["read", "write"]],
    [{ scope: undefined, scopes: ["approve"] }, ["approve"]],
    [{ scope: "read", scopes: ["run"] }, ["read", "run"]],
    // One that names none of ours gets those of the server.
    [{ scope: undefined }, ["metrics"]],
    [{ scope: "openid profile" }, ["metrics"]],
    // One that speaks of us and says nothing gets nothing.
    [{ scope: "loom:none" }, []],
    [{ scope: "Read readx xread loom:" }, []],
    [{ scope: { read: true } }, ["metrics"]],
  ])("with %j may do %j", async (claims, scopes) => {
    const verify = createJwtVerifier(optionsOf({ jwks: { keys: [first.jwk] }, scopes: ["metrics"] }));
    expect([...(await verify(await sign(claims))).scopes]).toEqual(scopes);
  });
});

describe("refuses", () => {
  it("what is forged", async () => {
    serve(first, second);
    const verify = createJwtVerifier(optionsOf());
    expect(await codeOf(verify, await sign())).toBe("taken");
    const codes = listForgeries(first, stranger, url).map(async ([what, jwt]) => [
      what,
      await codeOf(verify, await jwt),
    ]);
    const taken = (await Promise.all(codes)).filter(([, code]) => code !== "unauthorized");
    expect(codes.length).toBeGreaterThan(25);
    expect(taken).toEqual([]);
  });

  it("a shared secret, even among the keys", async () => {
    const k = Buffer.alloc(32, 7).toString("base64url");
    const verify = createJwtVerifier(
      optionsOf({ jwks: { keys: [{ kty: "oct", k, kid: "one", alg: "HS256" }, second.jwk] } }),
    );
    expect(await codeOf(verify, signHs256(Buffer.from(k, "base64url")))).toBe("unauthorized");
    expect(await codeOf(verify, await sign({}, second))).toBe("taken");
  });

  it("nothing for clocks that differ by less than half a minute", async () => {
    const verify = createJwtVerifier(optionsOf({ jwks: { keys: [first.jwk] } }));
    expect(await codeOf(verify, await sign({ exp: seconds(-20), nbf: seconds(20) }))).toBe("taken");
  });
});

describe("keys", () => {
  it("are looked for anew where one is not known, but not for each", async () => {
    serve(first);
    const verify = createJwtVerifier(optionsOf(), { coolDownMs: 200 });
    expect(await codeOf(verify, await sign())).toBe("taken");
    serve(second);
    // As often as somebody likes.
    for (const jwt of await Promise.all([1, 2, 3].map(() => sign({}, second))))
      expect(await codeOf(verify, jwt)).toBe("unauthorized");
    expect(asked).toBe(1);
    await wait(250);
    expect(await codeOf(verify, await sign({}, second))).toBe("taken");
    expect(await codeOf(verify, await sign())).toBe("unauthorized");
    expect(asked).toBe(2);
  });

  it.each<[string, typeof answer]>([
    ["are refused", { status: 500 }],
    ["are elsewhere", { status: 302, headers: { location: "http://127.0.0.1:1/" } }],
    ["are no JSON", { body: "<html>" }],
    ["are none", { body: "{}" }],
    ["come too late", { body: '{"keys":[]}', delayMs: 400 }],
    ["are too large", { body: JSON.stringify({ keys: [], more: "x".repeat(300_000) }) }],
  ])("that %s say nothing of a token, and are asked for again", async (_, wrong) => {
    answer = wrong;
    const verify = createJwtVerifier(optionsOf(), { retryMs: 100, fetchMs: 200 });
    const jwt = await sign();
    expect(await codeOf(verify, jwt)).toBe("keys_unavailable");
    expect(await codeOf(verify, jwt)).toBe("keys_unavailable");
    expect(asked).toBe(1);
    serve(first);
    await wait(120);
    expect(await codeOf(verify, jwt)).toBe("taken");
  });

  it("of a server that is not there say nothing either", async () => {
    const verify = createJwtVerifier(optionsOf({ jwks: "http://127.0.0.1:1/keys" }));
    expect(await codeOf(verify, await sign())).toBe("keys_unavailable");
    expect(await codeOf(verify, "x")).toBe("unauthorized");
  });
});

it.each<[string, Partial<JwtOptions>]>([
  ["issuer", { issuer: "" }],
  ["audience", { audience: "" }],
  ["jwks", { jwks: "http://id.example.com/keys" }],
  ["jwks", { jwks: "http://127.0.0.1.example.com/keys" }],
  ["jwks", { jwks: "file:///etc/passwd" }],
  ["jwks", { jwks: "https://user:pass@id.example.com/" }],
  ["jwks", { jwks: "keys.json" }],
  ["jwks", { jwks: {} as { keys: [] } }],
  ["scopes", { scopes: ["root" as "admin"] }],
])("refuses a wrong %s before anything begins", (name, wrong) => {
  const make = (): unknown => createJwtVerifier(optionsOf(wrong));
  expect(make).toThrow(expect.objectContaining({ code: "invalid_arguments" }) as Error);
  expect(make).toThrow(`jwt.${name}`);
});
