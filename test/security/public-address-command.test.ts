/** The `loom serve` command refuses to listen on a public address without a token, and explains why. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { folder, loom } from "../cli-run.ts";
import { testThreat } from "./test-threat.ts";

const HINT = /create a token with `loom token create NAME --store \S+`, then start the server again/;
let count = 0;
const newStore = (): string => join(folder, `public-${++count}`, "loom.db");

/** Starts the server as `npm start` does, configured by environment variables. */
const start = (store: string, env: { readonly [name: string]: string }) =>
  loom(["serve", "--store", store, "--kb", "none"], { env: { LOOM_PORT: "0", ...env } });

describe("`loom serve` on a public address", () => {
  testThreat(
    "unintended-exposure",
    "exits with code 2 before it listens, creates no files, and explains what to do",
    async ({ attempt }) => {
      const cases: { readonly [host: string]: { readonly [name: string]: string } } = {
        "0.0.0.0": {},
        "::": {},
        "192.168.1.5": { LOOM_AUTH: "on" },
        "10.1.2.3": { LOOM_AUTH: "off" },
      };
      await Promise.all(
        Object.entries(cases).map(([host, env]) =>
          attempt(`LOOM_HOST=${host} ${JSON.stringify(env)}`, async () => {
            const store = newStore();
            const { code, out, err } = await start(store, { LOOM_HOST: host, ...env });
            expect([code, out, existsSync(store), existsSync(`${store}-auth`)]).toEqual([2, "", false, false]);
            expect(err).toContain(`other machines can reach ${host} `);
            expect(err).toMatch(/no token exists yet|authentication is off/);
            expect(err).toMatch(env["LOOM_AUTH"] === "off" ? /loom token create NAME/ : HINT);
          }),
        ),
      );
    },
  );

  testThreat("unintended-exposure", "does not accept a revoked token", async ({ attempt }) => {
    const store = newStore();
    expect((await loom(["token", "create", "laptop", "--store", store])).code).toBe(0);
    expect((await loom(["token", "revoke", "laptop", "--store", store])).code).toBe(0);
    await attempt("all tokens are revoked", async () => {
      const { code, out, err } = await start(store, { LOOM_HOST: "0.0.0.0", LOOM_ALLOW_PUBLIC: "1" });
      expect([code, out]).toEqual([2, ""]);
      expect(err).toContain("every token is revoked or expired");
    });
  });
});
