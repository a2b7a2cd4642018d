import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parseCommand } from "../command.ts";
import { SESSIONS_LIST } from "./session-commands.ts";
import { readServiceAddress } from "./server-settings.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-address-"));
const file = join(folder, "token");
writeFileSync(file, "first\n");
chmodSync(file, 0o600);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const read = (argv: readonly string[], env: { readonly [name: string]: string } = {}) =>
  readServiceAddress(parseCommand(SESSIONS_LIST, argv), env);

test("options override variables, and --store overrides LOOM_SERVER", () => {
  const env = { LOOM_SERVER: "https://a.example", LOOM_STORE: "b.db", LOOM_TOKEN: "t" };
  expect(read([], { LOOM_STORE: "b.db" })).toEqual({ kind: "store", store: "b.db" });
  expect(read([], env)).toMatchObject({ kind: "server", url: "https://a.example", warnings: [] });
  expect(read(["--server", "https://c.example"], env)).toMatchObject({ url: "https://c.example" });
  expect(read(["--store", "c.db"], env)).toEqual({ kind: "store", store: "c.db" });
  expect(read([], { ...env, LOOM_SERVER: " " })).toMatchObject({ kind: "store" });
});

test("a token comes from its file, which is read again for every request, or from LOOM_TOKEN", () => {
  const env = { LOOM_SERVER: "http://127.0.0.1:1", LOOM_TOKEN: "variable" };
  const tokenOf = (address: ReturnType<typeof read>) => (address.kind === "server" ? address.token : undefined);
  expect(tokenOf(read([], env))?.()).toBe("variable");
  const renewed = tokenOf(read(["--token-file", file], env));
  expect(renewed?.()).toBe("first");
  writeFileSync(file, "second\n");
  expect(renewed?.()).toBe("second");
  expect(tokenOf(read([], { LOOM_SERVER: "http://127.0.0.1:1" }))).toBeUndefined();
  writeFileSync(file, " \n");
  expect(() => read([], { ...env, LOOM_TOKEN_FILE: file })).toThrow("is empty");
});

test("warns if a token can be read by others", () => {
  const warningsOf = (server: string, token: { readonly [name: string]: string } = { LOOM_TOKEN: "t" }) => {
    const address = read([], { LOOM_SERVER: server, ...token });
    return address.kind === "server" ? address.warnings : [];
  };
  expect(warningsOf("http://a.example")).toEqual([expect.stringContaining("without encryption")]);
  expect(warningsOf("http://a.example", {})).toEqual([]);
  expect(["http://localhost:1", "http://[::1]:1", "https://a.example"].flatMap((server) => warningsOf(server))).toEqual(
    [],
  );
  const open = join(folder, "my token");
  writeFileSync(open, "t");
  chmodSync(open, 0o644);
  const shown = warningsOf("https://a.example", { LOOM_TOKEN_FILE: open });
  expect(shown).toEqual(
    process.platform === "win32" ? [] : [`${open} is readable by other users; run chmod 600 '${open}'`],
  );
});
