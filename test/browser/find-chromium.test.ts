import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { findChromium } from "./find-chromium.ts";

const home = mkdtempSync(join(tmpdir(), "loom-find-chromium-"));
const cache = join(home, "browsers");
const touch = (...names: readonly string[]): string => {
  const path = join(home, ...names);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "");
  return path;
};

it("takes the named one, the system's, that of Playwright and the packaged one, in this order", async () => {
  const linux = { platform: "linux", arch: "x64", home };
  const env = { PATH: join(home, "bin"), PLAYWRIGHT_BROWSERS_PATH: cache };
  expect(findChromium({ ...linux, env })?.from).toBe("package");
  expect(findChromium({ ...linux, arch: "arm64", env })).toBeUndefined();
  touch("browsers", "chromium-999", "chrome-linux", "chrome");
  const newest = touch("browsers", "chromium-1200", "chrome-linux", "chrome");
  const cached = findChromium({ ...linux, arch: "arm64", env });
  expect([cached?.from, await cached?.getPath()]).toEqual(["Playwright", newest]);
  const installed = touch("bin", "chromium");
  const own = findChromium({ ...linux, env });
  expect([own?.from, await own?.getPath()]).toEqual(["system", installed]);
  const shell = touch("bin", "chromium-headless-shell");
  expect(await findChromium({ ...linux, env })?.getPath()).toBe(shell);
  const named = findChromium({ ...linux, env: { ...env, LOOM_CHROMIUM: "/opt/chrome" } });
  expect([named?.from, await named?.getPath()]).toEqual(["LOOM_CHROMIUM", "/opt/chrome"]);
});
