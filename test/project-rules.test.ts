// Project rules that no tool checks: names, headers, exports and sizes of files, one meaning per type name, exact
// versions, a lock file without download addresses, and the two commands of the README. Each rule is a pure function
// over texts; the planted violations below it prove that it can fail.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isGeneratedFile, isTestFile, packageRoot, parseSource, readSourceFiles } from "./source-files.ts";
import type { SourceFile, Violation } from "./source-files.ts";

const LONGEST_FILE = 500;
const fileName = /^[a-z0-9]+(-[a-z0-9]+)*(\.(test|generated|d))?\.tsx?$/;
const folderName = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const dumpingGround = /^((.*-)?(utils?|helpers?)|types?|misc|common)$/;

/** Rules for a single file: its name, exports, header and length. */
function findFileViolations(files: readonly SourceFile[]): Violation[] {
  return files.flatMap((file) => {
    const found: Violation[] = [];
    const report = (rule: string, detail: string): unknown => found.push({ path: file.path, rule, detail });

    const folders = file.path.split("/");
    const name = folders.pop() ?? "";
    const stem = name.split(".")[0] ?? "";
    if (!fileName.test(name) || !folders.every((folder) => folderName.test(folder))) {
      report("kebab-case", "use kebab-case and name the file after its main export");
    }
    if ([...folders, stem].some((part) => dumpingGround.test(part))) {
      report("dumping-ground", "name the file after what it contains");
    }

    const parsed = parseSource(file);
    if ("fault" in parsed) report("unreadable", parsed.fault);
    else if (/\bexport\s*(?:default|\*|=)/.test(file.text)) {
      for (const { type } of parsed.body) {
        if (type === "ExportDefaultDeclaration" || type === "TSExportAssignment") {
          report("default-export", "export by name");
        }
        if (type === "ExportAllDeclaration") report("export-all", "re-export by name");
      }
    }

    const isShipped = /^(?:web\/)?src\//.test(file.path);
    if (isShipped && !isTestFile(file.path)) {
      if (!/^(\/\/|\/\*)/.test(file.text)) report("header", "start with a comment that says what the module is");
    }
    const lines = file.text.split("\n").length - 1;
    if (isShipped && lines > LONGEST_FILE && !isGeneratedFile(file.path)) {
      report("too-long", `${lines} lines; the limit is ${LONGEST_FILE}: split the file`);
    }
    return found;
  });
}

/** A declaration at the top level, which the formatter writes at the start of a line. */
const TYPE_DECLARATION = /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class) (\w+)/gm;

/** Type names that more than one file declares. Generated files follow their declarations and are left out. */
function findTypeNameViolations(files: readonly SourceFile[]): Violation[] {
  const paths = new Map<string, string[]>();
  for (const file of files.filter(({ path }) => !isTestFile(path) && !isGeneratedFile(path))) {
    const names = new Set([...file.text.matchAll(TYPE_DECLARATION)].map(([, name = ""]) => name));
    for (const name of names) paths.set(name, [...(paths.get(name) ?? []), file.path]);
  }
  return [...paths].flatMap(([name, [path = "", ...others]]) => {
    const detail = `${name} is also declared in ${others.join(", ")}`;
    return others.length === 0 ? [] : [{ path, rule: "type-name", detail }];
  });
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly overrides?: Readonly<Record<string, unknown>>;
}

/** A version, one of another package (`npm:ms@2.1.3`), or that of the direct dependency (`$ai`). */
const EXACT_VERSION = /^(?:(?:npm:@?[^@]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?|\$[\w@/.-]+)$/;

/** An override of the dependencies of one package is an object. */
function listInner([name, version]: readonly [string, unknown]): readonly (readonly [string, unknown])[] {
  if (typeof version !== "object" || version === null) return [[name, version]];
  return Object.entries(version).map(([inner, value]) => [`${name} > ${inner}`, value]);
}

/** Versions that are not exact. Peer dependencies may be ranges. */
function findVersionViolations(path: string, manifest: Manifest): Violation[] {
  const groups = [manifest.dependencies, manifest.devDependencies, manifest.optionalDependencies, manifest.overrides];
  return groups
    .flatMap((group) => Object.entries(group ?? {}).flatMap(listInner))
    .filter(([, version]) => typeof version !== "string" || !EXACT_VERSION.test(version))
    .map(([name, version]) => ({ path, rule: "exact-version", detail: `${name}: ${JSON.stringify(version)}` }));
}

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly resolved?: string; readonly link?: boolean }>>;
}

