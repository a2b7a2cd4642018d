// What the page may import: the package by its doors that run in a browser, of the others only types, its own files, and
// the packages it names. And who may ask a server for anything: no component does. The planted violations prove that each
// rule bites.
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, it } from "vitest";
import { isTestFile, listImports, packageRoot, parseSource, readSourceFiles, walkSyntax } from "./source-files.ts";
import type { SourceFile, SyntaxNode } from "./source-files.ts";

const BROWSER_DOORS = ["protocol", "framing", "dialects", "client", "react"];

function findViolations(files: readonly SourceFile[], packages: ReadonlySet<string>): string[] {
  return files.flatMap((file) => {
    const parsed = parseSource(file);
    if ("fault" in parsed) return [`${file.path}: ${parsed.fault}`];
    return listImports(parsed.body).flatMap(({ specifier, isType }) =>
      isAllowed(file.path, specifier, isType, packages) ? [] : [`${file.path}: ${specifier ?? "?"}`],
    );
  });
}

function isAllowed(path: string, specifier: string | undefined, isType: boolean, packages: ReadonlySet<string>) {
  if (specifier === undefined) return false;
  if (specifier.startsWith(".")) return posix.join(posix.dirname(path), specifier).startsWith("web/src/");
  const door = /^loom-agent\/(?<name>\w+)$/.exec(specifier)?.groups?.["name"];
  if (door !== undefined) return isType || BROWSER_DOORS.includes(door);
  return packages.has(specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/"));
}

/** What brings something from a server, or takes it there. */
const WIRES: ReadonlySet<unknown> = new Set([
  "fetch",
  "fetchLater",
  "sendBeacon",
  "XMLHttpRequest",
  "EventSource",
  "WebSocket",
  "WebSocketStream",
  "WebTransport",
]);

/** The page asks in its own room for that, and otherwise by the client of the package. */
const ASKING = "web/src/api/";

function findAsking(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    if (file.path.startsWith(ASKING)) return [];
    const parsed = parseSource(file);
    if ("fault" in parsed) return [`${file.path}: ${parsed.fault}`];
    const found: string[] = [];
    walkSyntax(parsed.body, (node, parent) => {
      // The name of a field that is declared is nobody's but the declarer's.
      const isOwnName = parent?.["key"] === node && parent["computed"] !== true && parent["shorthand"] !== true;
      const name = node.type === "Identifier" ? node["name"] : isGlobalField(parent, node) ? node["value"] : undefined;
      if (WIRES.has(name) && !isOwnName) found.push(`${file.path}: ${String(name)}`);
    });
    return found;
  });
}

/** `globalThis["fetch"]` */
function isGlobalField(parent: SyntaxNode | undefined, node: SyntaxNode): boolean {
  return parent?.type === "MemberExpression" && parent["computed"] === true && parent["property"] === node;
}

describe("the page", () => {
  it("sees of the package what everybody sees", () => {
    const { dependencies } = JSON.parse(readFileSync(join(packageRoot, "web", "package.json"), "utf8")) as {
      readonly dependencies: object;
    };
    const files = readSourceFiles("web/src").filter(({ path }) => !isTestFile(path));
    expect(files.length).toBeGreaterThan(1);
    expect(findViolations(files, new Set(Object.keys(dependencies)))).toEqual([]);
  });

  it.each([
    `import { connect } from "../../src/client/index.ts";`,
    `import { startLoomServer } from "loom-agent/server";`,
    `import { createLog } from "loom-agent";`,
    `import fs from "node:fs";`,
    `import left from "left-pad";`,
    `const late = await import(name);`,
    `import "loom-agent/client/view.ts";`,
  ])("may not: %s", (text) => {
    expect(findViolations([{ path: "web/src/a.ts", text }], new Set(["react"]))).toHaveLength(1);
  });

  it.each([
    `import { connect } from "loom-agent/client";`,
    `import type { Session } from "loom-agent/server";`,
    `import { memo } from "react";`,
    `import { createRoot } from "react-dom/client"; import "./b/c.ts";`,
  ])("may: %s", (text) => {
    expect(findViolations([{ path: "web/src/a.ts", text }], new Set(["react", "react-dom"]))).toEqual([]);
  });

  it("asks a server for things in one room, and in no component", () => {
    const files = readSourceFiles("web/src", "src/react").filter(({ path }) => !isTestFile(path));
    expect(files.filter(({ path }) => path.startsWith(ASKING)).length).toBeGreaterThan(1);
    expect(findAsking(files)).toEqual([]);
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
  ])("may not outside of it: %s", (text) => {
    for (const path of ["web/src/shell/a.ts", "src/react/parts/a.ts"])
      expect(findAsking([{ path, text }])).not.toEqual([]);
    expect(findAsking([{ path: "web/src/api/a.ts", text }])).toEqual([]);
  });

  it.each([
    `const words = { fetch: "Nothing is fetched." };`,
    `const reason = "fetch"; if (left[reason] === "fetch") stop();`,
    `const transport = createWebSocketTransport({ url });`,
  ])("may: %s", (text) => {
    expect(findAsking([{ path: "web/src/a.ts", text }])).toEqual([]);
  });
});
