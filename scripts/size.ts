/**
 * Measures the size of the project, and compares each figure with its limit in `size-limits.json`. A figure that exceeds
 * its limit is a fault: make it smaller, or raise the limit and give the reason beside it.
 *
 *   npm run size                prints a table; needs a build
 *   npm run size -- --json      prints the figures as JSON
 *   npm run size -- --check     prints only what exceeds its limit; the exit code is 1 if anything does
 *
 * Times are CPU times relative to an empty Node process in the same run.
 */
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import type { CliCommand } from "../src/cli/command.ts";
import { COMMANDS } from "../src/cli/main.ts";
import { SETTING_KEYS } from "../src/cli/serve/settings.ts";
import { readEntryPoints } from "./generate/read-public-api.ts";
import { ROOT } from "./generate/write-files.ts";
import { TEST_TIMES } from "./slowest-files.ts";

interface Limit {
  readonly limit: number;
  /** Why the limit was raised. */
  readonly reason?: string;
}

type Figures = { [name: string]: number };

const LIMITS = JSON.parse(readFileSync(join(ROOT, "size-limits.json"), "utf8")) as { readonly [name: string]: Limit };

const SMALL_FILE_LINES = 30;
const ROUNDS = 5;
/** A busy machine needs more rounds until one is not disturbed. */
const MAX_ROUNDS = 30;
const PAGE = join("dist", "page");

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const countLines = (path: string): number => read(path).split("\n").length - 1;

/** The files that are measured, with `/` in their paths. */
function listFiles(): readonly string[] {
  const patterns = ["{src,web,test}/**/*.{ts,tsx,css,json}", "docs/**/*.md", "*.md"];
  const exclude = (path: string): boolean => path.includes("node_modules");
  return globSync(patterns, { cwd: ROOT, exclude }).map((path) => path.replaceAll("\\", "/"));
}

