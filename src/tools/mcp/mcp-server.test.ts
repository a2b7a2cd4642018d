import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import {
  call,
  closeAll,
  MODULE_URL,
  failure,
  findPid,
  type RecordedOutput,
  isAlive,
  open,
  runProgram,
  serve,
  until,
} from "../../../test/contracts/mcp-fixture.ts";
import { LONG } from "../../../test/sampling.ts";

afterEach(closeAll);

describe("calls", () => {
  it("work although the server prints lines that are not messages", async () => {
    const mcp = await open({ s: serve("garbage") });
    expect((await call(mcp, "s__say", { a: "é" })).text).toBe('said {"a":"é"}');
    expect(mcp.servers[0]?.ignoredLines).toBeGreaterThan(4);
  });

  it("return the readable parts of any response", async () => {
    const mcp = await open({ s: serve("good") }, {}, { maxImageCharacters: 1000 });
    const recorded: RecordedOutput = { shown: [], reports: [] };
    const result = await call(mcp, "s__parts", {}, { recorded });
    expect(result).toEqual({
      text: [
        "one",
        "[image/png, shown to the user]",
        "[image/png, cannot be shown]",
        "[image/png, cannot be shown]",
        "[text/html, cannot be shown]",
        "[audio, cannot be shown]",
        "of a file",
        "[file:///b, not a text]",
        "[c: file:///c]",
        "[unknown content, cannot be shown]",
      ].join("\n"),
      output: { a: [1] },
      isError: true,
    });
    expect(recorded.shown).toEqual([
      { type: "image", url: "data:image/png;base64,iVBORw0KGgo=", media_type: "image/png" },
    ]);
    await call(mcp, "s__progress", {}, { recorded });
    expect(recorded.reports.length).toBeLessThanOrEqual(500);
    expect(recorded.reports.every(([progress]) => progress >= 0 && progress <= 100)).toBe(true);
  });

  it("show log messages of the server during a call, without its secrets", async () => {
    const mcp = await open({ s: serve("good", { env: { TOKEN: "very-secret" } }) });
    const recorded: RecordedOutput = { shown: [], reports: [] };
    expect((await call(mcp, "s__log", {}, { recorded })).text).toBe("logged");
    expect(recorded.shown).toHaveLength(100);
    expect(recorded.shown.slice(0, 2)).toEqual([
      {
        type: "custom",
        value: {
          mcp_log: { server: "s", level: "info", logger: "disk", message: expect.stringContaining("key ") as string },
        },
      },
      { type: "custom", value: { mcp_log: { server: "s", level: "warning", message: '{"n":0}' } } },
    ]);
    expect(JSON.stringify(recorded.shown)).not.toContain("very-secret");
    await call(mcp, "s__say", {}, { recorded });
    expect(recorded.shown).toHaveLength(100);
  });

  it("report errors without secrets of the server", async () => {
    const mcp = await open({ s: serve("good", { env: { TOKEN: "very-secret" } }) });
    const error = await failure(call(mcp, "s__fail"));
    expect(error.code).toBe("mcp_failed");
    expect(error.message).toBe("MCP server s: MCP error -32603: the disk is on fire, says •••.");
    expect(mcp.servers[0]).toMatchObject({ state: "ready" });
    expect(await call(mcp, "s__told")).toEqual({
      text: "no such key: •••\nsorry",
      output: { keys: ["•••"] },
      isError: true,
    });
    expect((await failure(call(mcp, "s__stack"))).message).toBe("MCP server s: MCP error -32603: boom.");
    expect(await call(mcp, "s__silent")).toEqual({ text: "The tool failed and did not say why.", isError: true });
  });

  it.runIf(LONG)("restart a crashed server, up to a limit", async () => {
    let ahead = 0;
    const read = performance.now.bind(performance);
    const clock = vi.spyOn(performance, "now").mockImplementation(() => read() + ahead);
    onTestFinished(() => clock.mockRestore());
    const mcp = await open({ s: serve("good") }, { maxRestarts: 2 }, { forgiveMs: 600_000 });
    const first = findPid(mcp);
    const error = await failure(call(mcp, "s__die"));
    expect(error).toMatchObject({ code: "mcp_failed", message: "MCP server s: exited with code 7." });
    expect(mcp.servers[0]).toMatchObject({ state: "down", error: "exited with code 7" });
    expect((await call(mcp, "s__say")).text).toBe("said {}");
    expect(mcp.servers[0]).toMatchObject({ state: "ready", restarts: 1 });
    expect(mcp.servers[0]?.stderr).toMatch(new RegExp(`pid ${first}\\npid \\d+`));
    // A successful call resets the failures.
    for (let death = 0; death < 3; death += 1) await failure(call(mcp, "s__die"));
    expect(mcp.servers[0]).toMatchObject({ state: "failed", restarts: 3 });
    const last = await failure(call(mcp, "s__say"));
    expect(last.message).toBe("MCP server s: exited with code 7; failed 3 times, next attempt in 600000 ms.");
    expect(mcp.servers[0]).toMatchObject({ restarts: 3 });
    // After the pause it is started again, once.
    ahead += 600_000;
    await failure(call(mcp, "s__die"));
    expect(mcp.servers[0]).toMatchObject({ state: "failed", restarts: 4 });
    ahead += 600_000;
    expect((await call(mcp, "s__say")).text).toBe("said {}");
    expect(mcp.servers[0]).toMatchObject({ state: "ready", restarts: 5 });
  });

  it("share one start", async () => {
    const mcp = await open({ s: serve("good") });
    await failure(call(mcp, "s__die"));
    const all = await Promise.all(Array.from({ length: 20 }, async (_, n) => call(mcp, "s__say", { n })));
    expect(all.map(({ text }) => text)).toEqual(all.map((_, n) => `said {"n":${n}}`));
    expect(mcp.servers[0]).toMatchObject({ restarts: 1 });
  });

  it.runIf(LONG)("time out if the server hangs, and replace a stuck server", async () => {
    const slow = await open({ s: serve("good") }, { callTimeoutMs: 400 });
    const late = await failure(call(slow, "s__hang"));
    expect(late).toMatchObject({
      code: "tool_timeout",
      message: "MCP server s: did not respond within 400 ms.",
    });
    // It answers a ping, so it is kept.
    expect((await call(slow, "s__say")).text).toBe("said {}");
    expect(slow.servers[0]).toMatchObject({ state: "ready", restarts: 0 });
    const mcp = await open({ s: serve("good") }, { callTimeoutMs: 50 }, { pingTimeoutMs: 50 });
    expect(await failure(call(mcp, "s__hang", { forever: true }))).toMatchObject({ code: "tool_timeout" });
    const pid = findPid(mcp);
    await until(() => mcp.servers[0]?.state === "down");
    await until(() => !isAlive(pid));
  });

  it("are cancelled on the server when aborted, and remove their listeners", async () => {
    const mcp = await open({ s: serve("good") });
    const controller = new AbortController();
    const add = vi.spyOn(controller.signal, "addEventListener");
    const remove = vi.spyOn(controller.signal, "removeEventListener");
    await call(mcp, "s__say", {}, controller);
    expect(remove.mock.calls.length).toBeGreaterThanOrEqual(add.mock.calls.length);
    const work = call(mcp, "s__wait", {}, controller);
    await until(() => mcp.servers[0]?.stderr.includes("waiting") === true);
    controller.abort(new Error("the run was cancelled"));
    await expect(work).rejects.toThrow("the run was cancelled");
    await until(() => mcp.servers[0]?.stderr.includes("cancelled") === true);
    const id = /waiting (\d+)/.exec(mcp.servers[0]?.stderr ?? "")?.[1];
    expect(mcp.servers[0]?.stderr).toContain(`cancelled ${id}`);
    expect(remove.mock.calls.length).toBeGreaterThanOrEqual(add.mock.calls.length);
    expect((await call(mcp, "s__say")).text).toBe("said {}");
  });

  it("limit what is kept of standard error", async () => {
    const recorded: string[] = [];
    const mcp = await open(
      { s: serve("good") },
      { onStderr: (server, text) => recorded.push(`${server}: ${text}`) },
      { maxStderrBytes: 6 },
    );
    await call(mcp, "s__wait", {}, { signal: AbortSignal.timeout(100) }).catch(() => undefined);
    expect(recorded.join("")).toHaveLength("s: ".length + 6);
    expect(mcp.servers[0]?.stderr).toHaveLength(6);
  });
});

