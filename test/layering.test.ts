// Checks which folders of src/ and of src/server may import which others, that files do not import each other in
// cycles, and that browser code uses nothing of Node. The planted violations below prove that each rule can fail.
import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join, posix } from "node:path";
import { describe, expect, it } from "vitest";
import { isSyntaxNode, isTestFile, packageRoot, parseSource, readSourceFiles, walkSyntax } from "./source-files.ts";
import type { Import, ParsedSource, SourceFile, SyntaxNode, Violation } from "./source-files.ts";

const core = ["protocol", "framing", "dialects"];
const running = [...core, "log", "engine", "graph"];
const thinking = ["models", "context", "tools", "agents", "observe"];

/** Folders that each folder of src/ may import besides itself. Add a line for a new folder or dependency. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  framing: [],
  dialects: ["protocol", "framing"],
  sqlite: ["protocol"],
  postgres: ["protocol"],
  log: [...core, "sqlite", "postgres"],
  engine: [...core, "log"],
  graph: [...core, "log", "engine"],
  models: ["protocol"],
  context: ["protocol", "sqlite", "postgres", "log", "models"],
  tools: ["protocol", "context"],
  agents: [...running, "models", "context", "tools", "observe"],
  adapters: [...running, "models", "tools", "agents"],
  observe: [...core, "log"],
  client: core,
  react: [...core, "client"],
  "ai-sdk": core,
  server: [...running, ...thinking, "sqlite", "postgres"],
  cli: [...running, ...thinking, "sqlite", "postgres", "client", "react", "server"],
};

/**
 * Folders of src/server, from the top down, with those that each may import besides itself. Type imports count; tests
 * may import any folder. The files directly in src/server put the parts together, so no folder imports them.
 */
const serverMayImport: Readonly<Record<string, readonly string[]>> = {
  sockets: ["http", "api", "commands", "streams", "auth", "guard"],
  http: ["api", "auth", "guard"],
  clients: ["endpoints", "api", "commands", "streams", "blobs", "auth", "guard"],
  endpoints: ["api", "ingest", "commands", "streams", "blobs", "auth", "guard"],
  api: ["commands", "streams", "runs", "blobs", "auth", "guard"],
  commands: ["runs", "blobs", "auth", "guard"],
  ingest: ["guard"],
  streams: ["guard"],
  runs: [],
  blobs: [],
  pages: ["guard"],
  auth: ["guard"],
  guard: [],
};

/** Folders that src/index.ts may re-export: all except the CLI and the internal code of databases. */
const rootMayImport = Object.keys(mayImport).filter((folder) => !["cli", "sqlite", "postgres"].includes(folder));

/** Folders that run in a browser: no `node:` module, no Node global. */
const browserSafe = new Set(["protocol", "framing", "dialects", "client", "react", "ai-sdk"]);
const nodeGlobals = new Set(["Buffer", "process", "global", "require", "__dirname", "__filename"]);
/** Files without these words need no closer look. */
const NODE_GLOBAL = new RegExp(`\\b(?:${[...nodeGlobals].join("|")})\\b`);

/** Folders that only their parent folder imports. Others use its `index.ts` or the files directly in it. */
const internalFolders = ["log/sqlite", "log/postgres"];

/** Folders that import no package. */
const packageFree = new Set(["protocol", "client"]);

/** The only file with a computed import: it loads a module of the user. */
const loadsUserModules = "src/cli/load-agents.ts";

/** Folders that may choose the offline model by name. No other folder knows it. */
const choosesModels = new Set(["models", "cli"]);
/** Folders in which "offline" is the state of the device. */
const knowsNetwork: ReadonlySet<string> = new Set(["client", "react"]);

/**
 * Imports in files of src/ that break a rule. `runtimePackages` are the packages that users install with this one;
 * shipped source may import no other.
 */
