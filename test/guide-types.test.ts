// The programs in the README, the quickstarts and the guides compile as they stand, under `strict`, against the source.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readBlocks } from "./guide-pages.ts";
import { packageRoot } from "./source-files.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-guide-types-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What those have set who set nothing but `strict`; the names of the package mean its source. */
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

/** What the compiler says of the programs; of the source it speaks elsewhere. */
async function compile(programs: ReadonlyMap<string, string>): Promise<string[]> {
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(CONFIG));
  symlinkSync(join(packageRoot, "node_modules"), join(folder, "node_modules"));
  for (const [file, text] of programs) writeFileSync(join(folder, file), `${text}\nexport {};\n`);
  const compiler = join(packageRoot, "node_modules", ".bin", "tsc");
  const said = await new Promise<string>((resolve) => {
    execFile(compiler, ["-p", "."], { cwd: folder, maxBuffer: 16 * 1024 * 1024 }, (_, out, err) => resolve(out + err));
  });
  return said.split("\n").filter((line) => [...programs.keys()].some((file) => line.startsWith(file)));
}

describe("the programs of the guides", () => {
  it("compile, and the compiler is asked in earnest", { timeout: 60_000 }, async () => {
    const blocks = readBlocks().flat();
    const whole = blocks.filter(({ language, text }) => language === "ts" && text.includes('from "loom-agent'));
    expect(whole.length).toBeGreaterThan(50);
    const programs = new Map(whole.map(({ name, text }) => [`${name.replaceAll(/\W+/g, "-")}.ts`, text]));
    programs.set("wrong.ts", 'import { agent } from "loom-agent";\nagent({ model: 7 });\n');
    const said = await compile(programs);
    expect(said.filter((line) => !line.startsWith("wrong.ts"))).toEqual([]);
    expect(said).toHaveLength(1);
  });
});
