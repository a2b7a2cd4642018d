// Holds the rules of the house that no tool knows: names and sizes of files, their headers, how they export, exact
// versions, a lock file without addresses, and the two commands of the README. Each rule is a pure function over
// texts, proven by the planted violations below it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isGeneratedFile, isTestFile, packageRoot, parseSource, readSourceFiles } from "./source-files.ts";
import type { SourceFile, Violation } from "./source-files.ts";

const LONGEST_FILE = 500;
const fileName = /^[a-z0-9]+(-[a-z0-9]+)*(\.(test|contract|generated|d))?\.tsx?$/;
const folderName = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const dumpingGround = /^((.*-)?(utils?|helpers?)|types?|misc|common)$/;

/** What a file of ours is called, how it exports, how it begins and how long it is. */
function findFileViolations(files: readonly SourceFile[]): Violation[] {
  return files.flatMap((file) => {
    const found: Violation[] = [];
    const report = (rule: string, detail: string): unknown => found.push({ path: file.path, rule, detail });

    const folders = file.path.split("/");
    const name = folders.pop() ?? "";
    const stem = name.split(".")[0] ?? "";
    if (!fileName.test(name) || !folders.every((folder) => folderName.test(folder))) {
      report("kebab-case", "names are kebab-case, after the main export");
    }
    if ([...folders, stem].some((part) => dumpingGround.test(part))) {
      report("dumping-ground", "name the file after what it holds");
    }

    const parsed = parseSource(file);
    if ("fault" in parsed) report("unreadable", parsed.fault);
    else {
      for (const { type } of parsed.body) {
        if (type === "ExportDefaultDeclaration" || type === "TSExportAssignment") {
          report("default-export", "export by name");
        }
        if (type === "ExportAllDeclaration") report("export-all", "re-export by name");
      }
    }

    const isShipped = /^(?:web\/)?src\//.test(file.path);
    if (isShipped && !isTestFile(file.path)) {
      if (!/^(\/\/|\/\*)/.test(file.text)) report("header", "begin with a comment that says what the module is");
    }
    const lines = file.text.split("\n").length - 1;
    if (isShipped && lines > LONGEST_FILE && !isGeneratedFile(file.path)) {
      report("too-long", `${lines} lines; past ${LONGEST_FILE} it is two things`);
    }
    return found;
  });
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly overrides?: Readonly<Record<string, unknown>>;
}

/** Versions that are not exact. Peer dependencies are the user's choice and may be ranges. */
function findVersionViolations(path: string, manifest: Manifest): Violation[] {
  const groups = [manifest.dependencies, manifest.devDependencies, manifest.optionalDependencies, manifest.overrides];
  return groups
    .flatMap((group) => Object.entries(group ?? {}))
    .filter(([, version]) => typeof version !== "string" || !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
    .map(([name, version]) => ({ path, rule: "exact-version", detail: `${name}: ${JSON.stringify(version)}` }));
}

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly resolved?: string; readonly link?: boolean }>>;
}

/** Entries of the lock file that say where a package was downloaded from. A link to a workspace is no address. */
function findAddressViolations(path: string, lock: LockFile): Violation[] {
  return Object.entries(lock.packages)
    .filter(([, entry]) => entry.resolved !== undefined && entry.link !== true)
    .map(([name]) => ({ path, rule: "lock-address", detail: `${name} has a "resolved" address` }));
}

/** The commands a newcomer needs; the README must show both. */
function findReadmeViolations(path: string, text: string): Violation[] {
  return ["npm ci && npm start", "npm ci && npm test"]
    .filter((command) => !text.includes(command))
    .map((command) => ({ path, rule: "readme-command", detail: `does not show \`${command}\`` }));
}

const readText = (path: string): string => readFileSync(join(packageRoot, path), "utf8");
const readJson = <T>(path: string): T => JSON.parse(readText(path)) as T;
const rulesOf = (violations: readonly Violation[]): string[] => violations.map((violation) => violation.rule);

