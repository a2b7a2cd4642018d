// The programs in the README, the quickstarts and the guides compile with `strict` against the source.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readBlocks } from "./guide-pages.ts";
import { packageRoot } from "./source-files.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-guide-types-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Options of a user who sets only `strict`. The names of the package resolve to its source. */
const CONFIG = {
  extends: join(packageRoot, "tsconfig.json"),
  compilerOptions: {
    noUncheckedIndexedAccess: false,
    noPropertyAccessFromIndexSignature: false,
    noUnusedLocals: false,
    noUnusedParameters: false,
    paths: {
      "loom-agent": [join(packageRoot, "src/index.ts")],
      "loom-agent/testing": [join(packageRoot, "src/models/testing.ts")],
      "loom-agent/*": [join(packageRoot, "src/*/index.ts")],
    },
  },
  include: ["*.ts"],
};

/** Compiler errors in the programs. Errors in the source are left to `npm run types`. */
async function compile(programs: ReadonlyMap<string, string>): Promise<string[]> {
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(CONFIG));
  symlinkSync(join(packageRoot, "node_modules"), join(folder, "node_modules"));
  for (const [file, text] of programs) writeFileSync(join(folder, file), `${text}\nexport {};\n`);
  const compiler = join(packageRoot, "node_modules", ".bin", "tsc");
  const output = await new Promise<string>((resolve) => {
    execFile(compiler, ["-p", "."], { cwd: folder, maxBuffer: 16 * 1024 * 1024 }, (_, out, err) => resolve(out + err));
  });
  return output.split("\n").filter((line) => [...programs.keys()].some((file) => line.startsWith(file)));
}

describe("programs in the guides", () => {
  it("compile, and a planted error is reported", { timeout: 60_000 }, async () => {
    const blocks = readBlocks().flat();
    const whole = blocks.filter(({ language, text }) => language === "ts" && text.includes('from "loom-agent'));
    expect(whole.length).toBeGreaterThan(50);
    const programs = new Map(whole.map(({ name, text }) => [`${name.replaceAll(/\W+/g, "-")}.ts`, text]));
    programs.set("wrong.ts", 'import { agent } from "loom-agent";\nagent({ model: 7 });\n');
    const output = await compile(programs);
    expect(output.filter((line) => !line.startsWith("wrong.ts"))).toEqual([]);
    expect(output).toHaveLength(1);
  });
});
