// What the page may import: folders of the package that run in a browser, types of the others, its own files, and its
// declared packages. Network access is limited to one folder and to the client. The planted violations prove that each rule can
// fail.
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, it } from "vitest";
import { isTestFile, packageRoot, parseSource, readSourceFiles, walkSyntax } from "./source-files.ts";
import type { SourceFile, SyntaxNode } from "./source-files.ts";

const BROWSER_FOLDERS = ["protocol", "framing", "dialects", "client", "react"];

function findViolations(files: readonly SourceFile[], packages: ReadonlySet<string>): string[] {
  return files.flatMap((file) => {
    const parsed = parseSource(file);
    if ("fault" in parsed) return [`${file.path}: ${parsed.fault}`];
    return parsed.imports.flatMap(({ specifier, isType }) =>
      isAllowed(file.path, specifier, isType, packages) ? [] : [`${file.path}: ${specifier ?? "?"}`],
    );
  });
}

function isAllowed(path: string, specifier: string | undefined, isType: boolean, packages: ReadonlySet<string>) {
  if (specifier === undefined) return false;
  const file = specifier.startsWith(".") ? posix.join(posix.dirname(path), specifier) : undefined;
  // An entry point, or a file that has names which only the page uses.
  const [, folder] = /^loom-agent\/(\w+)$/.exec(specifier) ?? /^src\/(\w+)\//.exec(file ?? "") ?? [];
  if (folder !== undefined) return isType || BROWSER_FOLDERS.includes(folder);
  if (file !== undefined) return file.startsWith("web/src/");
  return packages.has(specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/"));
}

/** Globals that access the network. */
const NETWORK_APIS: ReadonlySet<unknown> = new Set([
  "fetch",
  "fetchLater",
  "sendBeacon",
  "XMLHttpRequest",
  "EventSource",
  "WebSocket",
  "WebSocketStream",
  "WebTransport",
]);

/** The only folder of the page that sends requests; everything else uses the package's client. */
const API_FOLDER = "web/src/api/";

function findNetworkUses(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    if (file.path.startsWith(API_FOLDER)) return [];
    const parsed = parseSource(file);
    if ("fault" in parsed) return [`${file.path}: ${parsed.fault}`];
    const found: string[] = [];
    walkSyntax(parsed.body, (node, parent) => {
      // Property names that are declared here, such as `{ fetch: … }`, are not the global.
      const isOwnName = parent?.["key"] === node && parent["computed"] !== true && parent["shorthand"] !== true;
      const name = node.type === "Identifier" ? node["name"] : isGlobalField(parent, node) ? node["value"] : undefined;
      if (NETWORK_APIS.has(name) && !isOwnName) found.push(`${file.path}: ${String(name)}`);
    });
    return found;
  });
}

/** `globalThis["fetch"]` */
function isGlobalField(parent: SyntaxNode | undefined, node: SyntaxNode): boolean {
  return parent?.type === "MemberExpression" && parent["computed"] === true && parent["property"] === node;
}

describe("the page", () => {
  it("imports only folders of the package that run in a browser, and types", () => {
    const { dependencies } = JSON.parse(readFileSync(join(packageRoot, "web", "package.json"), "utf8")) as {
      readonly dependencies: object;
    };
    const files = readSourceFiles("web/src").filter(({ path }) => !isTestFile(path));
    expect(files.length).toBeGreaterThan(1);
    expect(findViolations(files, new Set(Object.keys(dependencies)))).toEqual([]);
  });

  it.each([
    `import { startLoomServer } from "loom-agent/server";`,
    `import { startLoomServer } from "../../src/server/loom-server.ts";`,
    `import { readBlocks } from "../../test/guide-pages.ts";`,
    `import { createLog } from "loom-agent";`,
    `import fs from "node:fs";`,
    `import left from "left-pad";`,
    `const late = await import(name);`,
    `import "loom-agent/client/view.ts";`,
  ])("reports: %s", (text) => {
    expect(findViolations([{ path: "web/src/a.ts", text }], new Set(["react"]))).toHaveLength(1);
  });

  it.each([
    `import { connect } from "loom-agent/client";`,
    `import type { LoomServer } from "loom-agent/server";`,
    `import { useWords } from "../../src/react/page-parts.ts";`,
    `import type { Session } from "../../src/server/api/shapes.generated.ts";`,
    `import { memo } from "react";`,
    `import { createRoot } from "react-dom/client"; import "./b/c.ts";`,
  ])("accepts: %s", (text) => {
    expect(findViolations([{ path: "web/src/a.ts", text }], new Set(["react", "react-dom"]))).toEqual([]);
  });

  it("accesses the network only in web/src/api", () => {
    const files = readSourceFiles("web/src", "src/react").filter(({ path }) => !isTestFile(path));
    expect(files.filter(({ path }) => path.startsWith(API_FOLDER)).length).toBeGreaterThan(1);
    expect(findNetworkUses(files)).toEqual([]);
  });

  it.each([
    `const answer = await fetch("/v1/sessions");`,
    `const ask = globalThis.fetch;`,
    `const answer = globalThis["fetch"]("/v1/sessions");`,
    `const { fetch } = globalThis;`,
    `const options = { fetch };`,
    `const socket = new WebSocket("/v1/ws");`,
    `const source = new EventSource("/v1/sessions/a/events");`,
    `const request = new XMLHttpRequest();`,
    `navigator.sendBeacon("/v1/runs", "{}");`,
  ])("reports network access elsewhere: %s", (text) => {
    for (const path of ["web/src/shell/a.ts", "src/react/parts/a.ts"])
      expect(findNetworkUses([{ path, text }])).not.toEqual([]);
    expect(findNetworkUses([{ path: "web/src/api/a.ts", text }])).toEqual([]);
  });

  it.each([
    `const words = { fetch: "Nothing is fetched." };`,
    `const reason = "fetch"; if (left[reason] === "fetch") stop();`,
    `const transport = createWebSocketTransport({ url });`,
  ])("accepts: %s", (text) => {
    expect(findNetworkUses([{ path: "web/src/a.ts", text }])).toEqual([]);
  });
});
