// The programs of `examples`. The long run uses the packed package in an empty project, as a user would. The short run uses
// the bundled source, which starts faster; package.test.ts tests the package.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { agent } from "../src/agents/index.ts";
import { MemoryLog } from "../src/log/index.ts";
import { startLoomServer } from "../src/server/index.ts";
import { buildPackage } from "./build-package.ts";
import { nodeArgs } from "./bundle-source.ts";
import { findBlocks } from "./guide-pages.ts";
import { startProviderServer } from "./models/provider-server.ts";
import { LONG, sampleCases } from "./sampling.ts";
import { packageRoot } from "./source-files.ts";
import { SOURCE_HOOK } from "./source-hook.ts";

const project = realpathSync(mkdtempSync(join(tmpdir(), "loom-example-programs-")));
const modules = join(project, "node_modules");
const command = join(LONG ? join(modules, "loom-agent") : packageRoot, "bin", "loom.js");
const nodeOptions = LONG ? [] : [...nodeArgs(), "--import", SOURCE_HOOK];

beforeAll(async () => {
  cpSync(join(packageRoot, "examples"), project, { recursive: true });
  writeFileSync(join(project, "package.json"), `{ "name": "user", "private": true, "type": "module" }\n`);
  if (!LONG) return symlinkSync(join(packageRoot, "node_modules"), modules, "junction");
  mkdirSync(modules);
  for (const name of readdirSync(join(packageRoot, "node_modules")).filter((entry) => entry !== "loom-agent"))
    symlinkSync(join(packageRoot, "node_modules", name), join(modules, name), "junction");
  cpSync(await buildPackage(), join(modules, "loom-agent"), { recursive: true });
});

afterAll(() => {
  rmSync(project, { recursive: true, force: true });
});

/** Runs a program with this standard input. Returns what it printed; throws if it fails. */
function run(
  program: string,
  args: readonly string[] = [],
  input = "",
  variables = {},
  cwd = project,
): Promise<string> {
  const options = { cwd, env: { ...process.env, ...variables } };
  return new Promise((resolve, reject) => {
    const child = execFile(process.execPath, [...nodeOptions, program, ...args], options, (error, stdout, stderr) => {
      if (error) reject(new Error(stderr, { cause: error }));
      else resolve(stdout + stderr);
    });
    child.stdin?.end(input);
  });
}

