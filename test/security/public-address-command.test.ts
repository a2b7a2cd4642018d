/** The command itself, as it is started: beyond this machine it does not listen without a token, and says why. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { folder, loom } from "../cli-run.ts";
import { itHolds } from "./it-holds.ts";

const HINT = /make a token with `loom token create NAME --store \S+`, and start it again/;
let count = 0;
const newStore = (): string => join(folder, `door-${++count}`, "loom.db");

/** As `npm start` does, with what the environment says. */
const start = (store: string, env: { readonly [name: string]: string }) =>
  loom(["serve", "--store", store, "--kb", "none"], { env: { LOOM_PORT: "0", ...env } });

describe("`loom serve` for others", () => {
  itHolds("open-door", "ends with 2 before it listens, makes nothing, and says what to do", async ({ attempt }) => {
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
          expect(err).toContain(`others can reach ${host}, `);
          expect(err).toMatch(/there is no token yet|`auth` is off/);
          expect(err).toMatch(env["LOOM_AUTH"] === "off" ? /loom token create NAME/ : HINT);
        }),
      ),
    );
  });

  itHolds("open-door", "does not take a token that was revoked for one", async ({ attempt }) => {
    const store = newStore();
    expect((await loom(["token", "create", "laptop", "--store", store])).code).toBe(0);
    expect((await loom(["token", "revoke", "laptop", "--store", store])).code).toBe(0);
    await attempt("with tokens that are all revoked", async () => {
      const { code, out, err } = await start(store, { LOOM_HOST: "0.0.0.0", LOOM_ALLOW_PUBLIC: "1" });
      expect([code, out]).toEqual([2, ""]);
      expect(err).toContain("every token is revoked or over");
    });
  });
});
