// The package as a user gets it: built, packed and unpacked into an empty project in a temporary folder. Every door
// must open there, and the command must run there, also when it is started by a Node that is too old for Loom.
import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { packageRoot } from "./source-files.ts";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly files: readonly string[];
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

/** What the components are made with. */
const COMPONENTS = ["marked", "@tanstack/virtual-core"];
const manifest = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as Manifest;
const folder = realpathSync(mkdtempSync(join(tmpdir(), "loom-package-")));
const project = join(folder, "project");
const installed = join(project, "node_modules", manifest.name);
const command = join(installed, "bin", "loom.js");

/** Runs a program to its end and gives back what a caller would see; fails the test when it cannot start. */
function run(
  program: string,
  args: readonly string[],
  cwd = project,
): { code: number | null; out: string; err: string } {
  const shell = program === "npm" && process.platform === "win32";
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: "utf8", shell });
  if (error) throw error;
  return { code: status, out: stdout, err: stderr };
}

function runOrFail(program: string, args: readonly string[], cwd: string): string {
  const { code, out, err } = run(program, args, cwd);
  if (code !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${code}\n${out}${err}`);
  return out;
}

beforeAll(() => {
  // Built and packed from a copy, so that the checkout's own dist is left alone.
  const copy = join(folder, "package");
  mkdirSync(copy);
  for (const name of ["package.json", "README.md", "LICENSE", ...manifest.files]) {
    const source = join(packageRoot, name);
    if (name !== "dist" && existsSync(source)) cpSync(source, join(copy, name), { recursive: true });
  }
  const compiler = join(packageRoot, "node_modules", "typescript", "bin", "tsc");
  runOrFail(process.execPath, [compiler, "-p", "tsconfig.build.json", "--outDir", join(copy, "dist")], packageRoot);
  runOrFail("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], copy);

  // Unpacking is installing, but for the packages that the server needs.
  mkdirSync(installed, { recursive: true });
  writeFileSync(join(project, "package.json"), `{ "name": "user", "private": true, "type": "module" }\n`);
  const tarball = join(folder, `${manifest.name}-${manifest.version}.tgz`);
  runOrFail("tar", ["-xzf", tarball, "-C", installed, "--strip-components=1"], folder);
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe("the installed package", () => {
  it("holds what is published and no source or test", () => {
    expect(existsSync(join(installed, "dist", "index.js"))).toBe(true);
    expect(existsSync(join(installed, "LICENSE"))).toBe(true);
    expect(existsSync(join(installed, "src"))).toBe(false);
    expect(existsSync(join(installed, "test"))).toBe(false);
  });

  const doors = Object.keys(manifest.exports).filter((door) => !/\.(?:json|css)$/.test(door));
  it.each(doors)("opens the door %s", (door) => {
    // Only these doors, the last, ask for packages: an optional peer, which comes with the user, and what the server needs.
    const needed =
      door === "./react" ? ["react", ...COMPONENTS] : door === "./server" ? Object.keys(manifest.dependencies) : [];
    for (const name of needed)
      cpSync(join(packageRoot, "node_modules", name), join(project, "node_modules", name), { recursive: true });
    const specifier = manifest.name + door.slice(1);
    const program = `import * as door from ${JSON.stringify(specifier)}; console.log(Object.keys(door).length);`;
    const { code, out, err } = run(process.execPath, ["--input-type=module", "-e", program]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(Number(out)).toBeGreaterThan(0);
  });

  it("writes a store with a thread of its own, and reads it from another process", () => {
    for (const name of ["durable-sender.ts", "follow.ts"])
      cpSync(join(packageRoot, "examples", name), join(project, name));
    const store = join(folder, "store", "loom.db");
    const sent = run(process.execPath, ["durable-sender.ts", store, "0"]);
    expect(sent).toEqual({ code: 0, out: `writing session "demo" to ${store}\ndone\n`, err: "" });
    const { code, out } = run(process.execPath, ["follow.ts", "loom", store]);
    expect(code).toBe(0);
    const checked = spawnSync(process.execPath, [command, "check"], { input: out, encoding: "utf8" });
    expect(checked.stdout).toMatch(/^clean: \d+ loom frames, 1 session, 1 run, /);
  });

  it("runs the command", () => {
    const { code, out, err } = run(process.execPath, [command, "--version"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain(manifest.version);
  });
});

const oldNode = ["/usr/bin/node", "/usr/local/bin/node"].find((path) => {
  if (!existsSync(path)) return false;
  const major = Number(/^v(\d+)/.exec(run(path, ["--version"], tmpdir()).out)?.[1]);
  return major < 24;
});

describe.skipIf(oldNode === undefined)("started by an older Node (skipped where none is installed)", () => {
  const old = oldNode ?? "";
  const nodePackage = join(project, "node_modules", "node");

  /** Puts a stand-in for the `node` package beside Loom: a shell script in the place of its executable. */
  function plantNodePackage(script: string): void {
    mkdirSync(join(nodePackage, "bin"), { recursive: true });
    const executable = join(nodePackage, "bin", "node");
    writeFileSync(executable, `#!/bin/sh\n${script}\n`);
    chmodSync(executable, 0o755);
  }

  afterEach(() => {
    rmSync(nodePackage, { recursive: true, force: true });
  });

  it("says which Node it found and what to do, in two lines", () => {
    const { code, out, err } = run(old, [command, "--version"]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err.trimEnd().split("\n")).toHaveLength(2);
    expect(err).toContain(run(old, ["-p", "process.versions.node"]).out.trim());
    expect(err).toContain(">=24");
    expect(err).toContain("npm install node@");
  });

  it("re-runs itself with the node package", () => {
    plantNodePackage(`echo re-run >&2; exec "${process.execPath}" "$@"`);
    const { code, out, err } = run(old, [command, "--version"]);
    expect({ code, err }).toEqual({ code: 0, err: "re-run\n" });
    expect(out).toContain(manifest.version);
  });

  it("passes on arguments and the exit code", () => {
    plantNodePackage(`shift; printf '%s|' "$@"; exit 7`);
    expect(run(old, [command, "check", "a b", "--json"])).toEqual({ code: 7, out: "check|a b|--json|", err: "" });
  });

  it("does not re-run for ever when the node package is too old as well", () => {
    plantNodePackage(`echo re-run >&2; exec "${old}" "$@"`);
    const { code, err } = run(old, [command, "--version"]);
    expect(code).toBe(2);
    expect(err.split("\n").filter((line) => line === "re-run")).toHaveLength(1);
    expect(err).toContain(">=24");
  });

  it.each(["SIGINT", "SIGTERM"] as const)("forwards %s", async (signal) => {
    // It ends by itself after a while, so that a lost signal fails this test and leaves nothing behind.
    const program =
      `process.on("${signal}", () => { console.log("got ${signal}"); process.exit(9); });` +
      `setTimeout(() => process.exit(1), 10_000); console.log("ready");`;
    plantNodePackage(`exec "${process.execPath}" -e '${program}'`);
    const child = spawn(old, [command], { cwd: project, stdio: ["ignore", "pipe", "inherit"] });
    let out = "";
    const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
      if (text.includes("ready")) child.kill(signal);
    });
    expect({ code: await ended, out }).toEqual({ code: 9, out: `ready\ngot ${signal}\n` });
  });

  it("dies by the signal that killed the command", async () => {
    plantNodePackage(`kill -KILL $$`);
    const child = spawn(old, [command], { cwd: project, stdio: "ignore" });
    const signal = await new Promise((resolve) => child.on("close", (_code, name) => resolve(name)));
    expect(signal).toBe("SIGKILL");
  });
});
