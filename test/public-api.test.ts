// The public API: how many names it has, a doc comment on every public name, and an example of every function. The planted
// violations prove that each rule can fail.
import { describe, expect, it } from "vitest";
import { type ApiExample, emitApiPages } from "../scripts/generate/emit-api-pages.ts";
import { emitApiReports } from "../scripts/generate/emit-api-report.ts";
import { type EntryPoint, PublicApi, readEntryPoints } from "../scripts/generate/read-public-api.ts";
import { findExamples } from "../site/api-reference.ts";

/** What users can keep in mind. A type needs a public name only if users write it. */
const MOST_NAMES = 350;

/** The root has what a first program needs; everything else has its own entry point. */
const MOST_ROOT_NAMES = 24;

/** Public names without a doc comment. A comment that only repeats the name does not count. */
function listUndocumented(entryPoints: readonly EntryPoint[]): string[] {
  return entryPoints.flatMap(({ path, names }) =>
    names.flatMap(({ name, declaration: { comment, file } }) => {
      const words = comment?.match(/[\p{L}\p{N}]+/gu) ?? [];
      return words.length > 1 ? [] : [`${path}: ${name} (${file})`];
    }),
  );
}

/** Public functions that no program in the docs imports, and whose doc comments have no code. */
function listWithoutExample(
  entryPoints: readonly EntryPoint[],
  examples: ReadonlyMap<string, unknown> = findExamples(),
): string[] {
  return entryPoints.flatMap(({ path, names }) =>
    names.flatMap(({ name, declaration: { kind, comment = "" } }) =>
      kind !== "function" || examples.has(name) || comment.includes("```") ? [] : [`${path}: ${name}`],
    ),
  );
}

/** The entry point `src/index.ts` of a package with these files. */
function plant(files: Readonly<Record<string, string>>): EntryPoint {
  const api = new PublicApi((path) => files[path] ?? "");
  return { path: "planted", names: api.listNames("src/index.ts") };
}

describe("the public API", () => {
  const entryPoints = readEntryPoints();

  it("has a doc comment on every name", () => {
    expect(entryPoints.length).toBeGreaterThan(10);
    expect(listUndocumented(entryPoints)).toEqual([]);
  });

  it("has at most 350 names", () => {
    const declarations = new Set(entryPoints.flatMap(({ names }) => names.map(({ declaration }) => declaration)));
    expect(declarations.size).toBeLessThanOrEqual(MOST_NAMES);
  });

  it("has an example of every function", () => {
    expect(listWithoutExample(entryPoints)).toEqual([]);
  });

  it("has few names at the root, all from other entry points", () => {
    const [root, ...others] = entryPoints;
    const declarations = new Set(others.flatMap(({ names }) => names.map(({ declaration }) => declaration)));
    expect(root?.names.length).toBeLessThanOrEqual(MOST_ROOT_NAMES);
    expect(root?.names.filter(({ declaration }) => !declarations.has(declaration))).toEqual([]);
  });
});

describe("the check for doc comments", () => {
  it.each([
    ["no comment", "export const limit: number = 1;\n"],
    ["a line comment", "// The limit of lines.\nexport const limit: number = 1;\n"],
    ["the header of the file", "/** What this module is. */\n\nexport const limit: number = 1;\n"],
    ["the comment of another name", "/** Another limit. */\nconst other = 1;\nexport const limit: number = other;\n"],
    ["a comment that repeats the name", "/** Limit. */\nexport const limit: number = 1;\n"],
  ])("reports %s, also through a re-export", (_, text) => {
    const index = `export { limit } from "./limit.ts";\n`;
    expect(listUndocumented([plant({ "src/index.ts": text })])).toHaveLength(1);
    expect(listUndocumented([plant({ "src/index.ts": index, "src/limit.ts": text })])).toHaveLength(1);
  });

  it.each([
    "/** Limit of lines. */\nexport const limit: number = 1;\n",
    "/** The limit of lines. */\nexport interface Limit {}\n",
    "/** A limit. */\nclass Limit {}\nexport { type Limit as Bound };\n",
    "/** First overload. */\nexport function f(a: string): void;\nexport function f(a: number): void;\nexport function f(): void {}\n",
  ])("accepts %j", (text) => {
    expect(listUndocumented([plant({ "src/index.ts": text })])).toEqual([]);
  });
});

