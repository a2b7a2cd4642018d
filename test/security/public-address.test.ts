/** A server that others can reach, and that nobody guards, because somebody forgot, mistyped, or lost something. */
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
import { itHolds } from "./it-holds.ts";

const PUBLIC = ["0.0.0.0", "::", "192.168.0.7", "10.0.0.1", "::ffff:10.0.0.1", "fe80::1", "0", "127.0.0.1.example.com"];

/** A store with what became of its tokens. */
function newStore(change?: (file: string) => void): string {
  const folder = mkdtempSync(join(tmpdir(), "loom-door-"));
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

/** Whether the command would let in whoever comes. */
function isOpen(store: string, argv: readonly string[], env = {}): boolean {
  const { options, close } = openAuth(readSettings(parseCommand(SERVE, argv), env).values, store, {});
  close();
  return options === undefined;
}

itHolds("open-door", "the command does not listen to others unless somebody is asked", async ({ attempt }) => {
  for (const host of PUBLIC) {
    await attempt(`${host}, by a flag`, () =>
      expect(() => isOpen(newStore(), ["--host", host])).toThrow("no token yet"),
    );
    await attempt(`${host}, by the environment`, () =>
      expect(() => isOpen(newStore(), [], { LOOM_HOST: host })).toThrow("no token yet"),
    );
    await attempt(`${host}, with auth off`, () =>
      expect(() => isOpen(newStore(), ["--host", host, "--auth", "off"])).toThrow("`auth` is off"),
    );
    await attempt(`${host}, with a token`, () =>
      expect(
        isOpen(
          newStore(() => undefined),
          ["--host", host],
        ),
      ).toBe(false),
    );
    await attempt(`${host}, with tokens that are revoked`, () =>
      expect(() => isOpen(newStore(revokeAll), ["--host", host, "--allow-public"])).toThrow("revoked or over"),
    );
  }
});

itHolds("open-door", "a store that had a token stays closed, whatever becomes of it", async ({ attempt }) => {
  const losses: { readonly [what: string]: (file: string) => void } = {
    "every token is revoked": revokeAll,
    "the file is cut to nothing": (file) => truncateSync(file, 0),
    "the file is cut short": (file) => truncateSync(file, 3000),
    "the file is overwritten": (file) => writeFileSync(file, "x".repeat(10_000)),
    "the file is a link": (file) => {
      rmSync(file);
      symlinkSync("/dev/null", file);
    },
  };
  for (const [what, lose] of Object.entries(losses))
    await attempt(what, () => {
      const store = newStore(lose);
      let open = false;
      try {
        open = isOpen(store, []);
      } catch {
        // It does not start at all.
      }
      expect(open).toBe(false);
    });
});

itHolds("open-door", "settings with a mistake in them open nothing", async ({ attempt }) => {
  for (const auth of ["", "of", "false", "no", "0", "OFF", "none", "onn"]) {
    await attempt(`--auth ${auth}`, () => expect(() => isOpen(newStore(), ["--auth", auth])).toThrow("auth"));
    if (auth !== "")
      await attempt(`LOOM_AUTH=${auth}`, () =>
        expect(() => isOpen(newStore(), [], { LOOM_AUTH: auth })).toThrow("LOOM_AUTH"),
      );
  }
  const jwt = ["--jwks", "https://id.example.com/", "--jwt-issuer", "i", "--jwt-audience", "a"];
  for (const left of [0, 2, 4])
    await attempt(`JWT without ${jwt[left]}`, () =>
      expect(() => isOpen(newStore(), jwt.toSpliced(left, 2))).toThrow("JWT are taken with all of"),
    );
  await attempt("JWT with auth off", () => expect(() => isOpen(newStore(), [...jwt, "--auth", "off"])).toThrow("off"));
  await attempt("keys over http", () =>
    expect(() => isOpen(newStore(), ["--jwks", "http://id.example.com/"])).toThrow("--jwks"),
  );
});

itHolds("open-door", "nor does a server in a program", async ({ attempt }) => {
  const agents = { main: agent({ model: new ScriptedModel([]) }) };
  for (const host of PUBLIC)
    await attempt(host, async () => {
      const starting = startLoomServer({ log: new MemoryLog(), agents, host, port: 0 });
      await expect(starting).rejects.toMatchObject({ code: "invalid_arguments" });
    });
});
