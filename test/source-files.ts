// Reads source files from disk and parses them. The rules themselves are pure functions in the tests, so each can be
// tried on a file that does not exist.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ParseResult, parseSync } from "rolldown/utils";

/** `path` is relative to the package, with forward slashes on every system. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

export interface Violation {
  readonly path: string;
  readonly rule: string;
  readonly detail: string;
}

/** A node of the syntax tree (ESTree with TypeScript's additions), read structurally. */
export interface SyntaxNode {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface Import {
  /** `undefined` if the specifier is computed. */
  readonly specifier: string | undefined;
  /** A type-only import, which is removed before the program runs. */
  readonly isType: boolean;
}

export const packageRoot = dirname(dirname(fileURLToPath(import.meta.url)));

/** All TypeScript files below the given folders. A missing folder has none. */
export function readSourceFiles(...folders: string[]): SourceFile[] {
  return folders.flatMap((folder) => {
    const absolute = join(packageRoot, folder);
    if (!existsSync(absolute)) return [];
    return readdirSync(absolute, { recursive: true, encoding: "utf8" })
      .map((name) => `${folder}/${name.replaceAll("\\", "/")}`)
      .filter((path) => /\.tsx?$/.test(path) && !path.includes("/node_modules/"))
      .toSorted()
      .map((path) => ({ path, text: readFileSync(join(packageRoot, path), "utf8") }));
  });
}

/** They are not part of the package. */
export function isTestFile(path: string): boolean {
  return /\.test\.tsx?$/.test(path);
}

export function isGeneratedFile(path: string): boolean {
  return /\.generated\.tsx?$/.test(path);
}

/** Both are read when they are first used: the syntax tree takes ten times as long as parsing. */
export interface ParsedSource {
  /** Top-level statements. */
  readonly body: readonly SyntaxNode[];
  /** All imports: static, dynamic, re-exports, and imports in types. */
  readonly imports: readonly Import[];
}

/** Parses a file, or returns the reason why it cannot be parsed. */
export function parseSource(file: SourceFile): ParsedSource | { readonly fault: string } {
  const result = parseSync(file.path, file.text, { lang: file.path.endsWith("x") ? "tsx" : "ts" });
  const [error] = result.errors;
  if (error !== undefined) return { fault: error.message };
  let body: readonly SyntaxNode[] | undefined;
  const readBody = (): readonly SyntaxNode[] => {
    const program: unknown = result.program;
    return (body ??= isSyntaxNode(program) ? childrenOf(program) : []);
  };
  const isDynamic = /\bimport\s*\(|\brequire\s*\(/.test(file.text);
  return {
    get body() {
      return readBody();
    },
    get imports() {
      return isDynamic ? listImports(readBody()) : listStaticImports(file, result);
    },
  };
}

/** The imports of a file without dynamic imports, which need no syntax tree. */
function listStaticImports({ text }: SourceFile, { module }: ParseResult): Import[] {
  const isType = (start: number): boolean => /^(?:import|export) type\b/.test(text.slice(start, start + 20));
  const reExports = module.staticExports.flatMap(({ start, entries }) => {
    const specifier = entries[0]?.moduleRequest?.value;
    return specifier === undefined ? [] : [{ specifier, isType: isType(start) }];
  });
  const imports = module.staticImports.map(({ start, moduleRequest }) => ({
    specifier: moduleRequest.value,
    isType: isType(start),
  }));
  return [...imports, ...reExports];
}

/** Calls `visit` for the given nodes and all their descendants, parents first. */
export function walkSyntax(
  nodes: readonly SyntaxNode[],
  visit: (node: SyntaxNode, parent: SyntaxNode | undefined) => void,
  parent?: SyntaxNode,
): void {
  for (const node of nodes) {
    visit(node, parent);
    walkSyntax(childrenOf(node), visit, node);
  }
}

function listImports(body: readonly SyntaxNode[]): Import[] {
  const imports: Import[] = [];
  walkSyntax(body, (node) => {
    switch (node.type) {
      case "ImportDeclaration":
        imports.push({ specifier: readLiteral(node["source"]), isType: node["importKind"] === "type" });
        break;
      case "ExportAllDeclaration":
      case "ImportExpression":
        imports.push({ specifier: readLiteral(node["source"]), isType: false });
        break;
      case "TSImportType":
        imports.push({ specifier: readLiteral(node["source"]), isType: true });
        break;
      case "ExportNamedDeclaration":
        if (isSyntaxNode(node["source"]))
          imports.push({ specifier: readLiteral(node["source"]), isType: node["exportKind"] === "type" });
        break;
      case "TSExternalModuleReference":
        imports.push({ specifier: readLiteral(node["expression"]), isType: false });
        break;
    }
  });
  return imports;
}

export function isSyntaxNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (const value of Object.values(node)) {
    // Most fields are names and positions, and there are millions of them.
    if (typeof value !== "object" || value === null) continue;
    if (!Array.isArray(value)) {
      if (isSyntaxNode(value)) children.push(value);
      continue;
    }
    for (const each of value as readonly unknown[]) if (isSyntaxNode(each)) children.push(each);
  }
  return children;
}

function readLiteral(node: unknown): string | undefined {
  return isSyntaxNode(node) && typeof node["value"] === "string" ? node["value"] : undefined;
}
