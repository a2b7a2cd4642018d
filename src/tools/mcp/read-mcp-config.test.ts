import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { LoomError } from "../../protocol/index.ts";
import { readMcpConfig } from "./read-mcp-config.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-mcp-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const path = join(folder, "mcp.json");

async function read(value: unknown, env: { readonly [name: string]: string } = {}) {
  writeFileSync(path, typeof value === "string" ? value : JSON.stringify(value));
  return readMcpConfig(path, env);
}

async function refusal(value: unknown, env = {}): Promise<LoomError> {
  const error: unknown = await read(value, env).catch((thrown: unknown) => thrown);
  if (!(error instanceof LoomError)) throw new Error("not rejected");
  expect(error.code).toBe("mcp_failed");
  expect(error.message).toContain(path);
  return error;
}

describe("readMcpConfig", () => {
  it("reads both kinds of servers, and skips disabled ones", async () => {
    const config = await read(
      {
        mcpServers: {
          files: { command: "npx", args: ["-y", "server", "${DIR}/a"], env: { KEY: "${KEY}" }, cwd: "/tmp", other: 1 },
          plain: { type: "stdio", command: "serve", args: null },
          web: {
            type: "streamable-http",
            url: "https://${HOST:-example.org}/mcp",
            headers: { authorization: "Bearer ${KEY}" },
          },
          off: { disabled: true },
        },
        somethingElse: true,
      },
      { DIR: "/d", KEY: "k", HOST: "" },
    );
    expect(config).toEqual({
      mcpServers: {
        files: { command: "npx", args: ["-y", "server", "/d/a"], env: { KEY: "k" }, cwd: "/tmp" },
        plain: { command: "serve" },
        web: { type: "streamable-http", url: "https://example.org/mcp", headers: { authorization: "Bearer k" } },
      },
    });
    expect(await read(`\uFEFF{"mcpServers": {}}`)).toEqual({ mcpServers: {} });
  });

  it.each([
    [{}, "mcpServers", "must be an object"],
    [[], "mcpServers", "must be an object"],
    [{ mcpServers: [] }, "mcpServers", "must be an object"],
    [{ mcpServers: { a: 1 } }, "mcpServers.a", "must be an object"],
    [{ mcpServers: { a: {} } }, "mcpServers.a.command", "is missing"],
    [{ mcpServers: { a: { command: "x", url: "http://a/" } } }, "mcpServers.a", "both"],
    [{ mcpServers: { a: { command: "x", args: "y" } } }, "mcpServers.a.args", "must be an array"],
    [{ mcpServers: { a: { command: "x", args: ["y", 1] } } }, "mcpServers.a.args[1]", "must be a string"],
    [{ mcpServers: { a: { command: "x\0" } } }, "mcpServers.a.command", "NUL"],
    [{ mcpServers: { a: { command: "x", env: { K: 1 } } } }, "mcpServers.a.env.K", "must be a string"],
    [{ mcpServers: { a: { command: "x", env: { K: "${NONE}" } } } }, "mcpServers.a.env.K", "NONE, which is not set"],
    [{ mcpServers: { a: { url: "ftp://a/" } } }, "mcpServers.a.url", "http"],
    [{ mcpServers: { a: { url: "nonsense" } } }, "mcpServers.a.url", "http"],
    [{ mcpServers: { a: { url: "http://a/", type: "sse" } } }, "mcpServers.a.type", "streamable-http"],
    [{ mcpServers: { a: { type: "http" } } }, "mcpServers.a.url", "is missing"],
  ])("names the key in %j", async (value, key, words) => {
    const error = await refusal(value);
    expect(error.details).toEqual({ path, key });
    expect(error.message).toContain(words);
  });

  it("reports the position of a syntax error, but no content", async () => {
    const error = await refusal('{\n  "mcpServers": { "a": { "env": { "KEY": "secret" }, } }\n}');
    expect(error.message).toMatch(/is not valid JSON \(line 2 column \d+: expected .+\)$/);
    await expect(readMcpConfig(join(folder, "none.json"))).rejects.toThrow(/none\.json cannot be read \(ENOENT\)/);
  });
});
