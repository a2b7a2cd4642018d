/** Mistakes that would expose a server to the network without authentication. */
import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { parseCommand } from "../../src/cli/command.ts";
import { openStore } from "../../src/cli/open-store.ts";
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
async function newStore(change?: (file: string) => Promise<void> | void): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "loom-public-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const store = join(folder, "loom.db");
  if (change !== undefined) {
    const credentials = openCredentials(`${store}-auth`);
    await credentials.createToken({ name: "a" });
    await credentials.close();
    await change(`${store}-auth`);
  }
  return store;
}

const revokeAll = async (file: string): Promise<void> => {
  const credentials = openCredentials(file);
  await credentials.revokeToken("a");
  await credentials.close();
};

/** Returns whether the command would accept requests without credentials. */
async function acceptsAnonymous(store: string, argv: readonly string[], env = {}): Promise<boolean> {
  await using parts = await openStore(store);
  const { options } = await openAuth(readSettings(parseCommand(SERVE, argv), env).values, parts, {});
  return options === undefined;
}

testThreat(
  "unintended-exposure",
  "the command does not listen on a public address without authentication",
  async ({ attempt }) => {
    for (const host of PUBLIC) {
      await attempt(`${host}, from a flag`, async () =>
        expect(acceptsAnonymous(await newStore(), ["--host", host])).rejects.toThrow("no token exists yet"),
      );
      await attempt(`${host}, from the environment`, async () =>
        expect(acceptsAnonymous(await newStore(), [], { LOOM_HOST: host })).rejects.toThrow("no token exists yet"),
      );
      await attempt(`${host}, with auth off`, async () =>
        expect(acceptsAnonymous(await newStore(), ["--host", host, "--auth", "off"])).rejects.toThrow(
          "authentication is off",
        ),
      );
      await attempt(`${host}, with a token`, async () =>
        expect(await acceptsAnonymous(await newStore(() => undefined), ["--host", host])).toBe(false),
      );
      await attempt(`${host}, with revoked tokens`, async () =>
        expect(acceptsAnonymous(await newStore(revokeAll), ["--host", host, "--allow-public"])).rejects.toThrow(
          "revoked or expired",
        ),
      );
    }
  },
);

testThreat("unintended-exposure", "a store that had a token never becomes open", async ({ attempt }) => {
  const losses: { readonly [what: string]: (file: string) => Promise<void> | void } = {
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
    await attempt(what, async () => {
      const store = await newStore(lose);
      let open = false;
      try {
        open = await acceptsAnonymous(store, []);
      } catch {
        // It does not start at all.
      }
      expect(open).toBe(false);
    });
});

testThreat("unintended-exposure", "invalid settings do not disable authentication", async ({ attempt }) => {
  for (const auth of ["", "of", "false", "no", "0", "OFF", "none", "onn"]) {
    await attempt(`--auth ${auth}`, async () =>
      expect(acceptsAnonymous(await newStore(), ["--auth", auth])).rejects.toThrow("auth"),
    );
    if (auth !== "")
      await attempt(`LOOM_AUTH=${auth}`, async () =>
        expect(acceptsAnonymous(await newStore(), [], { LOOM_AUTH: auth })).rejects.toThrow("LOOM_AUTH"),
      );
  }
  const jwt = ["--jwks", "https://id.example.com/", "--jwt-issuer", "i", "--jwt-audience", "a"];
  for (const left of [0, 2, 4])
    await attempt(`JWT without ${jwt[left]}`, async () =>
      expect(acceptsAnonymous(await newStore(), jwt.toSpliced(left, 2))).rejects.toThrow(
        "JWTs need jwks, jwt-issuer and jwt-audience",
      ),
    );
  await attempt("JWT with auth off", async () =>
    expect(acceptsAnonymous(await newStore(), [...jwt, "--auth", "off"])).rejects.toThrow("off"),
  );
  await attempt("JWKS over HTTP", async () =>
    expect(acceptsAnonymous(await newStore(), ["--jwks", "http://id.example.com/"])).rejects.toThrow("--jwks"),
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