describe("files", () => {
  it("follow the house in src, web/src, test, scripts and bench", () => {
    expect(findFileViolations(readSourceFiles("src", "web/src", "test", "scripts", "bench"))).toEqual([]);
  });

  const line = "export const line = 1;\n";
  const planted: [rule: string, path: string, text: string][] = [
    ["kebab-case", "src/protocol/eventType.ts", `// x\n${line}`],
    ["kebab-case", "src/protocol/event_type.ts", `// x\n${line}`],
    ["kebab-case", "src/Protocol/event.ts", `// x\n${line}`],
    ["kebab-case", "src/protocol/event.spec.ts", `// x\n${line}`],
    ["dumping-ground", "src/protocol/utils.ts", `// x\n${line}`],
    ["dumping-ground", "src/protocol/string-helpers.ts", `// x\n${line}`],
    ["dumping-ground", "src/protocol/types.ts", `// x\n${line}`],
    ["dumping-ground", "src/utils/event.ts", `// x\n${line}`],
    ["default-export", "test/event.ts", "export default 1;\n"],
    ["export-all", "src/protocol/index.ts", `// x\nexport * from "./event.ts";\n`],
    ["export-all", "src/framing/index.ts", `// x\nexport * as event from "./event.ts";\n`],
    ["header", "src/protocol/event.ts", line],
    ["header", "src/protocol/validate.generated.ts", line],
    ["too-long", "src/protocol/long-event.ts", `// x\n${"\n".repeat(LONGEST_FILE)}`],
    ["unreadable", "src/protocol/broken-event.ts", "// x\nexport const = 1;\n"],
  ];
  it.each(planted)("reports %s in %s", (rule, path, text) => {
    expect(rulesOf(findFileViolations([{ path, text }]))).toEqual([rule]);
  });

  it.each([
    ["src/protocol/event-types.ts", `/** x */\n${line}`],
    ["src/protocol/event.test.ts", line],
    ["src/dialects/dialect.contract.ts", line],
    ["src/protocol/validate.generated.ts", `// x\n${"\n".repeat(LONGEST_FILE)}`],
    ["src/protocol/longest-event.ts", `// x${"\n".repeat(LONGEST_FILE)}`],
    ["src/protocol/event.ts", `// export * from "./a.ts"; export default 1;\n${line}`],
    ["scripts/generate.ts", line],
  ])("leaves %s alone", (path, text) => {
    expect(findFileViolations([{ path, text }])).toEqual([]);
  });
});

describe("versions", () => {
  it("are exact in package.json", () => {
    expect(findVersionViolations("package.json", readJson<Manifest>("package.json"))).toEqual([]);
  });

  it.each(["^1.2.3", "~1.2.3", "1.x", "*", "latest", ">=1.2.3", "1.2"])("reports %s", (version) => {
    for (const group of ["dependencies", "devDependencies", "optionalDependencies", "overrides"]) {
      expect(rulesOf(findVersionViolations("p", { [group]: { thing: version } }))).toEqual(["exact-version"]);
    }
  });

  it("leaves exact ones and peers alone", () => {
    const manifest = { dependencies: { a: "1.2.3" }, overrides: { b: "1.0.0-beta.2" }, peerDependencies: { c: ">=1" } };
    expect(findVersionViolations("p", manifest)).toEqual([]);
  });
});

describe("the lock file", () => {
  it("has no addresses", () => {
    expect(findAddressViolations("package-lock.json", readJson<LockFile>("package-lock.json"))).toEqual([]);
  });

  it("reports an address, but not a link to a workspace", () => {
    const packages = {
      "": {},
      "node_modules/a": { resolved: "https://example.org/a.tgz" },
      "node_modules/web": { resolved: "web", link: true },
    };
    expect(rulesOf(findAddressViolations("lock", { packages }))).toEqual(["lock-address"]);
  });
});

describe("the README", () => {
  it("shows the two commands", () => {
    expect(findReadmeViolations("README.md", readText("README.md"))).toEqual([]);
  });

  it("reports a command that is missing", () => {
    expect(rulesOf(findReadmeViolations("README.md", "npm ci && npm test"))).toEqual(["readme-command"]);
    expect(findReadmeViolations("README.md", "`npm ci && npm start`, `npm ci && npm test`")).toEqual([]);
  });
});
