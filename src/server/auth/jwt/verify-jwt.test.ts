// JWT verification against a real JWKS server.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import {
  AUDIENCE,
  ISSUER,
  listForgeries,
  makeKeyPair,
  type KeyPair,
  secondsFromNow as seconds,
  signHs256,
  signJwt,
} from "../../../../test/security/jwt-issuer.ts";
import { isLoomError } from "../../../protocol/index.ts";
import type { JwtOptions } from "../access.ts";
import { SCOPES } from "../scopes.ts";
import { createJwtVerifier, type JwtVerifier } from "./verify-jwt.ts";

let first: KeyPair;
let second: KeyPair;
let foreign: KeyPair;
let server: Server;
let url: string;
/** Response of the JWKS server. */
let keyResponse: { status?: number; body?: string; headers?: { [name: string]: string }; delayMs?: number } = {};
let fetches = 0;

const serve = (...pairs: readonly KeyPair[]): void => {
  keyResponse = { body: JSON.stringify({ keys: pairs.map(({ jwk }) => jwk) }) };
};

beforeAll(async () => {
  [first, second, foreign] = await Promise.all([makeKeyPair("one"), makeKeyPair("two"), makeKeyPair("one")]);
  server = createServer((_, response) => {
    fetches += 1;
    const { status = 200, body = "", headers = {}, delayMs = 0 } = keyResponse;
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
  fetches = 0;
  keyResponse = {};
});

const optionsOf = (more: Partial<JwtOptions> = {}): JwtOptions => ({
  jwks: url,
  issuer: ISSUER,
  audience: AUDIENCE,
  ...more,
});
const sign = (
  claims: { readonly [claim: string]: unknown } = {},
  by: KeyPair = first,
  header: object = {},
): Promise<string> => signJwt(by, claims, header);

async function codeOf(verify: JwtVerifier, jwt: string): Promise<string> {
  try {
    await verify(jwt);
    return "accepted";
  } catch (error) {
    if (!isLoomError(error)) throw error;
    // Messages must not contain parts of the token.
    for (const part of jwt.split(".")) if (part.length > 8) expect(error.message).not.toContain(part);
    return error.code;
  }
}

describe("a valid JWT", () => {
  it("yields a principal until it expires and fetches the keys once", async () => {
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
    expect(fetches).toBe(1);
  });

  it.each(["RS256", "PS256", "ES384", "EdDSA"])("can be signed with %s and verified with given keys", async (alg) => {
    const pair = await makeKeyPair("k", alg);
    const verify = createJwtVerifier(optionsOf({ jwks: { keys: [pair.jwk] } }));
    expect((await verify(await sign({}, pair, { alg }))).owner).toBe("jwt:alice");
  });

  it("without kid is verified with each key", async () => {
    serve(first, second);
    const verify = createJwtVerifier(optionsOf());
    expect(await codeOf(verify, await sign({}, second, { kid: undefined }))).toBe("accepted");
    expect(await codeOf(verify, await sign({}, foreign, { kid: undefined }))).toBe("unauthorized");
    expect(await codeOf(verify, await sign({ aud: "x" }, second, { kid: undefined }))).toBe("unauthorized");
  });

  const scopesOf = async (claims: { readonly [claim: string]: unknown }, options: Partial<JwtOptions>) => [
    ...(await createJwtVerifier(optionsOf({ jwks: { keys: [first.jwk] }, ...options }))(await sign(claims))).scopes,
  ];

  it.each<[{ readonly [claim: string]: unknown }, readonly string[]]>([
    [{ scope: "loom:read openid loom:run" }, ["read", "run"]],
    [{ scope: undefined, scp: ["loom:admin", "x", 5, null] }, ["admin"]],
    [{ scope: undefined, scp: "loom:write  loom:read" }, ["read", "write"]],
    [{ scope: undefined, scopes: ["loom:approve"] }, ["approve"]],
    [{ scope: "loom:read", scopes: ["loom:run"] }, ["read", "run"]],
    // Scopes without the prefix may be those of another service.
    [{ scope: "loom:read run", scp: ["admin"] }, ["read"]],
    [{ scope: "admin read" }, ["metrics"]],
    // Without a Loom scope it gets the default scopes of the server.
    [{ scope: undefined }, ["metrics"]],
    [{ scope: "openid profile" }, ["metrics"]],
    [{ scope: { read: true } }, ["metrics"]],
    // With only unknown Loom scopes it gets none.
    [{ scope: "loom:none" }, []],
    [{ scope: "Read readx xread loom:" }, []],
  ])("with %j gets the scopes %j", async (claims, scopes) => {
    expect(await scopesOf(claims, { scopes: SCOPES, defaultScopes: ["metrics"] })).toEqual(scopes);
  });

  it.each<[string, Partial<JwtOptions>, readonly string[]]>([
    ["loom:read loom:run loom:admin", { scopes: ["read"] }, ["read"]],
    // Excessive scopes are not replaced by the default scopes.
    ["loom:admin", { scopes: ["read"], defaultScopes: ["read"] }, []],
    ["loom:read", { scopes: [] }, []],
    // The ceiling grants nothing.
    ["openid", { scopes: ["read", "admin"] }, []],
    // Without a ceiling: the usual scopes.
    [SCOPES.map((scope) => `loom:${scope}`).join(" "), {}, ["read", "write", "run", "approve"]],
    ["agents/read loom:run run", { scopePrefix: "agents/" }, ["read"]],
    ["read loom:run admin", { scopePrefix: "" }, ["read"]],
    ["openid", { scopePrefix: "", defaultScopes: ["read"] }, ["read"]],
    ["admin", { scopePrefix: "", defaultScopes: ["read"] }, []],
  ])("with the scope %j and the options %j gets the scopes %j", async (scope, options, scopes) => {
    expect(await scopesOf({ scope }, options)).toEqual(scopes);
  });
});

describe("an invalid JWT", () => {
  it("is rejected if forged", async () => {
    serve(first, second);
    const verify = createJwtVerifier(optionsOf());
    expect(await codeOf(verify, await sign())).toBe("accepted");
    const codes = listForgeries(first, foreign, url).map(async ([what, jwt]) => [
      what,
      await codeOf(verify, await jwt),
    ]);
    const accepted = (await Promise.all(codes)).filter(([, code]) => code !== "unauthorized");
    expect(codes.length).toBeGreaterThan(25);
    expect(accepted).toEqual([]);
  });

  it("is rejected if signed with a shared secret, even one among the keys", async () => {
    const k = Buffer.alloc(32, 7).toString("base64url");
    const verify = createJwtVerifier(
      optionsOf({ jwks: { keys: [{ kty: "oct", k, kid: "one", alg: "HS256" }, second.jwk] } }),
    );
    expect(await codeOf(verify, signHs256(Buffer.from(k, "base64url")))).toBe("unauthorized");
    expect(await codeOf(verify, await sign({}, second))).toBe("accepted");
  });

  it("is accepted within 30 s of clock difference", async () => {
    const verify = createJwtVerifier(optionsOf({ jwks: { keys: [first.jwk] } }));
    expect(await codeOf(verify, await sign({ exp: seconds(-20), nbf: seconds(20) }))).toBe("accepted");
  });
});

describe("issuer keys", () => {
  // A busy machine must not end a cool-down.
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date", "performance"] }));
  afterEach(() => void vi.useRealTimers());

  it("are fetched again for an unknown key, at most once per cool-down", async () => {
    serve(first);
    const verify = createJwtVerifier(optionsOf());
    expect(await codeOf(verify, await sign())).toBe("accepted");
    serve(second);
    for (const jwt of await Promise.all([1, 2, 3].map(() => sign({}, second))))
      expect(await codeOf(verify, jwt)).toBe("unauthorized");
    expect(fetches).toBe(1);
    vi.advanceTimersByTime(31_000);
    expect(await codeOf(verify, await sign({}, second))).toBe("accepted");
    expect(await codeOf(verify, await sign())).toBe("unauthorized");
    expect(fetches).toBe(2);
  });

  it.each<[string, typeof keyResponse]>([
    ["the server fails", { status: 500 }],
    ["the server redirects", { status: 302, headers: { location: "http://127.0.0.1:1/" } }],
    ["the response is not JSON", { body: "<html>" }],
    ["the response has no keys", { body: "{}" }],
    ["the response is late", { body: '{"keys":[]}', delayMs: 2000 }],
    ["the response is too large", { body: JSON.stringify({ keys: [], more: "x".repeat(300_000) }) }],
  ])("are unavailable if %s, and fetched again later", async (_, wrong) => {
    keyResponse = wrong;
    const verify = createJwtVerifier(optionsOf(), 1000);
    const jwt = await sign();
    expect(await codeOf(verify, jwt)).toBe("keys_unavailable");
    expect(await codeOf(verify, jwt)).toBe("keys_unavailable");
    expect(fetches).toBe(1);
    serve(first);
    vi.advanceTimersByTime(1001);
    expect(await codeOf(verify, jwt)).toBe("accepted");
  });

  it("are unavailable if the server is unreachable", async () => {
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
  ["defaultScopes", { defaultScopes: ["admin"] }],
  ["defaultScopes", { scopes: ["read"], defaultScopes: ["run"] }],
  ["scopePrefix", { scopePrefix: "loom " }],
])("rejects an invalid %s option", (name, wrong) => {
  const make = (): unknown => createJwtVerifier(optionsOf(wrong));
  expect(make).toThrow(expect.objectContaining({ code: "invalid_arguments" }) as Error);
  expect(make).toThrow(`jwt.${name}`);
});
