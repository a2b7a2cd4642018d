// When a server requires authentication: every combination of address, settings and credentials.
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { isLoomError } from "../../protocol/index.ts";
import { openCredentials } from "../../server/auth/credentials/open-credentials.ts";
import { CliError, parseCommand } from "../command.ts";
import { openStore } from "../open-store.ts";
import { openAuth } from "./open-auth.ts";
import { readSettings } from "./read-settings.ts";
import { SERVE } from "./serve-command.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-auth-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;

type Tokens = "none" | "active" | "revoked" | "expired";

async function newStore(tokens: Tokens): Promise<string> {
  const store = join(mkdtempSync(join(folder, `${++count}-`)), "loom.db");
  if (tokens === "none") return store;
  const now = Date.now();
  const credentials = openCredentials(`${store}-auth`, { now: () => now - 1000 });
  await credentials.createToken({ name: "a", ...(tokens === "expired" ? { expiresAt: now - 1 } : {}) });
  if (tokens === "revoked") await credentials.revokeToken("a");
  await credentials.close();
  return store;
}

interface StartResult {
  readonly outcome: "open" | "required" | "rejected";
  readonly messages: string;
}

async function start(store: string, argv: readonly string[], env = {}): Promise<StartResult> {
  const { values } = readSettings(parseCommand(SERVE, argv), {});
  try {
    await using parts = await openStore(store);
    const { options, warnings } = await openAuth(values, parts, env);
    return { outcome: options === undefined ? "open" : "required", messages: warnings.join("\n") };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return { outcome: "rejected", messages: `${error.message}\n${error.hint ?? ""}` };
  }
}

const JWT = ["--jwks", "https://id.example.com/keys", "--jwt-issuer", "i", "--jwt-audience", "a"];
const PUBLIC = ["--host", "0.0.0.0"];
const ALLOWED = [...PUBLIC, "--allow-public"];
const LINKS = [...PUBLIC, "--allow-links"];

