import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { agent } from "../agents/index.ts";
import { OfflineModel } from "../models/index.ts";
import { CliError, parseCommand } from "./command.ts";
import { RUN } from "./commands.ts";
import { isAgentName, loadAgents } from "./load-agents.ts";
import { nameAgent, readAgentOptions } from "./run/read-agent-options.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "loom-agents-")));
afterAll(() => rmSync(folder, { recursive: true }));

/** An agent as another copy of the package could make it. */
const AGENT = `{ kind: "foreign", isAdaptive: false, toolNames: [], sessionOptions() {}, openSession() {}, close() {} }`;
let count = 0;

function write(text: string, name = `agents-${++count}.mjs`): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

async function fail(file: string): Promise<string> {
  const error: unknown = await loadAgents(file, { timeoutMs: 5000 }).catch((thrown: unknown) => thrown);
  if (!(error instanceof CliError)) throw error;
  return [error.message, error.hint ?? ""].join("\n").replaceAll(`${folder}/`, "");
}

describe("loadAgents", () => {
  test("reads agents by name, in their order, with descriptions", async () => {
    const text = `const agent = ${AGENT}; export default { writer: agent, helper: { agent, description: "Helps" } }`;
    const agents = await loadAgents(write(text));
    expect(Object.keys(agents)).toEqual(["writer", "helper"]);
    expect(agents).toMatchObject({ writer: { agent: { kind: "foreign" } }, helper: { description: "Helps" } });
  });

  test("names a single agent after its file, and reads CommonJS", async () => {
    expect(Object.keys(await loadAgents(write(`export default ${AGENT}`, "helper.mjs")))).toEqual(["helper"]);
    expect(Object.keys(await loadAgents(write(`module.exports = { old: ${AGENT} }`, "old.cjs")))).toEqual(["old"]);
  });

  test("loads the module of the guide", async () => {
    const guide = readFileSync(new URL("../../docs/guides/command-line.md", import.meta.url), "utf8");
    const program = /^```ts\n(\/\/ agents\.mts\n.*?)^```$/ms.exec(guide)?.[1] ?? "";
    const text = program.replaceAll(
      /"loom-agent\/(\w+)"/g,
      (_, name: string) => `"${new URL(`../${name}/index.ts`, import.meta.url).href}"`,
    );
    expect(await loadAgents(write(text, "guide.ts"))).toMatchObject({
      echo: { agent: { kind: "foreign" } },
      writer: { agent: { kind: "react" }, description: "Writes poems" },
    });
  });

  test.each([
    ["export const helper = 1", "`X` has no default export"],
    ["export default {}", "the default export of `X` has no agents"],
    ["export default [1]", "has no agents: an array"],
    ["export default () => 1", "has no agents"],
    ["export default { helper: 5 }", '"helper" in `X` is not an agent: 5'],
    ["export default { helper: { agent: { kind: 'x' } } }", '"helper" in `X` is not an agent: an object'],
    [`export default { "a b": ${AGENT} }`, 'invalid name "a b" of an agent in `X`'],
    [`export default { a: { agent: ${AGENT}, model: 3 } }`, '`model` of "a" in `X` must be a string, not 3'],
    ["\nthrow new Error('boom');", "`X` failed while loading: boom (X:2)"],
    ["await new Promise((resolve, reject) => reject('no'))", "`X` failed while loading: no"],
  ])("%s: %s", async (text, message) => {
    const file = write(text);
    expect(await fail(file)).toContain(message.replaceAll("X", file.slice(folder.length + 1)));
  });

  test("reports a missing file and a folder", async () => {
    expect(await fail(join(folder, "none.ts"))).toContain("agents: no file `none.ts`");
    await expect(loadAgents(folder)).rejects.toThrow("agents: no file");
  });

  test("limits the time to load", async () => {
    const loading = loadAgents(write("await new Promise(() => {})"), { timeoutMs: 50 });
    await expect(loading).rejects.toThrow("did not finish loading within 0.05 s");
  });

  test("accepts the names of agents of other models, and no text with spaces or controls", () => {
    expect(["react:openai/gpt-5", "助手", "a_1", "x".repeat(64)].every(isAgentName)).toBe(true);
    expect(["", "-a", "a b", "a\n", "\u001B[1m", "x".repeat(65)].some(isAgentName)).toBe(false);
  });
});

describe("options of an agent of the user", () => {
  const helper = { agent: agent({ model: new OfflineModel() }) };
  const read = (...args: readonly string[]) => readAgentOptions(parseCommand(RUN, [...args, "hi"]), { helper });

  test("the first one is the default, and one replaces the built-in agent of its name", () => {
    expect(read()).toMatchObject({ kind: "own", name: "helper" });
    expect(nameAgent(read("--agent", "helper"))).toBe("helper");
    expect(read("--agent", "tot")).toEqual({ kind: "tot" });
    expect(readAgentOptions(parseCommand(RUN, ["hi"]), { react: helper })).toMatchObject({ kind: "own" });
  });

  test("rejects unknown names and options of built-in agents", () => {
    expect(() => read("--agent", "x")).toThrow("`--agent` does not accept `x`");
    for (const option of [["--model", "offline"], ["--set", "tot.beam=2"], ["--kb", "none"], ["--allow-fetch"]])
      expect(() => read(...option)).toThrow(`\`${option[0] ?? ""}\` does not apply to \`--agent helper\``);
  });
});
