// `loom serve` as a process: start, requests, shutdown and restart.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { CliError, parseCommand } from "../src/cli/command.ts";
import { serve as serveHere } from "../src/cli/serve/serve.ts";
import { SERVE } from "../src/cli/serve/serve-command.ts";
import { connect, createFetchTransport, createReceiver, createWebSocketTransport } from "../src/client/index.ts";
import { createTerminal } from "../src/cli/terminal.ts";
import type { Agents } from "../src/server/api/shapes.generated.ts";
import { folder, loom, parseLines } from "./cli-run.ts";
import { killServers, type ServerProcess, startServe } from "./start-serve.ts";
import { LONG } from "./sampling.ts";

afterEach(killServers);

let count = 0;
const newStore = (): string => join(folder, `serve-${++count}`, "loom.db");

const serve = (store: string, ...args: readonly string[]): Promise<ServerProcess> => startServe(store, args);

async function chat(url: string, content: string, more: { readonly [name: string]: string } = {}): Promise<string> {
  const response = await fetch(`${url}/api/chat`, {
    method: "POST",
    headers: { "content-type": "application/json", ...more },
    body: JSON.stringify({ session_id: "demo", content }),
  });
  expect(response.status).toBe(200);
  return response.text();
}

/** Runs the command in this process and returns its output and exit code. */
const ownTerminal = createTerminal(process.stdin, process.stdout, process.stderr);

async function serveInProcess(
  args: readonly string[],
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const output = { out: "", err: "" };
  const terminal = {
    ...ownTerminal,
    write: async (text: string) => void (output.out += text),
    warn: (text: string) => void (output.err += `${text}\n`),
  };
  try {
    const code = await serveHere(parseCommand(SERVE, args), terminal);
    return { code, ...output };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return { code: 2, out: output.out, err: [error.message, error.hint].join("\n") };
  }
}

