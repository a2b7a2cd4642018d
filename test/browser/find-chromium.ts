/**
 * Finds a Chromium for the browser tests: the one that `LOOM_CHROMIUM` names, that of the system, that of Playwright's
 * cache, or the one that comes compressed in a package for Linux on x64, which is unpacked once into the cache of
 * node_modules.
 */
import {
  createReadStream,
  createWriteStream,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
} from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { threadId } from "node:worker_threads";
import { createBrotliDecompress } from "node:zlib";
import { packageRoot } from "../source-files.ts";

export interface FoundChromium {
  readonly from: "LOOM_CHROMIUM" | "system" | "Playwright" | "package";
  /** Returns the path of the executable, and unpacks it first if needed. */
  getPath(): Promise<string>;
}

/** The headless shell, Debian's package of the same name, comes first: the tests take two thirds of the CPU time with it. */
const NAMES = [
  "chromium-headless-shell",
  "chromium",
  "chromium-browser",
  "google-chrome",
  "google-chrome-stable",
  "chrome",
];
const MAC_APPS = [
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/** Where to look; the defaults are those of this machine. */
export interface ChromiumPlaces {
  readonly env?: NodeJS.ProcessEnv;
  readonly platform?: string;
  readonly arch?: string;
  readonly home?: string;
}

export function findChromium(places: ChromiumPlaces = {}): FoundChromium | undefined {
  const { env = process.env, platform = process.platform, home = homedir() } = places;
  const at = (from: FoundChromium["from"], path: string): FoundChromium => ({
    from,
    getPath: () => Promise.resolve(path),
  });
  const given = env["LOOM_CHROMIUM"];
  if (given !== undefined) return at("LOOM_CHROMIUM", given);
  const folders = (env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const paths = [
    ...folders.flatMap((folder) => NAMES.map((name) => join(folder, name))),
    ...(platform === "darwin" ? MAC_APPS : []),
  ];
  const system = paths.find((path) => existsSync(path));
  if (system !== undefined) return at("system", system);
  const cache =
    env["PLAYWRIGHT_BROWSERS_PATH"] ??
    join(home, ...(platform === "darwin" ? ["Library", "Caches"] : [".cache"]), "ms-playwright");
  const inCache = globSync(["chromium-*/chrome-linux*/chrome", "chromium-*/chrome-mac*/*.app/Contents/MacOS/*"], {
    cwd: cache,
  });
  // The newest one. Its folder is named after the build.
  const newest = inCache.toSorted((a, b) => a.localeCompare(b, "en", { numeric: true })).at(-1);
  if (newest !== undefined) return at("Playwright", join(cache, newest));
  return findPackagedChromium(places);
}

/** The one whose version never changes, for stored pictures. */
export function findPackagedChromium({ platform = process.platform, arch = process.arch }: ChromiumPlaces = {}):
  | FoundChromium
  | undefined {
  return platform === "linux" && arch === "x64" ? { from: "package", getPath: unpackChromium } : undefined;
}

async function unpackChromium(): Promise<string> {
  const require = createRequire(import.meta.url);
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
