/** Mistakes that would expose a server to the network without authentication. */
import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { parseCommand } from "../../src/cli/command.ts";
import { openAuth } from "../../src/cli/serve/open-auth.ts";
import { readSettings } from "../../src/cli/serve/read-settings.ts";
import { SERVE } from "../../src/cli/serve/serve-command.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { testThreat } from "./test-threat.ts";

const PUBLIC = ["0.0.0.0", "::", "192.168.0.7", "10.0.0.1", "::ffff:10.0.0.1", "fe80::1", "0", "127.0.0.1.example.com"];

/** Creates a store; with `change`, one with a token whose file is then changed. */
function newStore(change?: (file: string) => void): string {
  const folder = mkdtempSync(join(tmpdir(), "loom-public-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const store = join(folder, "loom.db");
  if (change !== undefined) {
    const credentials = openCredentials(`${store}-auth`);
    credentials.createToken({ name: "a" });
    credentials.close();
    change(`${store}-auth`);
  }
  return store;
}

const revokeAll = (file: string): void => {
  const credentials = openCredentials(file);
  credentials.revokeToken("a");
  credentials.close();
};

/** Returns whether the command would accept requests without credentials. */
function acceptsAnonymous(store: string, argv: readonly string[], env = {}): boolean {
  const { options, close } = openAuth(readSettings(parseCommand(SERVE, argv), env).values, store, {});
  close();
  return options === undefined;
}

testThreat(
  "unintended-exposure",
  "the command does not listen on a public address without authentication",
  async ({ attempt }) => {
    for (const host of PUBLIC) {
      await attempt(`${host}, from a flag`, () =>
        expect(() => acceptsAnonymous(newStore(), ["--host", host])).toThrow("no token exists yet"),
      );
      await attempt(`${host}, from the environment`, () =>
        expect(() => acceptsAnonymous(newStore(), [], { LOOM_HOST: host })).toThrow("no token exists yet"),
      );
      await attempt(`${host}, with auth off`, () =>
        expect(() => acceptsAnonymous(newStore(), ["--host", host, "--auth", "off"])).toThrow("authentication is off"),
      );
      await attempt(`${host}, with a token`, () =>
        expect(
          acceptsAnonymous(
            newStore(() => undefined),
            ["--host", host],
          ),
        ).toBe(false),
      );
      await attempt(`${host}, with revoked tokens`, () =>
        expect(() => acceptsAnonymous(newStore(revokeAll), ["--host", host, "--allow-public"])).toThrow(
          "revoked or expired",
        ),
      );
    }
  },
);

testThreat("unintended-exposure", "a store that had a token never becomes open", async ({ attempt }) => {
  const losses: { readonly [what: string]: (file: string) => void } = {
    "every token is revoked": revokeAll,
    "the file is empty": (file) => truncateSync(file, 0),
    "the file is truncated": (file) => truncateSync(file, 3000),
    "the file is overwritten": (file) => writeFileSync(file, "x".repeat(10_000)),
    "the file is a symbolic link": (file) => {
      rmSync(file);
      symlinkSync("/dev/null", file);
    },
  };
  for (const [what, lose] of Object.entries(losses))
    await attempt(what, () => {
      const store = newStore(lose);
      let open = false;
      try {
        open = acceptsAnonymous(store, []);
      } catch {
        // It does not start at all.
      }
      expect(open).toBe(false);
    });
});

testThreat("unintended-exposure", "invalid settings do not disable authentication", async ({ attempt }) => {
  for (const auth of ["", "of", "false", "no", "0", "OFF", "none", "onn"]) {
    await attempt(`--auth ${auth}`, () => expect(() => acceptsAnonymous(newStore(), ["--auth", auth])).toThrow("auth"));
    if (auth !== "")
      await attempt(`LOOM_AUTH=${auth}`, () =>
        expect(() => acceptsAnonymous(newStore(), [], { LOOM_AUTH: auth })).toThrow("LOOM_AUTH"),
      );
  }
  const jwt = ["--jwks", "https://id.example.com/", "--jwt-issuer", "i", "--jwt-audience", "a"];
  for (const left of [0, 2, 4])
    await attempt(`JWT without ${jwt[left]}`, () =>
      expect(() => acceptsAnonymous(newStore(), jwt.toSpliced(left, 2))).toThrow(
        "JWTs need jwks, jwt-issuer and jwt-audience",
      ),
    );
  await attempt("JWT with auth off", () =>
    expect(() => acceptsAnonymous(newStore(), [...jwt, "--auth", "off"])).toThrow("off"),
  );
  await attempt("JWKS over HTTP", () =>
    expect(() => acceptsAnonymous(newStore(), ["--jwks", "http://id.example.com/"])).toThrow("--jwks"),
  );
});

testThreat(
  "unintended-exposure",
  "a server started from code does not listen on a public address without authentication",
  async ({ attempt }) => {
    const agents = { main: agent({ model: new ScriptedModel([]) }) };
    for (const host of PUBLIC)
      await attempt(host, async () => {
        const starting = startLoomServer({ log: new MemoryLog(), agents, host, port: 0 });
        await expect(starting).rejects.toMatchObject({ code: "invalid_arguments" });
      });
  },
);