describe("loom serve", () => {
  it.runIf(LONG)("writes an audit log, and does not start if it cannot", async () => {
    const store = newStore();
    const file = join(folder, `audit-${count}`);
    const server = await serve(store, "--audit-log", file);
    await fetch(`${server.url}/v1/sessions/s`, { method: "DELETE", headers: { "x-request-id": "r1" } });
    await chat(server.url, "What is 6*7?");
    expect((await fetch(`${server.url}/v1/sessions/demo`, { method: "DELETE" })).status).toBe(204);
    server.process.kill("SIGTERM");
    expect((await server.ended).code).toBe(0);
    const address = "127.0.0.1";
    expect(parseLines(readFileSync(file, "utf8"))).toMatchObject([
      { action: "server.start", actor: "server", target: { authentication: "off" } },
      { action: "session.delete", outcome: "unknown_session", actor: "local", address, request_id: "r1" },
      { action: "session.delete", outcome: "done", actor: "local", address, target: { session: "demo" } },
      { action: "server.stop" },
    ]);
    const failed = await serveInProcess(["--port", "0", "--store", store, "--audit-log", join(file, "x")]);
    expect([failed.code, failed.err]).toMatchObject([2, expect.stringContaining("audit-log: cannot write")]);
    const missing = await serveInProcess(["--port", "0", "--store", store, "--audit-required"]);
    expect(missing.err).toContain("audit-required: there is no audit log");
  });

  it("sends only what specification 001 defines with --strict, unless a request has strict=0", async () => {
    const server = await serve(newStore(), "--strict");
    await chat(server.url, "What is 6*7?");
    const read = async (query: string) => {
      const headers = { accept: "application/x-ndjson" };
      return (await fetch(`${server.url}/v1/sessions/demo/events?${query}`, { headers })).text();
    };
    expect(await read("")).toMatch(/"\$loom":"run_end"/);
    expect(await read("")).not.toMatch(/"contiguous"|"ts":/);
    expect(await read("strict=0")).toMatch(/"ts":.*"contiguous":true/);
    // Receivers of Loom can still verify what they get.
    const socket = `${server.url.replace("http", "ws")}/v1/ws`;
    for (const transport of [createFetchTransport(server), createWebSocketTransport({ url: socket })]) {
      const receiver = createReceiver();
      await connect(receiver, { transport, session: "demo", follow: false }).done;
      expect(receiver.getSnapshot().sessions[0]?.state).toMatchObject({ status: "complete", verified: true });
      transport.close();
    }
  });

  it("does not start with an unknown agent or without the module of its agents", async () => {
    const start = async (...args: readonly string[]) => (await serveInProcess(["--port", "0", ...args])).err;
    expect(await start("--store", newStore(), "--agent", "x")).toContain(
      "agent: x is not one of react, tot, got, agot",
    );
    expect(await start("--store", newStore(), "--agents", "none.ts")).toContain("agents: no file `none.ts`");
  });

  it("serves HTTP, resumes streams, shares its store and shuts down", async () => {
    const store = newStore();
    const [first, second] = await Promise.all([
      serve(store, "--log-level", "error"),
      serve(store, "--base-path", "/agents", "--no-metrics", "--kb", `${store}-kb`, "--limits", "max-document=1000"),
    ]);
    const answer = await chat(first.url, "What is 6*7?");
    expect(answer).toContain('"type":"session_start"');
    expect(answer).toContain("42");
    expect(answer.trimEnd().split("\n").at(-1)).toContain('"session_end"');
    const cursor = /^id: (?<id>.*)$/m.exec(answer)?.groups?.["id"] ?? "";
    const rest = await chat(first.url, "", { "last-event-id": cursor });
    expect(answer.endsWith(rest)).toBe(true);
    const page = await fetch(`${first.url}/`);
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(await page.text()).toContain('<div id="root">');
    expect((await fetch(`${first.url}/v1/knowledge`)).status).toBe(404);
    expect((await fetch(`${first.url}/metrics`)).status).toBe(200);
    first.process.kill("SIGTERM");
    const end = await first.ended;
    expect([end.code, end.err]).toEqual([
      0,
      expect.stringMatching(/\nstopping; press Ctrl-C again to exit immediately\n$/),
    ]);
    expect(end.out).toContain(`curl -N ${first.url}/api/chat`);
    expect(end.out).toMatch(/model +offline \(offline demo/);

    expect(second.url).toMatch(/\/agents$/);
    const replay = await fetch(`${second.url}/v1/sessions/demo/events?dialect=engine&follow=false`);
    expect(await replay.text()).toContain("42");
    expect((await fetch(`${second.url}/metrics`)).status).toBe(404);
    const send = (body: string) => fetch(`${second.url}/v1/knowledge?name=tides.md`, { method: "POST", body });
    expect((await send("x".repeat(1001))).status).toBe(413);
    expect((await send("# Tides\n\nThe moon pulls the sea twice a day.")).status).toBe(201);
    expect(await chat(second.url, "Look up the tides")).toContain("The moon pulls the sea");
    const { agents } = (await (await fetch(`${second.url}/v1/agents`)).json()) as Agents;
    const ways = agents.map(({ name, kind, is_adaptive, model }) => [name, kind, is_adaptive, model]);
    expect(ways.slice(2, 5)).toEqual([
      ["got", "got", undefined, "offline"],
      ["agot", "got", true, "offline"],
      ["react:ollama/y", "react", undefined, "ollama/y"],
    ]);
    expect(ways).toHaveLength(8);
    second.process.kill("SIGINT");
    const other = await second.ended;
    expect(other.err).toContain('model acme/x is not available: Unknown provider "acme"');
    expect([other.code, other.err]).toEqual([0, expect.stringContaining(`kb: \`${store}-kb\` does not exist yet`)]);
  });

  it("reports invalid settings and exits with 2", async () => {
    const busy = createServer();
    await new Promise<void>((resolve) => busy.listen(0, "127.0.0.1", resolve));
    const port = String((busy.address() as AddressInfo).port);
    const store = newStore();
    const file = join(folder, "settings.json");
    writeFileSync(file, '{"prot": 1}');
    const cases: readonly (readonly [readonly string[], string])[] = [
      [["--config", file], 'unknown setting "prot"\ndid you mean "port"?'],
      [["--host", "0.0.0.0"], `other machines can reach 0.0.0.0 and could use these agents and their tools`],
      [["--host", "0.0.0.0"], `no token exists yet\ncreate a token with \`loom token create NAME --store ${store}\``],
      [["--host", "0.0.0.0", "--auth", "on"], "authentication is on, but no token exists yet\ncreate a token with"],
      [["--host", "::", "--auth", "off"], "authentication is off\ncreate a token with"],
      [["--jwks", "https://id.example.com/keys"], "jwt-issuer, jwt-audience missing: JWTs need"],
      [
        ["--jwks", "http://id.example.com/keys"],
        "--jwks: http://id.example.com/keys is not an https URL, or an http URL on this machine",
      ],
      [["--model", "acme/x"], 'model: Unknown provider "acme"'],
      [["--mcp", join(folder, "nothing.json")], `mcp: ${join(folder, "nothing.json")} cannot be read (ENOENT)`],
    ];
    for (const [args, message] of cases) {
      const { code, out, err } = await serveInProcess(["--kb", "none", "--store", store, ...args]);
      expect([code, out], args.join(" ")).toEqual([2, ""]);
      expect(err).toContain(message);
    }
    const inMemory = await serveInProcess(["--kb", "none", "--store", ":memory:"]);
    expect([inMemory.code, inMemory.err]).toEqual([2, expect.stringContaining("a store in memory would be lost")]);
    const [taken, unwritable] = await Promise.all([
      loom(["serve", "--port", port, "--store", store, "--kb", "none"]),
      loom(["serve", "--port", "0", "--store", join(file, "loom.db"), "--kb", "none"]),
    ]);
    expect([taken.code, taken.out, unwritable.code, unwritable.out]).toEqual([2, "", 2, ""]);
    expect(taken.err).toContain(`Cannot listen on 127.0.0.1:${port}: the address is already in use`);
    expect(unwritable.err).toContain("choose another store with --store or LOOM_STORE");
    await new Promise((resolve) => busy.close(resolve));
  });

  it("shuts down on a signal during the start", async () => {
    const before = process.listeners("SIGTERM").length;
    const store = newStore();
    const watch = (name: string | symbol, added: (...args: unknown[]) => void): void => {
      if (name === "SIGTERM") queueMicrotask(() => added("SIGTERM"));
    };
    process.on("newListener", watch);
    const ran = await serveInProcess(["--port", "0", "--store", store, "--kb", "none"]);
    process.off("newListener", watch);
    expect(ran).toEqual({ code: 0, out: "", err: "stopping; press Ctrl-C again to exit immediately\n" });
    expect(process.listeners("SIGTERM")).toHaveLength(before);
  });
});
