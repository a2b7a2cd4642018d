// What the page may import: the package by its doors that run in a browser, of the others only types, its own files, and
// the packages it names. The planted violations at the end prove that each rule bites.
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, it } from "vitest";
import { isTestFile, listImports, packageRoot, parseSource, readSourceFiles } from "./source-files.ts";
import type { SourceFile } from "./source-files.ts";

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
});
