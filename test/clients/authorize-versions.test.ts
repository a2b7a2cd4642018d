// The option `authorize` decides about every version of a conversation that a request of a client of another protocol
// continues, edits or repeats. A body with fields of any name changes nothing else.
import { setTimeout as pause } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { type Log, MemoryLog } from "../../src/log/index.ts";
import type { Script } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { LoomError } from "../../src/protocol/index.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";

interface VersionServer {
  readonly url: string;
  readonly log: Log;
  /** The session in which no run may start. `*`: all of them. */
  denied: string | undefined;
  /** The status of the response, after it was read. */
  readonly post: (path: string, body: object) => Promise<number>;
}

async function startServer(script: Script = () => ({ text: "One." })): Promise<VersionServer> {
  const log = new MemoryLog();
  const server = await startLoomServer({
    log,
    port: 0,
    agents: { main: agent({ model: new ScriptedModel(script) }) },
    authorize: ({ action, session }) => {
      const isDenied = session !== undefined && (fixture.denied === "*" || fixture.denied === session);
      if (action === "runs.start" && isDenied) throw new LoomError("forbidden", "No runs here");
    },
  });
  onTestFinished(() => server.close({ graceMs: 0 }));
  const post = async (path: string, body: object): Promise<number> => {
    const headers = { "content-type": "application/json" };
    const response = await fetch(server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
    await response.text();
    return response.status;
  };
  const fixture: VersionServer = { url: server.url, log, denied: undefined, post };
  return fixture;
}

async function findNewest(log: Log, session: string): Promise<string> {
  const [newest] = await log.listBranches(session, { newestFirst: true });
  return newest?.sessionId ?? "";
}

const say = (runId: string, content: string): object => ({
  threadId: "t",
  runId,
  messages: [{ id: "u1", role: "user", content }],
});

it("refuses to repeat, edit or answer a run in a version of an AG-UI thread", async () => {
  const server = await startServer();
  expect(await server.post("/ag-ui", say("r1", "a"))).toBe(200);
  expect(await server.post("/ag-ui", say("r2", "b"))).toBe(200);
  server.denied = await findNewest(server.log, "t");
  expect(server.denied).not.toBe("t");
  expect(await server.post("/ag-ui", say("r2", "b"))).toBe(403);
  expect(await server.post("/ag-ui", say("r3", "c"))).toBe(403);
  expect(await server.log.listBranches("t")).toHaveLength(2);
  server.denied = "*";
  const resume = [{ interruptId: "x", status: "resolved" }];
  expect(await server.post("/ag-ui", { threadId: "t", runId: "r4", messages: [], resume })).toBe(403);
});

it("refuses to repeat a message in a version of a chat of the AI SDK", async () => {
  const server = await startServer();
  const write = (text: string, options: object = {}): object => ({
    id: "c",
    messages: [{ id: "m1", role: "user", parts: [{ type: "text", text }] }],
    ...options,
  });
  expect(await server.post("/api/chat", write("a"))).toBe(200);
  expect(await server.post("/api/chat", write("b", { trigger: "submit-message", messageId: "m1" }))).toBe(200);
  server.denied = await findNewest(server.log, "c");
  expect(server.denied).not.toBe("c");
  expect(await server.post("/api/chat", write("b", { trigger: "submit-message" }))).toBe(403);
});

it("reads only the declared fields of an AG-UI request", async () => {
  const server = await startServer([{ text: "Half of it", chunk: 4, fault: { kind: "stall", after: 1 } }]);
  const stop = new AbortController();
  const response = await fetch(`${server.url}/ag-ui`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...say("r", "Hi"), onLeave: "x", framing: "ndjson", modes: 1 }),
    signal: stop.signal,
  });
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  await response.body?.getReader().read();
  stop.abort();
  await pause(200);
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
});
