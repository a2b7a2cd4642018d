// Who is asked who they are: every combination of where it listens, what it is told, and what there is to come in with.
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { isLoomError } from "../../protocol/index.ts";
import { openCredentials } from "../../server/auth/credentials/open-credentials.ts";
import { CliError, parseCommand } from "../command.ts";
import { openAuth } from "./open-auth.ts";
import { readSettings } from "./read-settings.ts";
import { SERVE } from "./serve-command.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-auth-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;

type Tokens = "none" | "good" | "revoked" | "over";

function newStore(tokens: Tokens): string {
  const store = join(mkdtempSync(join(folder, `${++count}-`)), "loom.db");
  if (tokens === "none") return store;
  const now = Date.now();
  const credentials = openCredentials(`${store}-auth`, { now: () => now - 1000 });
  credentials.createToken({ name: "a", ...(tokens === "over" ? { expiresAt: now - 1 } : {}) });
  if (tokens === "revoked") credentials.revokeToken("a");
  credentials.close();
  return store;
}

interface Told {
  readonly outcome: "open" | "asks" | "refused";
  readonly said: string;
}

function start(store: string, argv: readonly string[], env = {}): Told {
  const { values } = readSettings(parseCommand(SERVE, argv), {});
  try {
    const { options, warnings, close } = openAuth(values, store, env);
    close();
    return { outcome: options === undefined ? "open" : "asks", said: warnings.join("\n") };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return { outcome: "refused", said: `${error.message}\n${error.hint ?? ""}` };
  }
}

const JWT = ["--jwks", "https://id.example.com/keys", "--jwt-issuer", "i", "--jwt-audience", "a"];
const PUBLIC = ["--host", "0.0.0.0"];
const ALLOWED = [...PUBLIC, "--allow-public"];

describe("openAuth", () => {
  // By where it listens, for tokens: none, good, revoked, over; and for none, with JWT.
  it.each<[string, readonly string[], readonly Told["outcome"][]]>([
    ["auto here", [], ["open", "asks", "asks", "asks", "asks"]],
    ["on here", ["--auth", "on"], ["asks", "asks", "asks", "asks", "asks"]],
    ["off here", ["--auth", "off"], ["open", "open", "open", "open", "refused"]],
    ["auto for others", PUBLIC, ["refused", "asks", "refused", "refused", "asks"]],
    ["on for others", [...PUBLIC, "--auth", "on"], ["refused", "asks", "refused", "refused", "asks"]],
    ["off for others", [...PUBLIC, "--auth", "off"], ["refused", "refused", "refused", "refused", "refused"]],
    ["auto for all", ALLOWED, ["open", "asks", "refused", "refused", "asks"]],
    ["on for all", [...ALLOWED, "--auth", "on"], ["refused", "asks", "refused", "refused", "asks"]],
    ["off for all", [...ALLOWED, "--auth", "off"], ["open", "open", "open", "open", "refused"]],
  ])("%s", (_, argv, outcomes) => {
    const tokens: readonly Tokens[] = ["none", "good", "revoked", "over"];
    const told = [...tokens.map((each) => start(newStore(each), argv)), start(newStore("none"), [...argv, ...JWT])];
    expect(told.map(({ outcome }) => outcome)).toEqual(outcomes);
  });

  it.each(["127.0.0.1", "127.9.9.9", "::1", "localhost"])("knows %s for this machine", (host) => {
    expect(start(newStore("none"), ["--host", host]).outcome).toBe("open");
  });

  it.each(["0.0.0.0", "::", "192.168.1.5", "localhost.example.com", "::ffff:10.0.0.1", "my-laptop"])(
    "takes %s for what others can reach",
    (host) => expect(start(newStore("none"), ["--host", host]).outcome).toBe("refused"),
  );

  it("says what to type, as it was started", () => {
    const store = newStore("none");
    const typed = (env: object): string | undefined => /with `(.*?)`/.exec(start(store, PUBLIC, env).said)?.[1];
    expect(typed({})).toBe(`loom token create NAME --store ${store}`);
    expect(typed({ LOOM_STORE: store })).toBe("loom token create NAME");
    expect(typed({ LOOM_STORE: store, npm_lifecycle_event: "start" })).toBe(
      "npm run --silent loom -- token create NAME",
    );
    expect(start(newStore("revoked"), PUBLIC).said).toContain("every token is revoked or over");
  });

  it("makes nothing where nobody is asked, or where it does not start", () => {
    const store = newStore("none");
    for (const argv of [[], PUBLIC, ALLOWED, ["--auth", "off"], [...PUBLIC, "--auth", "on"]]) start(store, argv);
    expect(readdirSync(join(store, ".."))).toEqual([]);
    expect(start(store, ["--auth", "on"])).toEqual({
      outcome: "asks",
      said: expect.stringContaining("nobody can come in yet, there is no token yet") as string,
    });
    expect(readdirSync(join(store, ".."))).toEqual(["loom.db-auth"]);
  });

  it("does not take what it cannot read for nothing", () => {
    const store = newStore("none");
    symlinkSync(join(folder, "nowhere"), `${store}-auth`);
    expect(() => start(store, [])).toThrow(expect.objectContaining({ code: "store_failed" }) as Error);
    try {
      start(store, []);
    } catch (error) {
      expect(isLoomError(error) && error.message).toContain(`${store}-auth`);
    }
  });

  it("warns where others seem to be meant, and nobody is asked", () => {
    const store = newStore("none");
    expect(start(store, []).said).toBe("");
    expect(start(store, ["--hosts", "agents.example.com"]).said).toContain("though `hosts` means others");
    expect(start(store, ["--trusted-proxies", "loopback"]).said).toContain("though `trusted-proxies` means others");
    expect(start(store, ["--hosts", "agents.example.com", "--auth", "off"]).said).toBe("");
    expect(start(newStore("good"), ["--hosts", "agents.example.com"]).said).toBe("");
  });

  it("has all that JWT need, or none of it", () => {
    const store = newStore("none");
    expect(start(store, JWT.slice(0, 4)).said).toMatch(/^jwt-audience: JWT are taken with all of/);
    expect(start(store, JWT.slice(2)).said).toMatch(/^jwks: /);
    expect(start(store, ["--jwt-scopes", "read"]).said).toMatch(/^jwt-scopes: there are no JWT/);
  });

  it("hands on the limits and the keys", () => {
    const argv = ["--runs-per-minute", "3", "--tokens-per-day", "1000", "--jwt-scopes", "read,run", ...JWT];
    const { values } = readSettings(parseCommand(SERVE, argv), {});
    const { options, close } = openAuth(values, newStore("none"), {});
    close();
    expect(options).toMatchObject({
      jwt: { jwks: "https://id.example.com/keys", issuer: "i", audience: "a", scopes: ["read", "run"] },
      limits: { requestsPerMinute: 600, runsPerMinute: 3, maxRuns: 20, maxStreams: 100, tokensPerDay: 1000 },
    });
  });
});
