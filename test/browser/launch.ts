/**
 * Launches Chromium for tests. The binary comes compressed in a package for Linux on x64 and is unpacked once into the
 * cache of node_modules. On other platforms, set LOOM_CHROMIUM to an executable; otherwise these tests are skipped.
 */
import { createReadStream, createWriteStream, existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { threadId } from "node:worker_threads";
import { createBrotliDecompress } from "node:zlib";
import { type Browser, chromium } from "playwright-core";
import { packageRoot } from "../source-files.ts";

const require = createRequire(import.meta.url);
const given = process.env["LOOM_CHROMIUM"];

export const hasChromium = given !== undefined || (process.platform === "linux" && process.arch === "x64");

export async function launchChromium(): Promise<Browser> {
  // Containers often lack what the sandbox needs, and the pages are trusted.
  return chromium.launch({ executablePath: await findChromium(), chromiumSandbox: false });
}

/** Returns the path of the executable, unpacking it if needed. */
export async function findChromium(): Promise<string> {
  return given ?? (await unpackChromium());
}

async function unpackChromium(): Promise<string> {
  const home = join(dirname(require.resolve("@sparticuz/chromium")), "..");
  const { version } = JSON.parse(readFileSync(join(home, "package.json"), "utf8")) as { readonly version: string };
  const folder = join(packageRoot, "node_modules", ".cache", `chromium-${version}`);
  const path = join(folder, "chromium");
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  // Rename when complete, because several processes may unpack at the same time.
  const unfinished = `${path}-${process.pid}-${threadId}`;
  const target = createWriteStream(unfinished, { mode: 0o755 });
  await pipeline(createReadStream(join(home, "bin", "chromium.br")), createBrotliDecompress(), target);
  renameSync(unfinished, path);
  return path;
}