/** Entries of the lock file with a download address. A link to a workspace does not count. */
function findAddressViolations(path: string, lock: LockFile): Violation[] {
  return Object.entries(lock.packages)
    .filter(([, entry]) => entry.resolved !== undefined && entry.link !== true)
    .map(([name]) => ({ path, rule: "lock-address", detail: `${name} has a "resolved" address` }));
}

/** The two commands that the README must show. */
function findReadmeViolations(path: string, text: string): Violation[] {
  return ["npm ci && npm start", "npm ci && npm test"]
    .filter((command) => !text.includes(command))
    .map((command) => ({ path, rule: "readme-command", detail: `does not show \`${command}\`` }));
}

const readText = (path: string): string => readFileSync(join(packageRoot, path), "utf8");
const readJson = <T>(path: string): T => JSON.parse(readText(path)) as T;
const rulesOf = (violations: readonly Violation[]): string[] => violations.map((violation) => violation.rule);

describe("files", () => {
  it("follow the rules in src, web/src, test, scripts and bench", () => {
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
    ["test/contracts/dialect.ts", line],
    ["src/protocol/validate.generated.ts", `// x\n${"\n".repeat(LONGEST_FILE)}`],
    ["src/protocol/longest-event.ts", `// x${"\n".repeat(LONGEST_FILE)}`],
    ["src/protocol/event.ts", `// export * from "./a.ts"; export default 1;\n${line}`],
    ["scripts/generate.ts", line],
  ])("accepts %s", (path, text) => {
    expect(findFileViolations([{ path, text }])).toEqual([]);
  });
});

describe("type names", () => {
  it("are declared once in src and web/src", () => {
    expect(findTypeNameViolations(readSourceFiles("src", "web/src"))).toEqual([]);
  });

  it("reports a name that two files declare", () => {
    const first = { path: "src/log/a.ts", text: "export interface Lease {}\n" };
    const second = { path: "src/server/b.ts", text: "type Lease = string;\n" };
    const generated = { path: "src/server/c.generated.ts", text: "export class Lease {}\n" };
    expect(rulesOf(findTypeNameViolations([first, second, generated]))).toEqual(["type-name"]);
    expect(findTypeNameViolations([first, generated])).toEqual([]);
  });
});

describe("versions", () => {
  it.each(["package.json", "bench/package.json"])("are exact in %s", (path) => {
    expect(findVersionViolations(path, readJson<Manifest>(path))).toEqual([]);
  });

  it.each(["^1.2.3", "~1.2.3", "1.x", "*", "latest", ">=1.2.3", "1.2"])("reports %s", (version) => {
    for (const group of ["dependencies", "devDependencies", "optionalDependencies", "overrides"]) {
      expect(rulesOf(findVersionViolations("p", { [group]: { thing: version } }))).toEqual(["exact-version"]);
    }
  });

  it("accepts exact versions and ranges of peers", () => {
    const manifest = {
      dependencies: { a: "1.2.3" },
      overrides: { b: "1.0.0-beta.2", d: { e: "npm:f@1.0.0", a: "$a" } },
      peerDependencies: { c: ">=1" },
    };
    expect(findVersionViolations("p", manifest)).toEqual([]);
  });
});

describe("the lock file", () => {
  it.each(["package-lock.json", "bench/package-lock.json"])("%s has no download addresses", (path) => {
    expect(findAddressViolations(path, readJson<LockFile>(path))).toEqual([]);
  });

  it("reports a download address, but not a link to a workspace", () => {
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

  it("reports a missing command", () => {
    expect(rulesOf(findReadmeViolations("README.md", "npm ci && npm test"))).toEqual(["readme-command"]);
    expect(findReadmeViolations("README.md", "`npm ci && npm start`, `npm ci && npm test`")).toEqual([]);
  });
});
