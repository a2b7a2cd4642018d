// The programs in the README, the quickstarts and the guides compile with `strict` against the type declarations of the
// package, without the members that are marked `@internal`. The declarations themselves compile too.
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { buildPackage } from "./build-package.ts";
import { readBlocks } from "./guide-pages.ts";
import { packageRoot } from "./source-files.ts";
import { LONG } from "./sampling.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-guide-types-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Options of a user who sets only `strict`. The names of the package resolve to its type declarations. */
const CONFIG = {
  extends: join(packageRoot, "tsconfig.json"),
  compilerOptions: {
    noUncheckedIndexedAccess: false,
    noPropertyAccessFromIndexSignature: false,
    noUnusedLocals: false,
    noUnusedParameters: false,
    skipLibCheck: false,
    skipDefaultLibCheck: true,
    paths: {
      "loom-agent": ["./types/index.d.ts"],
      "loom-agent/testing": ["./types/models/testing.d.ts"],
      "loom-agent/*": ["./types/*/index.d.ts"],
    },
  },
  include: ["*.ts", "*.tsx"],
};

/** Compiler errors in the programs and in the declarations. Errors in other packages are left out. */
async function compile(programs: ReadonlyMap<string, string>): Promise<string[]> {
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(CONFIG));
  symlinkSync(join(packageRoot, "node_modules"), join(folder, "node_modules"));
  for (const [file, text] of programs) writeFileSync(join(folder, file), `${text}\nexport {};\n`);
  cpSync(join(await buildPackage(), "dist"), join(folder, "types"), {
    recursive: true,
    filter: (path) => !path.endsWith(".js"),
  });
  // Bundlers bring the types of style sheets.
  writeFileSync(join(folder, "styles.d.ts"), 'declare module "*.css";\n');
  writeFileSync(join(folder, "types", "wrong.d.ts"), "export declare const wrong: Missing;\n");
  const output = await runCompiler(["-p", "."]);
  return output
    .split("\n")
    .filter((line) => line.startsWith("types/") || [...programs.keys()].some((file) => line.startsWith(file)));
}

function runCompiler(options: readonly string[]): Promise<string> {
  const compiler = join(packageRoot, "node_modules", ".bin", "tsc");
  return new Promise((resolve) => {
    execFile(compiler, options, { cwd: folder, maxBuffer: 16 * 1024 * 1024 }, (_, out, err) => resolve(out + err));
  });
}

describe("programs in the guides", () => {
  it.runIf(LONG)(
    "compile, and planted errors in a program and in a declaration are reported",
    { timeout: 180_000 },
    async () => {
      const blocks = readBlocks().flat();
      const whole = blocks.filter(({ language, text }) => /^tsx?$/.test(language) && text.includes('from "loom-agent'));
      expect(whole.length).toBeGreaterThan(50);
      const programs = new Map(
        whole.map(({ name, language, text }) => [`${name.replaceAll(/\W+/g, "-")}.${language}`, text]),
      );
      programs.set(
        "wrong.ts",
        'import { agent } from "loom-agent";\nimport { wrong } from "./types/wrong.js";\nagent({ model: 7 });\nvoid wrong;\n',
      );
      const output = await compile(programs);
      const [inProgram = "", inDeclaration = "", ...rest] = output.toSorted((a, b) => (a > b ? -1 : 1));
      expect(rest).toEqual([]);
      expect(inProgram).toMatch(/^wrong\.ts\(3,9\): error TS2322:/);
      expect(inDeclaration).toMatch(/^types\/wrong\.d\.ts\(1,\d+\): error TS2304:/);
    },
  );
});
