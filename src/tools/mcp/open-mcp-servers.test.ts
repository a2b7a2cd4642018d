import { afterEach, describe, expect, it, vi } from "vitest";
import type { JsonObject } from "../../protocol/index.ts";
import type { Tool } from "../tool.ts";
import {
  call,
  closeAll,
  MODULE_URL,
  EVERYTHING,
  failure,
  findPort,
  type RecordedOutput,
  isAlive,
  open,
  runProgram,
  serve,
  until,
} from "../../../test/contracts/mcp-fixture.ts";
import type { McpOptions } from "./open-mcp-servers.ts";
import { LONG } from "../../../test/sampling.ts";

afterEach(closeAll);

describe("a server over stdio", () => {
  it("provides working tools", async () => {
    vi.stubEnv("OPENAI_API_KEY", "sk-of-this-process");
    const mcp = await open({
      everything: { command: process.execPath, args: [EVERYTHING, "stdio"], env: { GIVEN: "to the server" } },
    });
    vi.unstubAllEnvs();
    expect(mcp.servers).toMatchObject([{ name: "everything", state: "ready", tools: 12, restarts: 0 }]);
    const sum = mcp.tools.find(({ name }) => name === "everything__get-sum");
    expect(sum?.inputSchema).toMatchObject({ type: "object", required: ["a", "b"] });
    expect(sum?.inputSchema).not.toHaveProperty("$schema");
    expect((await call(mcp, "everything__get-sum", { a: 2, b: 3 })).text).toBe("The sum of 2 and 3 is 5.");
    expect(await call(mcp, "everything__get-sum", { a: "2" })).toMatchObject({ isError: true });

    const recorded: RecordedOutput = { shown: [], reports: [] };
    await call(mcp, "everything__get-tiny-image", {}, { recorded });
    expect(recorded.shown).toMatchObject([{ type: "image", media_type: "image/png" }]);
    await call(mcp, "everything__trigger-long-running-operation", { duration: 0.1, steps: 4 }, { recorded });
    expect(recorded.reports.map(([progress]) => progress)).toEqual([25, 50, 75, 100]);
    const weather = await call(mcp, "everything__get-structured-content", { location: "New York" });
    expect(weather.output).toMatchObject({ conditions: "Cloudy" });

    const env = JSON.parse((await call(mcp, "everything__get-env")).text) as JsonObject;
    expect(env).toMatchObject({ GIVEN: "to the server" });
    expect(Object.keys(env).filter((name) => !["PATH", "HOME", "LANG", "GIVEN"].includes(name))).toEqual([]);
  });
});

describe("servers that fail to start", () => {
  it("do not affect the others, and report an error", async () => {
    const mcp = await open(
      {
        none: { command: "/no/such/program" },
        exit: serve("exit", { env: { TOKEN: "very-secret" } }),
        endless: serve("endless"),
        flood: serve("flood"),
        "no-list": serve("no-list"),
        web: { url: `http://127.0.0.1:${await findPort()}/mcp` },
        good: serve("good"),
      },
      {},
      { maxMessageBytes: 1_000_000, maxIgnoredLines: 2000 },
    );
    const states = Object.fromEntries(mcp.servers.map(({ name, state, error }) => [name, error ?? state]));
    expect(states).toEqual({
      none: "could not be started (ENOENT)",
      exit: "exited with code 3",
      endless: "sent a message of more than 1000000 bytes",
      flood: "printed more than 2000 lines that are not messages",
      "no-list": "MCP error -32601: Method not found",
      web: "could not be reached (ECONNREFUSED)",
      good: "ready",
    });
    expect(mcp.servers.filter(({ state }) => state === "failed")).toHaveLength(6);
    expect(mcp.tools.map(({ name }) => name)).toContain("good__say");
    expect(mcp.tools.every(({ name }) => name.startsWith("good__"))).toBe(true);
    expect((await call(mcp, "good__say", { a: 1 })).text).toBe('said {"a":1}');
    // None of them keeps running.
    for (const { name, stderr } of mcp.servers) {
      const pid = Number(/pid (\d+)/.exec(stderr)?.[1]);
      if (name !== "good" && !Number.isNaN(pid)) await until(() => !isAlive(pid));
    }
  });

  it.runIf(LONG)("time out", async () => {
    const mcp = await open({ stuck: serve("stuck"), "slow-list": serve("slow-list") }, { startTimeoutMs: 500 });
    expect(mcp.tools).toEqual([]);
    expect(mcp.servers).toMatchObject([
      { state: "failed", error: "did not respond within 500 ms" },
      // On a busy machine it may not get as far as the list.
      {
        state: "failed",
        error: expect.stringMatching(/^did not (list its tools in time|respond within 500 ms)$/) as string,
      },
    ]);
  });

  it("reject an invalid configuration or too many servers", async () => {
    expect(await open({})).toMatchObject({ tools: [], servers: [] });
    const many = Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`s${n}`, serve("good")]));
    expect(await failure(open(many))).toMatchObject({ code: "mcp_failed" });
    const wrong = await failure(open({ a: { command: "" } }));
    expect(wrong.details).toMatchObject({ key: "mcpServers.a.command" });
  });

  it.each<[object, string]>([
    [{ maxTool: 1 }, "Unknown option `maxTool`; did you mean `maxTools`?"],
    [{ maxTools: Number.NaN }, "`maxTools` must be an integer from 0 to 536870912"],
    [{ approval: "sometimes" }, '`approval` must be "never", "always", "by-hints" or a function, not "sometimes"'],
  ])("reject a wrong option: %o", async (options, message) => {
    const refusal = { code: "mcp_failed", message: expect.stringContaining(message) as string };
    expect(await failure(open({}, options))).toMatchObject(refusal);
  });
});