function findViolations(files: readonly SourceFile[], runtimePackages: ReadonlySet<string>): Violation[] {
  return files.flatMap((file) => {
    const report = (rule: string, detail: string): Violation => ({ path: file.path, rule, detail });
    const folder = file.path.split("/").length > 2 ? (file.path.split("/")[1] ?? "") : "";
    const allowed = folder === "" ? rootMayImport : mayImport[folder];
    if (folder === "" && file.path !== "src/index.ts")
      return [report("root-file", "only index.ts may be directly in src/")];
    if (allowed === undefined)
      return [report("unknown-folder", `src/${folder} is not in the table of layering.test.ts`)];
    const serverFolder = folder === "server" ? findServerFolder(file.path) : "";
    if (serverFolder !== "" && serverMayImport[serverFolder] === undefined)
      return [report("unknown-folder", `src/server/${serverFolder} is not in the table of layering.test.ts`)];

    const parsed = parseSource(file);
    if ("fault" in parsed) return [report("unreadable", parsed.fault)];

    const isTest = isTestFile(file.path);
    const found: Violation[] = [];
    for (const { specifier } of importsOf(file, parsed)) {
      const violation = checkImport(specifier);
      if (violation !== undefined) found.push(report(...violation));
    }
    if (!isTest && browserSafe.has(folder) && NODE_GLOBAL.test(file.text)) {
      for (const name of listNodeGlobals(parsed.body))
        found.push(report("node-global", `${name} does not exist in a browser`));
    }
    if (!isTest && folder !== "" && !choosesModels.has(folder) && namesOfflineModel(file, parsed, folder))
      found.push(report("offline-model", `${folder} must not know the offline model`));
    if (file.path === "src/index.ts" && !parsed.body.every((node) => isReExport(node))) {
      found.push(report("root-reexport", "src/index.ts only re-exports, by name"));
    }
    return found;

    function checkImport(specifier: string | undefined): [rule: string, detail: string] | undefined {
      if (specifier === undefined) {
        if (file.path === loadsUserModules) return undefined;
        return ["computed-import", "the module specifier must be a string literal"];
      }
      if (specifier.startsWith(".")) {
        const path = posix.join(posix.dirname(file.path), specifier);
        const target = path.split("/");
        if (target[0] !== "src") return isTest ? undefined : ["outside", `${specifier} is outside of src/`];
        const targetFolder = target.length > 2 ? (target[1] ?? "") : "";
        const subfolder = target.slice(1, 3).join("/");
        if (targetFolder !== folder && target.length > 3 && internalFolders.includes(subfolder))
          return ["internal-folder", `src/${subfolder} is internal to src/${targetFolder} (${specifier})`];
        if (targetFolder === folder) return checkServerImport(path);
        if (allowed?.includes(targetFolder)) return undefined;
        return ["arrow", `${folder || "src"} must not import ${targetFolder || "src/index.ts"} (${specifier})`];
      }
      if (isTest) return undefined;
      if (isBuiltin(specifier)) {
        return browserSafe.has(folder) ? ["node-module", `${specifier} does not exist in a browser`] : undefined;
      }
      if (packageFree.has(folder)) return ["package", `${folder} must not import packages (${specifier})`];
      const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
      return runtimePackages.has(name)
        ? undefined
        : ["undeclared-package", `${name} is not installed with this package`];
    }

    /** Checks an import from the same folder of src/, which has layers if it is the server. */
    function checkServerImport(path: string): [rule: string, detail: string] | undefined {
      const target = findServerFolder(path);
      if (isTest || serverFolder === "" || target === serverFolder) return undefined;
      if (serverMayImport[serverFolder]?.includes(target)) return undefined;
      return ["server-arrow", `server/${serverFolder} must not import ${path}`];
    }
  });
}

/** Whether a file imports the offline model, or has its name as a string or an identifier. */
function namesOfflineModel({ text }: SourceFile, parsed: ParsedSource, folder = ""): boolean {
  if (!/offline/i.test(text)) return false;
  let isNamed = parsed.imports.some(({ specifier = "" }) => /\/models\/offline(?:\/|-model\.)/.test(specifier));
  walkSyntax(parsed.body, (node) => {
    if (!knowsNetwork.has(folder) && node.type === "Literal" && /^offline(?:\/|$)/.test(String(node["value"])))
      isNamed = true;
    if (node.type === "Identifier" && node["name"] === "OfflineModel") isNamed = true;
  });
  return isNamed;
}

/** The folder of src/server that contains the file; empty for a file directly in src/server. */
function findServerFolder(path: string): string {
  const [, , folder = "", ...rest] = path.split("/");
  return rest.length === 0 ? "" : folder;
}