describe("examples", { timeout: 120_000 }, () => {
  // `npm test` runs it in examples.test.ts.
  it.runIf(LONG)("define-a-tool.ts calls a tool", async () => {
    expect(await run("define-a-tool.ts")).toMatch(/There it is\. \(1 call\)\n$/);
  });

  const DECISIONS = [
    ["y", "Paid 100 to Ann."],
    ["n", "Not allowed."],
  ] as const;
  it.each(sampleCases(DECISIONS))("approve.ts runs the tool only if the user allows it: %s", async (word, result) => {
    const question = `Allow pay {"to":"Ann","amount":100}? (y/n) `;
    expect(await run("approve.ts", [], `${word}\n`)).toBe(`${question}${result}\nThat is all.\n`);
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

  // Starts two processes; src/tools/mcp/open-mcp-servers.test.ts calls tools of the same server.
  it.runIf(LONG)("mcp.ts calls a tool of an MCP server", async () => {
    expect(await run("mcp.ts")).toContain("everything ready \nEcho: Hello, MCP\nThe server answered.\n");
  });

  it.runIf(LONG)("local-model.ts uses a server with the API of OpenAI", async () => {
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

describe("the server of the README", { timeout: 120_000 }, () => {
  it.each(sampleCases(["README.md", "README.zh-CN.md"]))(
    "answers only with a token that was created: %s",
    async (page) => {
      const blocks = findBlocks(page, readFileSync(join(packageRoot, page), "utf8"));
      const at = blocks.findIndex(({ text }) => text.includes("createLoomHandler("));
      const [, , ...args] = (blocks[at + 1]?.text ?? "").trim().split(" ");
      const folder = join(project, `${page}-server`);
      const program = blocks[at]?.text.replace("listen(3000)", 'listen(0, "127.0.0.1")') ?? "";
      mkdirSync(folder);
      const file = join(folder, "server.mts");
      writeFileSync(file, `${program}server.on("listening", () => console.log(server.address().port));\n`);
      const server = spawn(process.execPath, [...nodeOptions, file], {
        cwd: folder,
        stdio: ["ignore", "pipe", "inherit"],
      });
      try {
        const [printed] = (await once(server.stdout, "data")) as [Buffer];
        const url = `http://127.0.0.1:${printed.toString().trim()}/agents`;
        const getStatus = async (headers = {}): Promise<number | undefined> => {
          const request = get(`${url}/v1/sessions`, { headers });
          const [response] = (await once(request, "response")) as [IncomingMessage];
          response.resume();
          return response.statusCode;
        };
        expect([await getStatus(), await getStatus({ host: "evil.example" })]).toEqual([401, 401]);
        const created = await run(command, args, "", {}, folder);
        const headers = { authorization: `Bearer ${created.split("\n", 1).join("")}` };
        expect([await getStatus(headers), await getStatus()]).toEqual([200, 401]);
      } finally {
        server.kill();
        await once(server, "exit");
      }
    },
  );
});

describe("loom init", { timeout: 120_000 }, () => {
  it.runIf(LONG)("creates a project whose agent answers with its tool", async () => {
    const created = await run(command, ["init", "my-agent"]);
    expect(created).toMatch(
      /^created package.json\ncreated .gitignore\n[^]*\nNext:\n {2}cd my-agent\n {2}npm install\n {2}npm start\n$/,
    );
    const folder = join(project, "my-agent");
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      readonly private: boolean;
      readonly scripts: { readonly start: string };
    };
    expect(manifest.private).toBe(true);
    const [program = "", ...args] = manifest.scripts.start.split(" ");
    expect([program, existsSync(join(folder, ".gitignore"))]).toEqual(["loom", true]);
    const server = spawn(process.execPath, [...nodeOptions, command, ...args, "--port", "0"], {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"],
    });
    try {
      const url = await new Promise<string>((resolve, reject) => {
        let printed = "";
        const read = (chunk: Buffer): void => {
          printed += chunk.toString();
          const [, found] = /listening on (\S+)/.exec(printed) ?? [];
          if (found !== undefined) resolve(found);
        };
        server.stdout.on("data", read);
        server.stderr.on("data", read);
        server.once("exit", () => reject(new Error(printed)));
      });
      const response = await fetch(`${url}/api/chat`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ session_id: "first", content: "Call roll_dice with 20 sides" }),
      });
      expect(await response.text()).toMatch(/"status":"success","result":{"content":"\d+"}/);
      // The store is inside the project, and no file of it is committed.
      expect(existsSync(join(folder, "data", "loom.db"))).toBe(true);
      expect(readFileSync(join(folder, "data", ".gitignore"), "utf8")).toBe("*\n");
    } finally {
      server.kill();
      await once(server, "exit");
    }
  });

  it("keeps what a package.json has, and overwrites no other file", async () => {
    const folder = join(project, "mine");
    mkdirSync(folder);
    const own = { name: "mine", scripts: { start: "node x.js" }, dependencies: { "loom-agent": "file:x.tgz" } };
    writeFileSync(join(folder, "package.json"), JSON.stringify(own));
    for (const file of ["README.md", "tsconfig.json"]) writeFileSync(join(folder, file), "Mine\n");
    expect(await run(command, ["init", "mine"])).toMatch(/^changed package.json\n[^]* {2}npm run loom\n$/);
    for (const file of ["README.md", "tsconfig.json"]) expect(readFileSync(join(folder, file), "utf8")).toBe("Mine\n");
    const manifest: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const scripts = { ...own.scripts, loom: "loom serve --config loom.json" };
    expect(manifest).toMatchObject({
      ...own,
      scripts,
      dependencies: { ...own.dependencies, zod: "^4.0.0" },
    });
    // npm refuses to publish a private package.
    expect(manifest).not.toHaveProperty("private");
    expect(manifest).not.toHaveProperty("type");
    await expect(run(command, ["init", "mine"])).rejects.toThrow("already exists; nothing was created");
  });
});
