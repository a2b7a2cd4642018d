/** Builds, packs and unpacks the package from the current source, as users get it. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildOnce } from "./build-once.ts";
import { isBuilt } from "../scripts/hash-sources.ts";
import { LONG } from "./sampling.ts";
import { packageRoot } from "./source-files.ts";

const { files, scripts } = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as {
  readonly files: readonly string[];
  readonly scripts: Readonly<Record<string, string>>;
};
const [packs = "", ...PACKED] = scripts["build:vectors"]?.split(" ") ?? [];
const BUILT = [
  "src",
  "scripts/build.ts",
  "tsconfig.json",
  "tsconfig.build.json",
  ...PACKED.filter((name) => name.startsWith("spec/")),
];
const COPIED = ["package.json", "README.md", "LICENSE", ...BUILT, ...files].filter(
  (name) => name !== "dist" && existsSync(join(packageRoot, name)),
);

/** Returns the folder of the unpacked package. It has no dependencies. */
export async function buildPackage(): Promise<string> {
  return join(await buildBoth(), "loom-agent");
}

/** Returns the folder of the package for frontends. */
export async function buildClientPackage(): Promise<string> {
  return join(await buildBoth(), "loom-client");
}

function buildBoth(): Promise<string> {
  return buildOnce({ name: "package", sources: [...COPIED, "test/build-package.ts"], build });
}

/** Takes what `npm run build` has built from the same source, or builds a copy, so that `dist` of the checkout does not change. */
async function build(folder: string): Promise<void> {
  if (isBuilt() && !LONG) {
    copyPublished(packageRoot, join(folder, "loom-agent"));
    cpSync(join(packageRoot, "dist-client"), join(folder, "loom-client"), { recursive: true });
    return;
  }
  const work = mkdtempSync(join(tmpdir(), "loom-build-"));
  try {
    const copy = join(work, "package");
    for (const name of COPIED) cpSync(join(packageRoot, name), join(copy, name), { recursive: true });
    symlinkSync(join(packageRoot, "node_modules"), join(copy, "node_modules"), "junction");
    // `npm run types` checks the types, which takes longer than all the rest.
    run(process.execPath, [join("scripts", "build.ts"), ...(LONG ? [] : ["--no-check"])], copy);
    run(packs, PACKED, copy);
    // npm would read all packages in it.
    rmSync(join(copy, "node_modules"));
    if (LONG) pack(copy, join(folder, "loom-agent"), work);
    else copyPublished(copy, join(folder, "loom-agent"));
    cpSync(join(copy, "dist-client"), join(folder, "loom-client"), { recursive: true });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** What npm publishes, in an archive. `npm run publint` packs too. */
function pack(copy: string, folder: string, work: string): void {
  const [{ filename }] = JSON.parse(
    run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", work], copy),
  ) as [{ readonly filename: string }];
  mkdirSync(folder, { recursive: true });
  run("tar", ["-xzf", join(work, filename), "-C", folder, "--strip-components=1"], work);
}

/** Copies what `files` selects, which is faster than to compress it. */
function copyPublished(copy: string, folder: string): void {
  const omitted = files.filter((pattern) => pattern.startsWith("!")).map((pattern) => pattern.slice(1));
  const selected = ["package.json", "README.md", "LICENSE", ...files.filter((pattern) => !pattern.startsWith("!"))];
  for (const pattern of selected)
    for (const path of globSync(pattern, { cwd: copy, exclude: omitted }))
      cpSync(join(copy, path), join(folder, path), { recursive: true });
}

function run(program: string, args: readonly string[], cwd: string): string {
  const shell = program === "npm" && process.platform === "win32";
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: "utf8", shell });
  if (error) throw error;
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status}\n${stdout}${stderr}`);
  return stdout;
}