/** Cycles of files that import each other, each as a chain of paths. At least one for every group of such files. */
function findCycles(files: readonly SourceFile[]): string[] {
  const imports = new Map(files.filter(({ path }) => !isTestFile(path)).map((file) => [file.path, listTargets(file)]));
  const done = new Set<string>();
  const visit = (path: string, chain: readonly string[]): string[] => {
    if (chain.includes(path)) return [[...chain.slice(chain.indexOf(path)), path].join(" > ")];
    if (done.has(path)) return [];
    const cycles = (imports.get(path) ?? []).flatMap((target) => visit(target, [...chain, path]));
    done.add(path);
    return cycles;
  };
  return [...imports.keys()].flatMap((path) => visit(path, []));
}

/** Imports by the text of their file: most files are checked for violations and for cycles. */
const knownImports = new Map<string, readonly Import[]>();

function importsOf(file: SourceFile, given?: ParsedSource): readonly Import[] {
  const known = knownImports.get(file.text);
  if (known !== undefined) return known;
  const parsed = given ?? parseSource(file);
  const imports = "fault" in parsed ? [] : parsed.imports;
  knownImports.set(file.text, imports);
  return imports;
}

/** Paths of the files that a file imports. */
function listTargets(file: SourceFile): string[] {
  return importsOf(file).flatMap(({ specifier = "" }) =>
    specifier.startsWith(".") ? [posix.join(posix.dirname(file.path), specifier)] : [],
  );
}

/** Node globals that a file uses. Names that the file declares do not count. */
function listNodeGlobals(body: readonly SyntaxNode[]): string[] {
  const used = new Set<string>();
  const declared = new Set<string>();
  walkSyntax(body, (node, parent) => {
    const name = node["name"];
    if (node.type !== "Identifier" || typeof name !== "string" || !nodeGlobals.has(name)) return;
    if (parent === undefined) return;
    if (isDeclaration(node, parent)) declared.add(name);
    else if (!isPropertyName(node, parent)) used.add(name);
  });
  // `globalThis.process` is the same global.
  walkSyntax(body, (node) => {
    if (node.type !== "MemberExpression") return;
    const { object, property } = node;
    if (!isSyntaxNode(object) || object["name"] !== "globalThis" || !isSyntaxNode(property)) return;
    const name = property["name"] ?? property["value"];
    if (typeof name === "string" && nodeGlobals.has(name)) used.add(`globalThis.${name}`);
  });
  return [...used].filter((name) => !declared.has(name));
}

function isDeclaration(node: SyntaxNode, parent: SyntaxNode): boolean {
  if (parent["id"] === node || parent["local"] === node) return true;
  return Array.isArray(parent["params"]) && parent["params"].includes(node);
}

function isPropertyName(node: SyntaxNode, parent: SyntaxNode): boolean {
  const isName = parent["property"] === node || parent["key"] === node;
  return isName && parent["computed"] !== true && parent["shorthand"] !== true;
}

function isReExport(node: SyntaxNode): boolean {
  return node.type === "ExportNamedDeclaration" && isSyntaxNode(node["source"]);
}

function readRuntimePackages(): Set<string> {
  const manifest = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as Record<
    string,
    object | undefined
  >;
  const groups = ["dependencies", "peerDependencies", "optionalDependencies"];
  return new Set(groups.flatMap((group) => Object.keys(manifest[group] ?? {})));
}

