// Packs the built package and installs it into an empty project, as users do. Checks that npm prints no warning, that the
// size stays within its limits, that every entry point is imported quickly on the oldest and the newest Node, that its types
// compile with several versions of TypeScript, and what are-the-types-wrong says.
//
//   npm run package:check
//
// Needs the npm registry: the tools below are installed for one run, because no other script uses them.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const MAX_PACKED_BYTES = 4_000_000;
const MAX_UNPACKED_BYTES = 12_000_000;
/** Processor time of the import of one entry point. */
const MAX_IMPORT_MS = 800;
const COMPILERS = { "typescript-5": "5.9.3", "typescript-6": "6.0.3", "typescript-7": "7.0.2" };
const OLDEST_NODE = "24.9.0";
const TYPES_CHECKER = "0.18.5";
/** Optional packages that an entry point cannot do without. */
const NEEDED_BY_ENTRY_POINTS = ["react@19", "ai@7"];
/** The declarations of `ai` need those of `json-schema`. */
const TYPES = ["@types/node@26", "@types/react@19", "@types/json-schema@7"];

interface Manifest {
  readonly name: string;
  readonly exports: { readonly [path: string]: unknown };
}

interface Result {
  readonly code: number | null;
  readonly output: string;
}

const faults: string[] = [];
const work = mkdtempSync(join(tmpdir(), "loom-check-package-"));
const user = join(work, "user");
const tools = join(work, "tools");
const { name, exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Manifest;
const entryPoints = Object.keys(exports)
  .filter((path) => !/\.(?:json|css)$/.test(path))
  .map((path) => name + path.slice(1));

function run(program: string, args: readonly string[], cwd: string): Result {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: "utf8",
    shell: process.platform === "win32" && program === "npm",
    env: { ...process.env, NO_COLOR: "1" },
  });
  if (error) throw error;
  return { code: status, output: stdout + stderr };
}

/** Runs a step, and keeps its output if it failed. */
function check(what: string, { code, output }: Result, isGood = code === 0): void {
  console.log(`${isGood ? "ok" : "FAILED"}: ${what}`);
  if (!isGood) faults.push(`${what}\n${output.trim()}`);
}

function install(folder: string, ...packages: readonly string[]): Result {
  return run("npm", ["install", "--no-audit", "--no-fund", ...packages], folder);
}

function createProject(folder: string): void {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), `{ "name": "user", "private": true, "type": "module" }\n`);
}

/** Packs the built files and checks their size. Returns the path of the archive. */
function pack(): string {
  const { code, output } = run(
    "npm",
    ["pack", "--json", "--ignore-scripts", "--silent", "--pack-destination", work],
    ROOT,
  );
  if (code !== 0) throw new Error(output);
  const [packed] = JSON.parse(output) as [
    { readonly filename: string; readonly size: number; readonly unpackedSize: number; readonly entryCount: number },
  ];
  const inMegabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
  const size = `${inMegabytes(packed.size)} packed, ${inMegabytes(packed.unpackedSize)} unpacked, ${packed.entryCount} files`;
  const limits = `limits: ${inMegabytes(MAX_PACKED_BYTES)} and ${inMegabytes(MAX_UNPACKED_BYTES)}`;
  const isSmall = packed.size <= MAX_PACKED_BYTES && packed.unpackedSize <= MAX_UNPACKED_BYTES;
  check(`size: ${size} (${limits})`, { code: 0, output: "too large" }, isSmall);
  return join(work, packed.filename);
}

/** Imports every entry point in a new process each, and checks the processor time of each import. */
function checkImports(node: string): void {
  const version = run(node, ["--version"], user).output.trim();
  for (const specifier of entryPoints) {
    const program = `const started = process.cpuUsage(); await import("${specifier}");
      const { user, system } = process.cpuUsage(started); console.log(Math.round((user + system) / 1000)); process.exit();`;
    const result = run(node, ["--input-type=module", "--eval", program], user);
    const isQuiet = /^\d+\n$/.test(result.output);
    const isFast = Number(result.output) <= MAX_IMPORT_MS;
    check(
      `${version} imports ${specifier} (${result.output.trim().slice(0, 20)} ms, limit: ${MAX_IMPORT_MS} ms)`,
      result,
      result.code === 0 && isQuiet && isFast,
    );
  }
}

/** Compiles a file that uses every entry point, and checks the declarations too. */
function checkTypes(compiler: string, version: string, moduleResolution: "nodenext" | "bundler"): void {
  const lines = entryPoints.map((specifier, index) => `import * as entry${index} from "${specifier}";`);
  writeFileSync(
    join(user, "use.ts"),
    `${lines.join("\n")}\nconsole.log(${entryPoints.map((_, i) => `entry${i}`).join(", ")});\n`,
  );
  const module = moduleResolution === "nodenext" ? "nodenext" : "preserve";
  const lib = "es2024,esnext.disposable,dom,dom.iterable,dom.asynciterable";
  const options = `--noEmit --strict --skipLibCheck false --target es2024 --lib ${lib} --types node --jsx react-jsx`;
  const args = [join(tools, "node_modules", compiler, "bin", "tsc"), ...options.split(" "), "--module", module];
  const result = run(process.execPath, [...args, "--moduleResolution", moduleResolution, "use.ts"], user);
  check(`TypeScript ${version} compiles all entry points (${moduleResolution})`, result);
}

try {
  createProject(user);
  createProject(tools);
  const archive = pack();
  const installed = install(user, archive);
  // Warnings about the settings of this machine are not about the package.
  const isQuiet = !/\bwarn(?! Unknown (?:user|env|project) config)/i.test(installed.output);
  check("npm install without warnings", installed, installed.code === 0 && isQuiet);
  for (const command of ["loom", name]) {
    const result = run("npx", ["--no-install", command, "--version"], user);
    check(`npx ${command}`, result);
  }
  check("install packages to use with it", install(user, ...NEEDED_BY_ENTRY_POINTS, ...TYPES));
  const compilers = Object.entries(COMPILERS).map(([alias, version]) => `${alias}@npm:typescript@${version}`);
  const others = [`oldest-node@npm:node@${OLDEST_NODE}`, `@arethetypeswrong/cli@${TYPES_CHECKER}`];
  check("install the tools of this check", install(tools, ...compilers, ...others));
  checkImports(join(tools, "node_modules", "oldest-node", "bin", "node"));
  checkImports(process.execPath);
  for (const [alias, version] of Object.entries(COMPILERS)) {
    checkTypes(alias, version, "nodenext");
    checkTypes(alias, version, "bundler");
  }
  const typesChecker = join(tools, "node_modules", "@arethetypeswrong", "cli", "dist", "index.js");
  const options = ["--profile", "esm-only", "--exclude-entrypoints", "react/style.css", "--format", "ascii"];
  check("are-the-types-wrong", run(process.execPath, [typesChecker, archive, ...options], work));
} finally {
  rmSync(work, { recursive: true, force: true });
}

for (const fault of faults) console.error(`\ncheck-package: ${fault}`);
process.exitCode = faults.length === 0 ? 0 : 1;