describe("closing", () => {
  it("kills a server that does not exit, and its descendants", async () => {
    const listeners = process.listenerCount("exit");
    const mcp = await open({ s: serve("stubborn") });
    const pids = [findPid(mcp), findPid(mcp, "grandchild")];
    expect(pids.map(isAlive)).toEqual([true, true]);
    const waiting = failure(call(mcp, "s__wait"));
    await mcp.close();
    expect(await waiting).toMatchObject({ code: "mcp_failed" });
    for (const pid of pids) await until(() => !isAlive(pid));
    expect(mcp.servers[0]).toMatchObject({ state: "closed" });
    expect(process.listenerCount("exit")).toBe(listeners);
    expect(await failure(call(mcp, "s__say"))).toMatchObject({ code: "mcp_failed" });
    await mcp.close();
  });

  it.each(["process.exit(0)", "process.kill(process.pid, 'SIGTERM')"])(
    "happens when the process ends: %s",
    async (end) => {
      const program = `const { openMcpServers } = await import(${JSON.stringify(MODULE_URL)});
      const mcp = await openMcpServers(${JSON.stringify({ mcpServers: { s: serve("stubborn") } })});
      process.stdout.write(mcp.servers[0].stderr, () => { ${end} });`;
      const { out, code, signal } = await runProgram(program);
      expect(signal ?? code).toBe(/SIG\w+/.exec(end)?.[0] ?? 0);
      const pids = [...out.matchAll(/\d+/g)].map(Number);
      expect(pids).toHaveLength(2);
      for (const pid of pids) await until(() => !isAlive(pid));
    },
  );
});
