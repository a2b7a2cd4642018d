// The programs of `examples`, run with the packed package in an empty project, as a user would run them.
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { agent } from "../src/agents/index.ts";
import { MemoryLog } from "../src/log/index.ts";
import { startLoomServer } from "../src/server/index.ts";
import { buildPackage } from "./build-package.ts";
import { startProviderServer } from "./models/provider-server.ts";
import { packageRoot } from "./source-files.ts";

const project = realpathSync(mkdtempSync(join(tmpdir(), "loom-example-programs-")));
const modules = join(project, "node_modules");

beforeAll(async () => {
  mkdirSync(modules);
  for (const name of readdirSync(join(packageRoot, "node_modules")).filter((entry) => entry !== "loom-agent"))
    symlinkSync(join(packageRoot, "node_modules", name), join(modules, name), "junction");
  cpSync(await buildPackage(), join(modules, "loom-agent"), { recursive: true });
  cpSync(join(packageRoot, "examples"), project, { recursive: true });
  writeFileSync(join(project, "package.json"), `{ "name": "user", "private": true, "type": "module" }\n`);
});

afterAll(() => {
  rmSync(project, { recursive: true, force: true });
});

/** Runs a program with this standard input. Returns what it printed; throws if it fails. */
function run(program: string, args: readonly string[] = [], input = "", variables = {}): Promise<string> {
  const options = { cwd: project, env: { ...process.env, ...variables } };
  return new Promise((resolve, reject) => {
    const child = execFile(process.execPath, [program, ...args], options, (error, stdout, stderr) => {
      if (error) reject(error);
      else resolve(stdout + stderr);
    });
    child.stdin?.end(input);
  });
}

describe("examples", { timeout: 120_000 }, () => {
  it("define-a-tool.ts calls a tool", async () => {
    expect(await run("define-a-tool.ts")).toMatch(/There it is\. \(1 call\)\n$/);
  });

  it("approve.ts runs the tool only if the user allows it", async () => {
    const question = `Allow pay {"to":"Ann","amount":100}? (y/n) `;
    const [allowed, rejected] = await Promise.all([run("approve.ts", [], "y\n"), run("approve.ts", [], "n\n")]);
    expect(allowed).toBe(`${question}Paid 100 to Ann.\nThat is all.\n`);
    expect(rejected).toBe(`${question}Not allowed.\nThat is all.\n`);
  });

  it("graph.ts repeats its steps until the draft is short", async () => {
    expect(await run("graph.ts")).toBe("12 words, 9 words, 6 words\nLoom carries the run of an\n");
  });

  it("ingest.ts stores the run of another agent", async () => {
    const log = new MemoryLog();
    const server = await startLoomServer({ log, agents: { main: agent({ provider: "offline" }) }, port: 0 });
    try {
      const printed = await run("ingest.ts", [server.url]);
      const [, session = ""] = /^completed\n.*\?session=(\S+)\n$/.exec(printed) ?? [];
      const { records } = await log.read(session, { after: 0 });
      expect(records.flatMap(({ event }) => (event.type === "reply" ? [event.reply] : []))).toEqual(["6 × 7 is 42."]);
    } finally {
      await server.close();
      await log.close();
    }
  });

  it("mcp.ts calls a tool of an MCP server", async () => {
    expect(await run("mcp.ts")).toContain("everything ready \nEcho: Hello, MCP\nThe server answered.\n");
  });

  it("local-model.ts uses a server with the API of OpenAI", async () => {
    const provider = await startProviderServer();
    provider.script = [{ calls: [{ name: "calculator", input: { expression: "17*23" } }] }, { text: "It is 391." }];
    try {
      const printed = await run("local-model.ts", [provider.url, "qwen3"], "", { LOCAL_API_KEY: provider.key });
      expect(printed).toBe("calculator: 391\nIt is 391.\ncompleted\n");
    } finally {
      await provider.close();
    }
  });
});
