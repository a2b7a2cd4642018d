/**
 * Reads the public API from the source: the names that each entry point exports, their declarations without bodies, and
 * their doc comments. Parses each file alone, so it needs neither a build nor the type checker; a public declaration
 * must therefore state its types.
 */
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { isolatedDeclarationSync } from "rolldown/experimental";
import { type ESTree, parseSync } from "rolldown/utils";
import { ROOT } from "./write-files.ts";

/** An import path of the package and the names that it exports, sorted. */
export interface EntryPoint {
  readonly path: string;
  readonly names: readonly PublicName[];
}

export type ApiKind = "function" | "class" | "constant" | "type";

/** A declaration in the source. There is one object per declaration, however many entry points export it. */
export interface ApiDeclaration {
  readonly file: string;
  readonly name: string;
  readonly kind: ApiKind;
  /** The declaration without bodies, comments, and private and `@internal` members. */
  readonly code: string;
  /** The same with the comments of its members. */
  readonly documentedCode: string;
  /** Text of the doc comment, without its markers. */
  readonly comment: string | undefined;
  /** Declarations of the package that the code refers to. */
  readonly references: readonly ApiDeclaration[];
}

export interface PublicName {
  readonly name: string;
  readonly declaration: ApiDeclaration;
}

/** The entry points of the package, in the order of `exports` in package.json. Style sheets and JSON are left out. */
export function readEntryPoints(): EntryPoint[] {
  const readText = (path: string): string => readFileSync(join(ROOT, path), "utf8");
  const manifest = JSON.parse(readText("package.json")) as {
    readonly name: string;
    readonly exports: { readonly [path: string]: string | { readonly types: string } };
  };
  const api = new PublicApi(readText);
  return Object.entries(manifest.exports).flatMap(([path, target]) => {
    if (typeof target === "string") return [];
    const file = target.types.replace(/^\.\/dist\//, "src/").replace(/\.d\.ts$/, ".ts");
    return [{ path: posix.join(manifest.name, path), names: api.listNames(file) }];
  });
}

/** Resolves exported names. `readText` returns the text of a file, by its path. */
export class PublicApi {
  readonly #readText: (path: string) => string;
  readonly #modules = new Map<string, Module>();
  readonly #declarations = new Map<string, ApiDeclaration>();

  constructor(readText: (path: string) => string) {
    this.#readText = readText;
  }

  /** The names that a file exports, sorted. Throws if a declaration is missing or does not state its types. */
  listNames(file: string): PublicName[] {
    return [...this.#open(file).exports.keys()]
      .toSorted((a, b) => (a < b ? -1 : 1))
      .map((name) => ({ name, declaration: this.#resolveExport(file, name) }));
  }

  #open(file: string): Module {
    const module = this.#modules.get(file) ?? readModule(file, this.#readText(file));
    this.#modules.set(file, module);
    return module;
  }

  #resolveExport(file: string, name: string): ApiDeclaration {
    const origin = this.#open(file).exports.get(name);
    if (origin === undefined) throw new Error(`${file} does not export ${name}`);
    const found = this.#resolveOrigin(file, origin);
    if (found === undefined) throw new Error(`The declaration of ${name} in ${file} was not found`);
    return found;
  }

  /** `undefined` for a name of another package or a global. */
  #resolveOrigin(file: string, { source, name }: Origin): ApiDeclaration | undefined {
    if (source === undefined) return this.#resolveLocal(file, name);
    return source.startsWith(".") ? this.#resolveExport(posix.join(posix.dirname(file), source), name) : undefined;
  }

  #resolveLocal(file: string, name: string): ApiDeclaration | undefined {
    const { imports, statements, findComment, untyped } = this.#open(file);
    const imported = imports.get(name);
    if (imported !== undefined) return this.#resolveOrigin(file, imported);
    const found = statements.get(name);
    if (found === undefined) return undefined;
    if (untyped.has(name)) throw new Error(`State the types of ${name} in ${file}: it is part of the public API`);

    const key = `${file}#${name}`;
    const known = this.#declarations.get(key);
    if (known !== undefined) return known;
    const references: ApiDeclaration[] = [];
    const { kind, code, documentedCode, referredNames } = found;
    const declaration = { file, name, kind, code, documentedCode, comment: findComment(name), references };
    // Before its references, because types may refer to each other.
    this.#declarations.set(key, declaration);
    for (const referred of referredNames) {
      const target = this.#resolveLocal(file, referred);
      if (target !== undefined && target !== declaration) references.push(target);
    }
    return declaration;
  }
}

/** Where a name comes from: another module, or this one if `source` is missing. */
interface Origin {
  readonly source: string | undefined;
  readonly name: string;
}

interface Statement {
  readonly kind: ApiKind;
  readonly code: string;
  readonly documentedCode: string;
  readonly referredNames: ReadonlySet<string>;
}

interface Module {
  readonly exports: ReadonlyMap<string, Origin>;
  readonly imports: ReadonlyMap<string, Origin>;
  readonly statements: ReadonlyMap<string, Statement>;
  /** Names whose types cannot be read from this file alone. */
  readonly untyped: ReadonlySet<string>;
  readonly findComment: (name: string) => string | undefined;
}

function readModule(file: string, text: string): Module {
  const source = parseFile(file, text);
  const { code, errors } = isolatedDeclarationSync(file, text, { stripInternal: true });
  const declarations = parseFile(file.replace(/\.tsx?$/, ".d.ts"), code);
  const bytes = Buffer.from(text);
  const faults = errors.flatMap(({ labels }) => labels).map(({ start }) => bytes.toString("utf8", 0, start).length);

  const exports = new Map<string, Origin>();
  const starts = new Map<string, number>();
  const untyped = new Set<string>();
  const tables = new Map<string, Statement>();
  for (const node of source.program.body) {
    for (const name of namesOf(node)) {
      // The first of several overloads has the comment.
      if (!starts.has(name)) starts.set(name, node.start);
      if (node.type === "ExportNamedDeclaration") exports.set(name, { source: undefined, name });
      if (!faults.some((at) => at >= node.start && at < node.end)) continue;
      if (isTable(node)) {
        const documentedCode = cutOut(text, node, []);
        const code = cutOut(text, node, source.comments);
        tables.set(name, { kind: "constant", code, documentedCode, referredNames: new Set() });
      } else untyped.add(name);
    }
    if (node.type !== "ExportNamedDeclaration") continue;
    for (const { exported, local } of node.specifiers)
      exports.set(textOf(exported), { source: node.source?.value, name: textOf(local) });
  }

  const imports = new Map<string, Origin>();
  const statements = new Map<string, Statement>();
  for (const node of declarations.program.body) {
    if (node.type === "ImportDeclaration") {
      for (const specifier of node.specifiers) {
        const name = specifier.type === "ImportSpecifier" ? textOf(specifier.imported) : "*";
        imports.set(specifier.local.name, { source: node.source.value, name });
      }
    }
    for (const name of namesOf(node)) {
      const earlier = statements.get(name);
      const referredNames = new Set(earlier?.referredNames);
      collectReferences(node, referredNames);
      const hidden = listPrivateMembers(node);
      const pieces = {
        code: cutOut(code, node, [...declarations.comments, ...hidden]),
        documentedCode: cutOut(code, node, [...hidden, ...listCommentsOf(hidden, declarations.comments, code)]),
      };
      statements.set(name, {
        kind: kindOf(node),
        code: earlier === undefined ? pieces.code : `${earlier.code}\n${pieces.code}`,
        documentedCode:
          earlier === undefined ? pieces.documentedCode : `${earlier.documentedCode}\n${pieces.documentedCode}`,
        referredNames,
      });
    }
  }

  return {
    exports,
    imports,
    statements: new Map([...statements, ...tables]),
    untyped,
    findComment(name) {
      const start = starts.get(name);
      const comment = source.comments.findLast(({ end }) => start !== undefined && end <= start);
      // A blank line separates the header of a file from its first declaration.
      if (comment === undefined || !/^[^\S\n]*\n?[^\S\n]*$/.test(text.slice(comment.end, start))) return undefined;
      if (comment.type !== "Block" || !comment.value.startsWith("*")) return undefined;
      return comment.value.replaceAll(/^\s*\*+ ?/gm, "").trim();
    },
  };
}

/** A constant that is written as a literal. Its text says more than its type would. */
function isTable(statement: ESTree.Statement): boolean {
  const node = declarationOf(statement);
  if (node.type !== "VariableDeclaration") return false;
  return node.declarations.every(({ init }) => {
    let value = init;
    while (value?.type === "TSAsExpression" || value?.type === "TSSatisfiesExpression") value = value.expression;
    return value?.type === "ObjectExpression" || value?.type === "ArrayExpression";
  });
}

function parseFile(path: string, text: string): ReturnType<typeof parseSync> {
  const result = parseSync(path, text);
  const [error] = result.errors;
  if (error !== undefined) throw new Error(`${path} cannot be parsed: ${error.message}`);
  return result;
}

/** Names that a top-level statement declares. */
function namesOf(statement: ESTree.Statement): string[] {
  const node = declarationOf(statement);
  switch (node.type) {
    case "VariableDeclaration":
      return node.declarations.flatMap(({ id }) => (id.type === "Identifier" ? [id.name] : []));
    case "FunctionDeclaration":
    case "TSDeclareFunction":
    case "ClassDeclaration":
    case "TSInterfaceDeclaration":
    case "TSTypeAliasDeclaration":
      return node.id === null ? [] : [node.id.name];
    default:
      return [];
  }
}

function declarationOf(statement: ESTree.Statement): ESTree.Statement {
  const isExport = statement.type === "ExportNamedDeclaration";
  return isExport ? (statement.declaration ?? statement) : statement;
}

function kindOf(statement: ESTree.Statement): ApiKind {
  switch (declarationOf(statement).type) {
    case "VariableDeclaration":
      return "constant";
    case "ClassDeclaration":
      return "class";
    case "TSInterfaceDeclaration":
    case "TSTypeAliasDeclaration":
      return "type";
    default:
      return "function";
  }
}

function textOf(name: ESTree.ModuleExportName): string {
  return name.type === "Literal" ? name.value : name.name;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Members that a user cannot access: `private` ones and the `#private` mark. */
function listPrivateMembers(statement: ESTree.Statement): Span[] {
  const node = declarationOf(statement);
  if (node.type !== "ClassDeclaration") return [];
  return node.body.body.filter((member) => {
    if (member.type === "StaticBlock" || member.type === "TSIndexSignature") return false;
    return member.key.type === "PrivateIdentifier" || member.accessibility === "private";
  });
}

/** The comment before each of these members. */
function listCommentsOf(members: readonly Span[], comments: readonly Span[], text: string): Span[] {
  return comments.filter(({ end }) =>
    members.some(({ start }) => end <= start && text.slice(end, start).trim() === ""),
  );
}

/** The text of a declaration without some spans, `export` and `declare`. */
function cutOut(text: string, statement: ESTree.Statement, spans: readonly Span[]): string {
  const { start, end } = declarationOf(statement);
  const inside = spans.filter((span) => span.start >= start && span.end <= end);
  let code = "";
  let position = start;
  for (const span of inside.toSorted((a, b) => a.start - b.start)) {
    code += text.slice(position, span.start);
    position = span.end;
  }
  // The comments leave blank lines behind.
  return `${code}${text.slice(position, end)}`.replace(/^declare /, "").replaceAll(/\n\s*\n/g, "\n");
}

/** Adds the names that types, heritage clauses and `typeof` refer to. */
function collectReferences(node: unknown, names: Set<string>): void {
  if (Array.isArray(node)) for (const child of node) collectReferences(child, names);
  if (typeof node !== "object" || node === null || !("type" in node)) return;
  const typed = node as ESTree.Node;
  if (typed.type === "TSTypeReference") addName(typed.typeName, names);
  if (typed.type === "TSTypeQuery") addName(typed.exprName, names);
  if (typed.type === "TSInterfaceHeritage" || typed.type === "TSClassImplements") addName(typed.expression, names);
  if (typed.type === "ClassDeclaration") addName(typed.superClass, names);
  for (const child of Object.values(node)) collectReferences(child, names);
}

/** `a` of `a` and of `a.b`. */
function addName(node: ESTree.Node | null, names: Set<string>): void {
  if (node?.type === "Identifier") names.add(node.name);
  if (node?.type === "TSQualifiedName") addName(node.left, names);
}