function run(program: string, args: readonly string[]): { readonly stdout: string } {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 1e8,
    shell: process.platform === "win32" && program === "npm",
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} failed:\n${stderr}`);
  return { stdout };
}

/** Lines and files by folder of `src`, and of the page. Tests, generated code and data are apart. */
function measureCode(files: readonly string[], figures: Figures): void {
  const isCode = (path: string): boolean => /^(?:src|web)\//.test(path) && /\.(?:tsx?|css)$/.test(path);
  const isTest = (path: string): boolean => /\.test\.tsx?$/.test(path);
  const isGenerated = (path: string): boolean => path.includes(".generated.");
  const code = files.filter(isCode);
  const own = code.filter((path) => !isTest(path) && !isGenerated(path));
  const sum = (paths: readonly string[]): number => paths.reduce((total, path) => total + countLines(path), 0);
  figures["lines"] = sum(own);
  const folders = Map.groupBy(own, (path) =>
    path.startsWith("web/") ? "web" : (/^src\/[^/]+(?=\/)/.exec(path)?.[0] ?? "src"),
  );
  for (const [folder, paths] of [...folders].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    figures[`lines of ${folder}`] = sum(paths);
  figures["lines, generated"] = sum(code.filter(isGenerated));
  figures["lines of tests"] = sum([...code.filter(isTest), ...files.filter((path) => /^test\/.*\.tsx?$/.test(path))]);
  figures["lines of data"] = sum(files.filter((path) => /^(?:src|web\/src)\/.*\.json$/.test(path)));
  figures["files"] = own.length;
  figures[`files of at most ${SMALL_FILE_LINES} lines`] = own.filter(
    (path) => countLines(path) <= SMALL_FILE_LINES,
  ).length;
}

function measureSurface(figures: Figures): void {
  const entryPoints = readEntryPoints();
  figures["public names of the root"] = entryPoints[0]?.names.length ?? 0;
  figures["public names"] = new Set(
    entryPoints.flatMap(({ names }) => names.map(({ declaration }) => declaration)),
  ).size;
  const commands = COMMANDS.map(({ command }) => command);
  const listOptions = ({ options, subcommands = [] }: CliCommand): readonly string[] => [
    ...Object.keys(options),
    ...subcommands.flatMap(listOptions),
  ];
  figures["commands"] = commands.length;
  figures["command options"] = new Set(commands.flatMap(listOptions)).size;
  figures["settings"] = SETTING_KEYS.length;
}

/**
 * Words of the documentation. Sections between `<!-- generated:… -->` and `<!-- /generated -->` are counted apart. So are
 * the tables of proofs, which have the tests of each statement of a specification (`docs/conformance.md`) and of each
 * threat (`docs/threats.md`), and the pages in `docs/contributing`, which describe how to change Loom itself.
 */
function measureDocs(files: readonly string[], figures: Figures): void {
  const generated = /<!-- generated:[^>]*-->[\s\S]*?<!-- \/generated -->/g;
  const countWords = (text: string): number => text.match(/[\p{L}\p{N}][\p{L}\p{N}'’_-]*/gu)?.length ?? 0;
  const pages = files.filter((path) => /^(?:docs\/.*|README|CHANGELOG)[^/]*\.md$/.test(path) && !/\bzh\b/i.test(path));
  const counts = { users: 0, proofs: 0, contributors: 0, decisions: 0, changelog: 0, generated: 0 };
  const kinds: { readonly [start: string]: keyof typeof counts } = {
    "docs/decisions/": "decisions",
    "docs/contributing/": "contributors",
    "docs/conformance.md": "proofs",
    "docs/threats.md": "proofs",
    "CHANGELOG.md": "changelog",
  };
  const kindOf = (path: string): keyof typeof counts =>
    Object.entries(kinds).find(([start]) => path.startsWith(start))?.[1] ?? "users";
  for (const path of pages) {
    const text = read(path);
    for (const [section] of text.matchAll(generated)) counts.generated += countWords(section);
    counts[kindOf(path)] += countWords(text.replaceAll(generated, ""));
  }
  figures["pages for users"] = pages.filter((path) => kindOf(path) === "users").length;
  figures["words for users"] = counts.users;
  figures["words of the proofs"] = counts.proofs;
  figures["words for contributors"] = counts.contributors;
  figures["words of decisions"] = counts.decisions;
  figures["words of the changelog"] = counts.changelog;
  figures["words, generated"] = counts.generated;
  figures["decisions"] = pages.filter((path) => /^docs\/decisions\/\d/.test(path)).length;
}

function measurePackage(figures: Figures): void {
  const { stdout } = run("npm", ["pack", "--dry-run", "--json", "--ignore-scripts", "--silent"]);
  const [packed] = JSON.parse(stdout) as [
    { readonly size: number; readonly unpackedSize: number; readonly entryCount: number },
  ];
  figures["package, packed (kB)"] = Math.round(packed.size / 1000);
  figures["package, unpacked (kB)"] = Math.round(packed.unpackedSize / 1000);
  figures["package, files"] = packed.entryCount;
  figures["npm ci (MB)"] = Math.round(sizeOf(join(ROOT, "node_modules")) / 1e6);
  figures["first view of the page (kB)"] = Math.round(measureFirstView() / 1000);
}

/**
 * Bytes of a folder, as allocated on disk, without caches: folders whose names start with a dot. A file with several links
 * counts once.
 */
function sizeOf(folder: string, counted = new Set<number>()): number {
  let total = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) total += entry.name.startsWith(".") ? 0 : sizeOf(path, counted);
    if (!entry.isFile()) continue;
    const { ino, blocks } = statSync(path);
    if (!counted.has(ino)) total += blocks * 512;
    counted.add(ino);
  }
  return total;
}

/** Scripts and styles that the page needs until it is shown, compressed. */
function measureFirstView(): number {
  const html = read(join(PAGE, "index.html"));
  const found = new Set([...html.matchAll(/assets\/([\w-]+\.(?:js|css))"/g)].map(([, name = ""]) => name));
  let total = gzipSync(html).length;
  // Iterating over a set includes the elements added meanwhile.
  for (const name of found) {
    const text = read(join(PAGE, "assets", name));
    total += gzipSync(text).length;
    if (extname(name) !== ".js") continue;
    for (const [, other = ""] of text.matchAll(/(?:\bfrom|\bimport)\s*["']\.\/([\w-]+\.js)["']/g)) found.add(other);
  }
  return total;
}

/** CPU time of imports and commands, relative to an empty process. */
function measureStart(figures: Figures): void {
  const folder = mkdtempSync(join(tmpdir(), "loom-size-"));
  // As in the installed package. In a checkout, the command runs the source.
  for (const name of ["bin", "package.json"]) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, "dist"), join(folder, "dist"), "junction");
  const loom = (...args: readonly string[]): string => {
    const command = join(folder, "bin", "loom.js");
    const argv = [process.execPath, command, ...args, "--store", join(folder, "loom.db")];
    return `process.env.XDG_CACHE_HOME = ${JSON.stringify(folder)}; process.argv = ${JSON.stringify(argv)};
      await import(${JSON.stringify(pathToFileURL(command).href)});`;
  };
  const runAgent = loom("run", "6*7", "--no-stdin");
  const programs: { readonly [name: string]: string } = {
    "empty Node": "",
    'import "loom-agent"': 'await import("loom-agent");',
    'import "loom-agent/client"': 'await import("loom-agent/client");',
    'import "loom-agent/server"': 'await import("loom-agent/server");',
    "loom --version": loom("--version"),
    "loom sessions list": loom("sessions", "list"),
    'loom run "6*7"': runAgent,
  };
  // Creates the store, and the cache of Node.
  for (const program of [runAgent, ...Object.values(programs)]) measureProcess(program);
  const times = new Map<string, number[]>();
  // The lowest of some rounds: other work on the machine only adds to it.
  const lowest = (name: string): number => Math.min(...(times.get(name) ?? []));
  const compare = (name: string): number => Number((lowest(name) / lowest("empty Node")).toFixed(1));
  const keyOf = (name: string): string => `${name} (× empty Node)`;
  const measured = Object.keys(programs).slice(1);
  const isOver = (): boolean => measured.some((name) => compare(name) > (LIMITS[keyOf(name)]?.limit ?? Infinity));
  for (let round = 0; round < ROUNDS || (round < MAX_ROUNDS && isOver()); round++)
    for (const [name, program] of Object.entries(programs)) {
      const taken = times.get(name) ?? [];
      taken.push(measureProcess(program));
      times.set(name, taken);
    }
  rmSync(folder, { recursive: true });
  for (const name of measured) figures[keyOf(name)] = compare(name);
}

/** CPU time of a program in a new process, in milliseconds. */
function measureProcess(program: string): number {
  const report = 'process.on("exit", () => fs.writeSync(3, JSON.stringify(process.cpuUsage())));';
  const { status, output, stderr, error } = spawnSync(
    process.execPath,
    ["--eval", `${report}\n(async () => { ${program} })();`],
    { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "pipe", "pipe"] },
  );
  if (error) throw error;
  if (status !== 0) throw new Error(`A measured program failed: ${program}\n${stderr}`);
  const { user, system } = JSON.parse(output[3] ?? "") as NodeJS.CpuUsage;
  return (user + system) / 1000;
}

/** CPU time of the last whole run of the tests on this machine, if there was one. */
function measureTests(figures: Figures): void {
  if (existsSync(TEST_TIMES))
    figures["npm test (CPU s)"] = Math.round((JSON.parse(readFileSync(TEST_TIMES, "utf8")) as { cpu: number }).cpu);
}

const figures: Figures = {};
const files = listFiles();
measureCode(files, figures);
measureSurface(figures);
measureDocs(files, figures);
measurePackage(figures);
measureStart(figures);
measureTests(figures);

const over = Object.entries(figures).filter(([name, value]) => value > (LIMITS[name]?.limit ?? -1));
const unknown = Object.keys(LIMITS).filter((name) => !(name in figures) && name !== "npm test (CPU s)");
if (process.argv.includes("--json")) console.log(JSON.stringify(figures, null, 2));
else if (!process.argv.includes("--check"))
  for (const [name, value] of Object.entries(figures)) {
    const limit = LIMITS[name]?.limit;
    console.log(`${name.padEnd(44)}${String(value).padStart(10)}${String(limit ?? "-").padStart(10)}`);
  }
for (const [name, value] of over) {
  const limit = LIMITS[name]?.limit;
  console.error(
    limit === undefined
      ? `size: "${name}" has no limit in size-limits.json`
      : `size: "${name}" is ${value}, the limit is ${limit}`,
  );
}
for (const name of unknown) console.error(`size: size-limits.json has a limit for "${name}", which is not measured`);
process.exitCode = over.length + unknown.length === 0 ? 0 : 1;
