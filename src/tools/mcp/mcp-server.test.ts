import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  call,
  closeAll,
  DOOR,
  failure,
  findPid,
  type Heard,
  isAlive,
  open,
  runProgram,
  serve,
  until,
} from "./mcp-trial.contract.ts";

afterEach(closeAll);

describe("calls", () => {
  it("go on although the server prints what is no message", async () => {
    const mcp = await open({ s: serve("garbage") });
    expect((await call(mcp, "s__say", { a: "é" })).text).toBe('said {"a":"é"}');
    expect(mcp.servers[0]?.ignoredLines).toBeGreaterThan(4);
  });

  it("give what can be read of any answer", async () => {
    const mcp = await open({ s: serve("good") }, { maxImageCharacters: 1000 });
    const heard: Heard = { shown: [], reports: [] };
    const result = await call(mcp, "s__parts", {}, { heard });
    expect(result).toEqual({
      text: [
        "one",
        "[image/png, shown to the user]",
        "[image/png, which cannot be shown]",
        "[image/png, which cannot be shown]",
        "[text/html, which cannot be shown]",
        "[audio, which cannot be shown]",
        "of a file",
        "[file:///b, which is not a text]",
        "[c: file:///c]",
        "[something, which cannot be shown]",
      ].join("\n"),
      output: { a: [1] },
      isError: true,
    });
    expect(heard.shown).toEqual([
      { type: "image", url: "data:image/png;base64,iVBORw0KGgo=", media_type: "image/png" },
    ]);
    await call(mcp, "s__progress", {}, { heard });
    expect(heard.reports.length).toBeLessThanOrEqual(500);
    expect(heard.reports.every(([progress]) => progress >= 0 && progress <= 100)).toBe(true);
  });

  it("tell the model of an error, without what the server was told in confidence", async () => {
    const mcp = await open({ s: serve("good", { env: { TOKEN: "very-secret" } }) });
    const error = await failure(call(mcp, "s__fail"));
    expect(error.code).toBe("mcp_failed");
    expect(error.message).toBe("The MCP server s: MCP error -32603: the disk is on fire, says •••.");
    expect(mcp.servers[0]).toMatchObject({ state: "ready" });
    expect(await call(mcp, "s__told")).toEqual({
      text: "no such key: •••\nsorry",
      output: { keys: ["•••"] },
      isError: true,
    });
    expect((await failure(call(mcp, "s__stack"))).message).toBe("The MCP server s: MCP error -32603: boom.");
    expect(await call(mcp, "s__silent")).toEqual({ text: "The tool failed and did not say why.", isError: true });
  });

  it("start a server again that has died, with a limit", async () => {
    const mcp = await open({ s: serve("good") }, { maxRestarts: 2, forgiveMs: 600 });
    const first = findPid(mcp);
    const error = await failure(call(mcp, "s__die"));
    expect(error).toMatchObject({ code: "mcp_failed", message: "The MCP server s: ended with exit code 7." });
    expect(mcp.servers[0]).toMatchObject({ state: "down", error: "ended with exit code 7" });
    expect((await call(mcp, "s__say")).text).toBe("said {}");
    expect(mcp.servers[0]).toMatchObject({ state: "ready", restarts: 1 });
    expect(mcp.servers[0]?.stderr).toMatch(new RegExp(`pid ${first}\\npid \\d+`));
    // A call that works forgives what was before.
    for (let death = 0; death < 3; death += 1) await failure(call(mcp, "s__die"));
    expect(mcp.servers[0]).toMatchObject({ state: "failed", restarts: 3 });
    const last = await failure(call(mcp, "s__say"));
    expect(last.message).toBe(
      "The MCP server s: ended with exit code 7; it has failed 3 times and is left alone for 600 ms.",
    );
    expect(mcp.servers[0]).toMatchObject({ restarts: 3 });
    // Once it was left alone for so long it is tried again: once.
    await sleep(600);
    await failure(call(mcp, "s__die"));
    expect(mcp.servers[0]).toMatchObject({ state: "failed", restarts: 4 });
    await sleep(600);
    expect((await call(mcp, "s__say")).text).toBe("said {}");
    expect(mcp.servers[0]).toMatchObject({ state: "ready", restarts: 5 });
  });

  it("share one start when many come at once", async () => {
    const mcp = await open({ s: serve("good") });
    await failure(call(mcp, "s__die"));
    const all = await Promise.all(Array.from({ length: 20 }, async (_, n) => call(mcp, "s__say", { n })));
    expect(all.map(({ text }) => text)).toEqual(all.map((_, n) => `said {"n":${n}}`));
    expect(mcp.servers[0]).toMatchObject({ restarts: 1 });
  });

  it("end in time when the server hangs, and a server that is stuck is replaced", async () => {
    const slow = await open({ s: serve("good") }, { callTimeoutMs: 400 });
    const late = await failure(call(slow, "s__hang"));
    expect(late).toMatchObject({
      code: "tool_timeout",
      message: "The MCP server s: did not answer within 400 ms.",
    });
    // It answers a ping, and stays.
    expect((await call(slow, "s__say")).text).toBe("said {}");
    expect(slow.servers[0]).toMatchObject({ state: "ready", restarts: 0 });
    const mcp = await open({ s: serve("good") }, { callTimeoutMs: 50, pingTimeoutMs: 50 });
    expect(await failure(call(mcp, "s__hang", { forever: true }))).toMatchObject({ code: "tool_timeout" });
    const pid = findPid(mcp);
    await until(() => mcp.servers[0]?.state === "down");
    await until(() => !isAlive(pid));
  });

  it("tell the server when they are aborted, and leave no listener behind", async () => {
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

  it("bound what a server writes to its standard error", async () => {
    const heard: string[] = [];
    const mcp = await open(
      { s: serve("good") },
      { maxStderrBytes: 6, onStderr: (server, text) => heard.push(`${server}: ${text}`) },
    );
    await call(mcp, "s__wait", {}, { signal: AbortSignal.timeout(100) }).catch(() => undefined);
    expect(heard.join("")).toHaveLength("s: ".length + 6);
    expect(mcp.servers[0]?.stderr).toHaveLength(6);
  });
});

describe("the end", () => {
  it("takes a server along that will not go, and what it has started", async () => {
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

  it.each(["process.exit(0)", "process.kill(process.pid, 'SIGTERM')"])("comes with the process: %s", async (end) => {
    const program = `const { openMcpServers } = await import(${JSON.stringify(DOOR)});
      const mcp = await openMcpServers(${JSON.stringify({ mcpServers: { s: serve("stubborn") } })});
      process.stdout.write(mcp.servers[0].stderr, () => { ${end} });`;
    const { out, code, signal } = await runProgram(program);
    expect(signal ?? code).toBe(/SIG\w+/.exec(end)?.[0] ?? 0);
    const pids = [...out.matchAll(/\d+/g)].map(Number);
    expect(pids).toHaveLength(2);
    for (const pid of pids) await until(() => !isAlive(pid));
  });
});