describe("layering", () => {
  it("is respected by every file of src/", () => {
    expect(findViolations(readSourceFiles("src"), readRuntimePackages())).toEqual([]);
  });

  it.each([
    ["src", mayImport],
    ["src/server", serverMayImport],
  ])("has no cycle between the folders of %s", (_name, table) => {
    const reaches = (from: string, seen = new Set<string>()): Set<string> => {
      for (const next of table[from] ?? []) if (!seen.has(next)) reaches(next, seen.add(next));
      return seen;
    };
    expect(Object.keys(table).filter((folder) => reaches(folder).has(folder))).toEqual([]);
  });

  it.each(["src", "web/src"])("has no cycle between the files of %s", (folder) => {
    expect(findCycles(readSourceFiles(folder))).toEqual([]);
  });

  it("reports a cycle between files, also of type imports and re-exports", () => {
    const files = [
      { path: "src/server/a.ts", text: `import { b } from "./http/b.ts";` },
      { path: "src/server/http/b.ts", text: `import type { C } from "../c.ts";` },
      { path: "src/server/c.ts", text: `export { a } from "./a.ts";` },
      { path: "src/server/d.ts", text: `import "./a.ts"; import "./c.ts";` },
    ];
    expect(findCycles(files)).toEqual(["src/server/a.ts > src/server/http/b.ts > src/server/c.ts > src/server/a.ts"]);
    expect(findCycles(files.slice(1))).toEqual([]);
  });

  it("keeps the offline model out of the page", () => {
    const named = readSourceFiles("web/src").filter((file) => {
      const parsed = parseSource(file);
      return !isTestFile(file.path) && ("fault" in parsed || namesOfflineModel(file, parsed));
    });
    expect(named.map(({ path }) => path)).toEqual([]);
  });

  const planted: [rule: string, path: string, text: string][] = [
    ["arrow", "src/protocol/event.ts", `import type { Frame } from "../framing/frame.ts";`],
    ["arrow", "src/framing/sse.ts", `export { isEvent } from "../protocol/index.ts";`],
    ["arrow", "src/framing/sse.ts", `import { DIALECTS } from "../dialects/index.ts";`],
    ["arrow", "src/dialects/dialect.ts", `type Log = import("../log/log.ts").Log;`],
    ["arrow", "src/client/client.ts", `const log = await import("../log/memory.ts");`],
    ["arrow", "src/server/server.ts", `import { main } from "../cli/main.ts";`],
    ["arrow", "src/engine/engine.ts", `import { Engine } from "../index.ts";`],
    ["arrow", "src/protocol/event.test.ts", `import { engine } from "../dialects/index.ts";`],
    ["arrow", "src/index.ts", `export { main } from "./cli/main.ts";`],
    ["arrow", "src/index.ts", `export { migrate } from "./sqlite/migrate.ts";`],
    ["arrow", "src/sqlite/migrate.ts", `import { Page } from "../log/page.ts";`],
    ["arrow", "src/models/cache.ts", `import { openDatabase } from "../sqlite/database.ts";`],
    ["internal-folder", "src/context/base/open.ts", `import { migrate } from "../../log/sqlite/schema.ts";`],
    ["internal-folder", "src/server/auth/file.ts", `import type { Log } from "../../log/sqlite/sqlite-log.ts";`],
    ["internal-folder", "src/engine/a.ts", `import { open } from "../log/sqlite/sqlite-log.ts";`],
    ["internal-folder", "src/index.ts", `export { open } from "./log/sqlite/sqlite-log.ts";`],
    [
      "server-arrow",
      "src/server/streams/frame-batch.ts",
      `import { createSockets } from "../sockets/create-sockets.ts";`,
    ],
    ["server-arrow", "src/server/api/operation.ts", `import type { getBlob } from "../endpoints/blobs.ts";`],
    ["server-arrow", "src/server/guard/create-guard.ts", `export { SCOPES } from "../auth/scopes.ts";`],
    ["server-arrow", "src/server/auth/limits/rates.ts", `type Core = import("../../api/server-core.ts").ServerCore;`],
    ["server-arrow", "src/server/http/create-app.ts", `import { OPERATIONS } from "../operations.ts";`],
    ["server-arrow", "src/server/endpoints/runs.ts", `import { sendSlice } from "../clients/ai-sdk/send-slice.ts";`],
    ["server-arrow", "src/server/sockets/peer.ts", `import type { LoomHandler } from "../loom-handler.ts";`],
    ["node-module", "src/framing/ndjson.ts", `import { readFile } from "node:fs/promises";`],
    ["node-module", "src/client/client.ts", `import fs from "fs";`],
    ["node-global", "src/protocol/size.ts", `export const size = (text: string) => Buffer.byteLength(text);`],
    ["node-global", "src/dialects/debug.ts", `export const debug = globalThis.process?.env["DEBUG"];`],
    ["package", "src/protocol/schema.ts", `import { z } from "installed";`],
    ["package", "src/client/schema.ts", `const schema = await import("installed/mini");`],
    ["undeclared-package", "src/log/sqlite.ts", `import sqlite from "@scope/missing/sub";`],
    ["outside", "src/cli/version.ts", `import manifest from "../../package.json" with { type: "json" };`],
    ["computed-import", "src/cli/main.ts", `export const load = (name: string) => import(name);`],
    ["computed-import", "src/models/provider.ts", `export const load = (name: string) => import(name);`],
    ["offline-model", "src/agents/a.ts", `import { WORDS } from "../models/offline/read-passages.ts";`],
    ["offline-model", "src/agents/a.ts", `import { OfflineModel } from "../models/index.ts";`],
    ["offline-model", "src/context/a.ts", `export const is = (m: { id: string }) => m.id === "offline";`],
    ["root-reexport", "src/index.ts", `import { x } from "./protocol/index.ts"; export const y = x;`],
    ["root-reexport", "src/index.ts", `export * from "./protocol/index.ts";`],
    ["root-file", "src/stray.ts", `export const stray = 1;`],
    ["unknown-folder", "src/misc/thing.ts", `export const thing = 1;`],
    ["unknown-folder", "src/server/misc/thing.ts", `export const thing = 1;`],
    ["unreadable", "src/protocol/broken.ts", `import { from "./event.ts";`],
  ];
  it.each(planted)("reports %s in %s: %s", (rule, path, text) => {
    const rules = findViolations([{ path, text }], new Set(["installed"])).map((violation) => violation.rule);
    expect(rules).toEqual([rule]);
  });

  const accepted: [why: string, path: string, text: string][] = [
    ["an import in a comment", "src/protocol/a.ts", `// import "node:fs"\n/* import x from "../cli/main.ts" */`],
    ["an import in a string", "src/protocol/a.ts", "export const text = `import fs from 'node:fs'`;"],
    ["an import from the same folder", "src/protocol/events/a.ts", `import { b } from "../b.ts";`],
    ["an allowed folder", "src/dialects/loom/encode.ts", `import { isEvent } from "../../protocol/index.ts";`],
    ["internal folders in their parent", "src/log/index.ts", `export { open } from "./sqlite/sqlite-log.ts";`],
    ["files directly in a folder with internal ones", "src/server/a.ts", `import { Page } from "../log/page.ts";`],
    ["Node in a folder that needs Node", "src/log/sqlite.ts", `import "node:sqlite"; export const id = process.pid;`],
    ["a declared package", "src/server/http.ts", `import { Hono } from "installed/tiny";`],
    ["a property called process", "src/client/a.ts", `export const run = (x: { process(): void }) => x.process();`],
    ["a local function called process", "src/client/a.ts", `function process() {}\nprocess();`],
    [
      "packages and Node in tests",
      "src/protocol/a.test.ts",
      `import "fast-check"; import "node:fs"; import "../../spec/a.ts";`,
    ],
    [
      "re-exports of src/index.ts",
      "src/index.ts",
      `// Entry point.\nexport { a } from "./protocol/index.ts";\nexport type { B } from "./log/b.ts";`,
    ],
    ["the choice of the offline model", "src/cli/a.ts", `import { OfflineModel } from "../models/offline-model.ts";`],
    [
      "a text about the offline model",
      "src/agents/a.ts",
      `export const text = "The offline model answers"; // "offline"`,
    ],
    ["the state of the device", "src/client/a.ts", `addEventListener("offline", () => undefined);`],
    ["the offline model in tests", "src/agents/a.test.ts", `import { OfflineModel } from "../models/index.ts";`],
    ["imports from a lower folder of the server", "src/server/http/a.ts", `import { b } from "../auth/jwt/b.ts";`],
    ["imports of the server's own files", "src/server/loom-handler.ts", `import "./endpoints/runs.ts";`],
    ["tests of the server", "src/server/guard/a.test.ts", `import { b } from "../endpoints/b.ts";`],
    ["imports of the CLI", "src/cli/main.ts", `import "../server/server.ts"; import "../client/client.ts";`],
  ];
  it.each(accepted)("accepts %s", (_why, path, text) => {
    expect(findViolations([{ path, text }], new Set(["installed"]))).toEqual([]);
  });
});