describe("openAuth", () => {
  // Expected outcomes for these tokens: none, active, revoked, expired; then without tokens but with JWT.
  it.each<[string, readonly string[], readonly StartResult["outcome"][]]>([
    ["auto on localhost", [], ["open", "required", "required", "required", "required"]],
    ["on on localhost", ["--auth", "on"], ["required", "required", "required", "required", "required"]],
    ["off on localhost", ["--auth", "off"], ["open", "open", "open", "open", "rejected"]],
    ["auto on a public address", PUBLIC, ["rejected", "required", "rejected", "rejected", "required"]],
    [
      "on on a public address",
      [...PUBLIC, "--auth", "on"],
      ["rejected", "required", "rejected", "rejected", "required"],
    ],
    [
      "off on a public address",
      [...PUBLIC, "--auth", "off"],
      ["rejected", "rejected", "rejected", "rejected", "rejected"],
    ],
    ["auto with --allow-public", ALLOWED, ["open", "required", "rejected", "rejected", "required"]],
    [
      "on with --allow-public",
      [...ALLOWED, "--auth", "on"],
      ["rejected", "required", "rejected", "rejected", "required"],
    ],
    ["auto with --allow-links", LINKS, ["open", "required", "rejected", "rejected", "required"]],
    ["off with --allow-links", [...LINKS, "--auth", "off"], ["open", "open", "open", "open", "rejected"]],
    ["off with --allow-public", [...ALLOWED, "--auth", "off"], ["open", "open", "open", "open", "rejected"]],
  ])("%s", async (_, argv, outcomes) => {
    const tokens: readonly Tokens[] = ["none", "active", "revoked", "expired"];
    const results = [
      ...(await Promise.all(tokens.map(async (each) => start(await newStore(each), argv)))),
      await start(await newStore("none"), [...argv, ...JWT]),
    ];
    expect(results.map(({ outcome }) => outcome)).toEqual(outcomes);
  });

  it.each(["127.0.0.1", "127.9.9.9", "::1", "localhost"])("treats %s as this machine", async (host) => {
    expect((await start(await newStore("none"), ["--host", host])).outcome).toBe("open");
  });

  it.each(["0.0.0.0", "::", "192.168.1.5", "localhost.example.com", "::ffff:10.0.0.1", "my-laptop"])(
    "treats %s as public",
    async (host) => expect((await start(await newStore("none"), ["--host", host])).outcome).toBe("rejected"),
  );

  it("suggests the command to create a token", async () => {
    const store = await newStore("none");
    const typed = async (env: object): Promise<string | undefined> =>
      /with `(.*?)`/.exec((await start(store, PUBLIC, env)).messages)?.[1];
    expect(await typed({})).toBe(`loom token create NAME --store ${store}`);
    expect(await typed({ LOOM_STORE: store })).toBe("loom token create NAME");
    expect(await typed({ LOOM_STORE: store, npm_lifecycle_event: "start" })).toBe(
      "npm run --silent loom -- token create NAME",
    );
    expect((await start(await newStore("revoked"), PUBLIC)).messages).toContain("every token is revoked or expired");
  });

  it("creates no file if authentication is off or the server does not start", async () => {
    const store = await newStore("none");
    for (const argv of [[], PUBLIC, ALLOWED, LINKS, ["--auth", "off"], [...PUBLIC, "--auth", "on"]])
      await start(store, argv);
    expect(readdirSync(join(store, ".."))).toEqual([]);
    await using parts = await openStore(store);
    const { links } = await openAuth(readSettings(parseCommand(SERVE, []), {}).values, parts, {});
    expect([await links?.find(), readdirSync(join(store, ".."))]).toEqual([undefined, []]);
    expect(await start(store, ["--auth", "on"])).toEqual({
      outcome: "required",
      messages: expect.stringContaining("no client can sign in yet because no token exists yet") as string,
    });
    expect(readdirSync(join(store, ".."))).toEqual(["loom.db-auth"]);
  });

  it("creates the store of share links with the first link, once", async () => {
    const store = await newStore("none");
    await using parts = await openStore(store);
    const { links } = await openAuth(readSettings(parseCommand(SERVE, []), {}).values, parts, {});
    const [found, one, two] = await Promise.all([links?.find(), links?.open(), links?.open()]);
    expect([found, one === two, await links?.find()]).toEqual([undefined, true, one]);
    expect(readdirSync(join(store, "..")).filter((name) => !/-(?:wal|shm)$/.test(name))).toEqual(["loom.db-auth"]);
    // A link does not turn authentication on.
    await one?.createShare({ session: "s", incarnation: "i", owner: "local" });
    expect((await start(store, [])).outcome).toBe("open");
  });

  it("throws if the credentials exist but cannot be read", async () => {
    const store = await newStore("none");
    symlinkSync(join(folder, "nowhere"), `${store}-auth`);
    await expect(start(store, [])).rejects.toThrow(expect.objectContaining({ code: "store_failed" }) as Error);
    try {
      await start(store, []);
    } catch (error) {
      expect(isLoomError(error) && error.message).toContain(`${store}-auth`);
    }
  });

  it("warns if a proxy is configured without authentication", async () => {
    const store = await newStore("none");
    expect((await start(store, [])).messages).toBe("");
    expect((await start(store, ["--hosts", "agents.example.com"])).messages).toContain("although `hosts` is set");
    expect((await start(store, ["--trusted-proxies", "loopback"])).messages).toContain(
      "although `trusted-proxies` is set",
    );
    expect((await start(store, ["--hosts", "agents.example.com", "--auth", "off"])).messages).toBe("");
    expect((await start(await newStore("active"), ["--hosts", "agents.example.com"])).messages).toBe("");
  });

  it("requires all JWT settings or none", async () => {
    const store = await newStore("none");
    expect((await start(store, JWT.slice(0, 4))).messages).toMatch(/^jwt-audience missing: JWTs need/);
    expect((await start(store, JWT.slice(2))).messages).toMatch(/^jwks missing: /);
    for (const name of ["jwt-scopes", "jwt-default-scopes", "jwt-scope-prefix"])
      expect((await start(store, [`--${name}`, "read"])).messages).toMatch(new RegExp(`^${name}: no JWT issuer`));
  });

  it("passes on limits and JWT settings", async () => {
    const argv = ["--limits", "runs-per-minute=3,tokens-per-day=1000", "--jwt-scopes", "read,run", ...JWT];
    const { values } = readSettings(parseCommand(SERVE, argv), {});
    await using parts = await openStore(await newStore("none"));
    const { options } = await openAuth(values, parts, {});
    expect(options).toMatchObject({
      jwt: { jwks: "https://id.example.com/keys", issuer: "i", audience: "a", scopes: ["read", "run"] },
      limits: { requestsPerMinute: 600, runsPerMinute: 3, maxRuns: 20, maxStreams: 100, tokensPerDay: 1000 },
    });
  });

  it("limits the scopes of JWTs to the usual ones by default, and reads the prefix", async () => {
    const jwtOf = async (...argv: readonly string[]): Promise<unknown> => {
      const { values } = readSettings(parseCommand(SERVE, [...argv, ...JWT]), {});
      await using parts = await openStore(await newStore("none"));
      const { options } = await openAuth(values, parts, {});
      return options?.jwt;
    };
    const usual = ["read", "write", "run", "approve"];
    expect(await jwtOf()).toMatchObject({ scopes: usual, defaultScopes: [], scopePrefix: undefined });
    expect(await jwtOf("--jwt-default-scopes", "read")).toMatchObject({ scopes: usual, defaultScopes: ["read"] });
    expect(await jwtOf("--jwt-scope-prefix", "agents/")).toMatchObject({ scopePrefix: "agents/" });
    expect(await jwtOf("--jwt-scope-prefix", "none")).toMatchObject({ scopePrefix: "" });
    const messages = (
      await start(await newStore("none"), ["--jwt-scopes", "read", "--jwt-default-scopes", "run", ...JWT])
    ).messages;
    expect(messages).toMatch(/^jwt-default-scopes: `jwt-scopes` does not allow run/);
  });
});