it("the check for examples reports a function that no program and no comment shows", () => {
  const others =
    "/** Shown: ```f();``` */\nexport function f(): void {}\n/** Most runs. */\nexport const most: number = 1;\n";
  const entryPoint = plant({ "src/index.ts": `/** Runs it. */\nexport function run(): void {}\n${others}` });
  expect(listWithoutExample([entryPoint], new Map())).toEqual(["planted: run"]);
  expect(listWithoutExample([entryPoint], new Map([["run", {}]]))).toEqual([]);
});

describe("the API report", () => {
  const report = async (text: string): Promise<string> => {
    const reports = await emitApiReports([plant({ "src/index.ts": text })]);
    return [...reports.values()].join("");
  };

  it("shows signatures and members, and neither bodies, comments nor private and internal members", async () => {
    const text = await report(
      "/** Counts. */\nexport class Counter {\n  #count = 0;\n  private step = 1;\n" +
        "  /** Adds one. */\n  add(): number { return ++this.#count; }\n  /** @internal */\n  reset(): void {}\n}\n",
    );
    expect(text).toContain("class Counter {\n  add(): number;\n}");
  });

  it.each([
    ["a parameter", "export function f(a: string): void {}", "export function f(a: string, b?: string): void {}"],
    ["a member", "export interface O { readonly a: string }", "export interface O { readonly a: string; b?: number }"],
    [
      "a type without a public name",
      "interface A { a: 1 }\nexport type B = A;",
      "interface A { a: 2 }\nexport type B = A;",
    ],
    ["a constant", "export const T = { a: [1] } as const;", "export const T = { a: [2] } as const;"],
  ])("changes with %s", async (_, before, after) => {
    expect(await report(before)).toBe(await report(`// A comment does not matter.\n${before}\n`));
    expect(await report(before)).not.toBe(await report(after));
  });

  it("rejects a public declaration that does not state its types", () => {
    expect(() => plant({ "src/index.ts": "export function f() { return g(); }" })).toThrow("State the types of f");
  });
});

describe("the page of an entry point", () => {
  const emit = async (files: Readonly<Record<string, string>>, example?: ApiExample): Promise<string> => {
    const describe = (): string => "What it is for.";
    const { pages } = await emitApiPages([plant(files)], { describe, findExample: () => example });
    return [...pages.values()].join("");
  };

  it("has comments of members, and neither private nor internal members nor their comments", async () => {
    const text = await emit({
      "src/index.ts":
        "/** Counts. */\nexport class Counter {\n  /** How far it steps. */\n  private step = 1;\n" +
        "  /** Adds one. */\n  add(): number { return this.step; }\n  /** @internal Resets. */\n  reset(): void {}\n}\n",
    });
    expect(text).toContain("# planted\n\nWhat it is for.\n\n## Classes\n\n### Counter {#counter}\n\nCounts.\n");
    expect(text).toContain("class Counter {\n  /** Adds one. */\n  add(): number;\n}");
  });

  it("gives each declaration an anchor, also if names are equal or differ only in case", async () => {
    const text = await emit({
      "src/index.ts": 'export { Agent } from "./a.ts";\nexport { agent } from "./b.ts";\n',
      "src/a.ts": "interface Part { a: 1 }\nexport interface Agent { part: Part }\n",
      "src/b.ts": "interface Part { b: 2 }\nexport function agent(part: Part): void {}\n",
    });
    const anchors = [...text.matchAll(/\{#(.*)\}$/gm)].map(([, anchor]) => anchor);
    expect(anchors).toEqual(["agent", "agent-2", "part", "part-2"]);
    expect(text).toContain("```ts api agent= Part=/api/index.md#part-2\n");
  });

  it("shows a short example, and links to a long one", async () => {
    const files = { "src/index.ts": "/** Runs `a<b>` or a<b>. */\nexport function run(): void {}\n" };
    const example = { title: "Run it", link: "/guides/run.md#now", code: "run();\n" };
    const short = await emit(files, example);
    expect(short).toContain("Runs `a<b>` or a&lt;b>.");
    expect(short).toContain("```ts\nrun();\n```\n\nFrom [Run it](/guides/run.md#now).");
    const long = await emit(files, { ...example, code: "run();\n".repeat(60) });
    expect(long).toContain("\nExample: [Run it](/guides/run.md#now)\n");
  });
});