describe("without the MCP SDK", () => {
  it.runIf(LONG)("names the package to install, and works if there are no servers", async () => {
    const program = `import { registerHooks } from "node:module";
      const sdk = "@modelcontextprotocol/sdk";
      const missing = () => Object.assign(new Error("Cannot find package '" + sdk + "'"), { code: "ERR_MODULE_NOT_FOUND" });
      registerHooks({ resolve: (name, context, next) => { if (name.startsWith(sdk)) throw missing(); return next(name, context); } });
      const { openMcpServers } = await import(${JSON.stringify(MODULE_URL)});
      const open = (mcpServers) => openMcpServers({ mcpServers }).then(({ tools }) => tools, ({ code, message }) => ({ code, message }));
      process.stdout.write(JSON.stringify([await open({}), await open({ a: { command: "a" } })]));`;
    const { out } = await runProgram(program);
    expect(JSON.parse(out)).toEqual([
      [],
      {
        code: "missing_package",
        message: "Install @modelcontextprotocol/sdk to use MCP servers: npm install @modelcontextprotocol/sdk",
      },
    ]);
  });
});

describe("declared tools", () => {
  it("get names and descriptions that all providers accept, or are left out", async () => {
    const mcp = await open({ "my server": serve("odd"), odd: serve("odd") }, {}, { maxSchemaCharacters: 10_000 });
    const names = mcp.tools.map(({ name }) => name);
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => name.startsWith("odd__"))).toEqual([
      expect.stringMatching(/^odd__a_b_[0-9a-f]{8}$/),
      expect.stringMatching(/^odd__a_b_[0-9a-f]{8}$/),
      "odd__same",
      expect.stringMatching(/^odd__same_[0-9a-f]{8}$/),
      expect.stringMatching(/^odd__x+_[0-9a-f]{8}$/),
      "odd__no-schema",
      "odd__words",
      "odd__reads",
      "odd__kind",
    ]);
    expect(mcp.servers[1]).toMatchObject({ tools: 9, toolsLeftOut: 8 });
    const find = (name: string): Tool | undefined => mcp.tools.find((tool) => tool.name === name);
    expect(find("odd__words")?.description).toHaveLength(2000);
    expect(find("odd__no-schema")).toMatchObject({ inputSchema: { type: "object" }, description: "no-schema" });
    expect(find("odd__no-schema")).not.toHaveProperty("title");
    expect(find("odd__reads")).toMatchObject({ title: "Read it", description: "Reads, and says so.", server: "odd" });
    expect(find("odd__kind")).toMatchObject({ title: "Be kind", description: "Be kind" });
    // Each is called by its name on the server.
    expect((await call(mcp, "odd__reads", { a: 1 })).text).toBe('said {"a":1}');
  });

  it("are limited in number", async () => {
    const mcp = await open({ thousand: serve("thousand"), circle: serve("circle") });
    expect(mcp.servers).toMatchObject([
      { state: "ready", tools: 128, toolsLeftOut: 872 },
      { state: "ready", tools: 128, toolsLeftOut: 72 },
    ]);
    expect(mcp.tools).toHaveLength(256);
    const few = await open({ thousand: serve("thousand") }, { maxTools: 3 });
    expect(few.tools.map(({ name }) => name)).toEqual(["thousand__t0", "thousand__t1", "thousand__t2"]);
  });

  it("require approval unless read-only, or as the option says", async () => {
    const asks = async (approval?: McpOptions["approval"]): Promise<boolean[]> => {
      const { tools } = await open({ odd: serve("odd") }, approval === undefined ? {} : { approval });
      const pick = ["odd__words", "odd__reads", "odd__kind"];
      return Promise.all(
        pick.map(async (name) => tools.find((tool) => tool.name === name)?.needsApproval({}) ?? false),
      );
    };
    expect(await asks()).toEqual([true, false, true]);
    expect(await asks("always")).toEqual([true, true, true]);
    expect(await asks("never")).toEqual([false, false, false]);
    expect(await asks(({ destructive }) => destructive)).toEqual([true, false, false]);
  });

  it("require approval if the option is undefined, and reject an unknown policy", async () => {
    const none = { approval: undefined, callTimeoutMs: undefined, startTimeoutMs: undefined, maxTools: undefined };
    const mcp = await open({ odd: serve("odd") }, none as unknown as McpOptions);
    const words = mcp.tools.find(({ name }) => name === "odd__words");
    expect(await words?.needsApproval({})).toBe(true);
    expect(words?.timeoutMs).toBe(81_000);
    expect((await call(mcp, "odd__words")).text).toBe("said {}");
    for (const approval of ["ask", "", null, true])
      expect(await failure(open({}, { approval: approval as never }))).toMatchObject({ code: "mcp_failed" });
    for (const wrong of [{ callTimeoutMs: Number.NaN }, { maxTools: -1 }, { startTimeoutMs: Infinity }])
      expect(await failure(open({}, wrong))).toMatchObject({ code: "mcp_failed" });
  });

  it("are never idempotent", async () => {
    const { tools } = await open({ odd: serve("odd") });
    expect(tools.filter(({ idempotent }) => idempotent === true)).toEqual([]);
  });
});
