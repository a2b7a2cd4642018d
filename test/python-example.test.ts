/**
 * The sender and the receiver in `examples/python`. They share no code with ours, agree with it on every run, and neither
 * lose nor repeat a message when connections break.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { Agent, get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { agent } from "../src/agents/index.ts";
import { createStreamCheck, DIALECTS, type DialectName } from "../src/dialects/index.ts";
import { createNdjsonDecoder } from "../src/framing/index.ts";
import { MemoryLog } from "../src/log/index.ts";
import type { JsonObject } from "../src/protocol/index.ts";
import { type LoomServer, openCredentials, startLoomServer } from "../src/server/index.ts";
import { LONG, LANGUAGE_SAMPLES } from "./sampling.ts";
import { createRandom, type FaultProxy, startFaultProxy } from "./server/fault-proxy.ts";
import { packageRoot } from "./source-files.ts";
import { VECTORS } from "./vectors.ts";
import { MESSAGES } from "./views.ts";

const FOLDER = join(packageRoot, "examples", "python");
const ANSWER = "The product is **42**.";
const hasPython = spawnSync("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 9))"]).status === 0;

interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function runPython(args: readonly string[], input = ""): Promise<Outcome> {
  const child = spawn("python3", ["-B", "-S", ...args], { cwd: FOLDER });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  child.stdin.on("error", () => undefined).end(input);
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, out, err })));
}

/** Prints the messages of all vectors: as sent, and with every message twice and in the wrong order. */
const RECEIVE_VECTORS = `
import json, pathlib, sys
from receiver import Receiver

def receive(texts):
    receiver = Receiver()
    for text in texts:
        receiver.receive(text)
    return {"messages": receiver.end(), "faults": receiver.faults}

for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
    vector = json.loads(path.read_text("utf-8"))
    texts = [json.dumps(frame) for frames in vector["encodings"]["engine"] for frame in frames]
    cases = {"sent": receive(texts), "mixed": receive(texts[::-1] + texts), "cut": receive(texts[:-1])}
    print(json.dumps({"name": vector["name"], **cases}))
`;

/** Follows a URL several times, and prints the frames of each time. */
const FOLLOW = `
import json, sys, receiver
receiver.time.sleep = lambda seconds: None
url, token, count = sys.argv[1:]
for _ in range(int(count)):
    print(json.dumps(list(receiver.follow(url, token, 3))))
`;

/** Prints the streams of runs that complete, fail and are cancelled while a tool works. */
const SEND = `
import json, sender

def interrupt(seconds):
    raise KeyboardInterrupt

for dialect, kind in (("engine", sender.EngineRun), ("loom", sender.LoomRun)):
    for message, sleep in (("6 times 7", lambda seconds: None), ("no numbers", None), ("6 times 7", interrupt)):
        sender.time.sleep = sleep
        lines = []
        sender.run_agent(kind("s", "r", lambda frame: lines.append(json.dumps(frame) + "\\n")), message, 0)
        print(json.dumps([dialect, "".join(lines)]))
`;

/** A run as the command sends it, with heartbeats. */
let sending: Promise<Outcome>;

beforeAll(() => {
  if (hasPython) sending = runPython(["sender.py", "--delay", "0.01", "--heartbeat", "0.002"]);
});

const readLines = <T>({ out }: Outcome): readonly T[] =>
  out.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as T]));

/** Returns the rules that a stream violates, as `loom check` reports them, and the number of its frames. */
function checkStream(name: DialectName, text: string) {
  const check = createStreamCheck(DIALECTS[name]);
  const decoder = createNdjsonDecoder();
  const frames = [...decoder.push(Buffer.from(text)), ...decoder.end()];
  const rules = frames.flatMap((frame): readonly string[] =>
    frame.ok ? check.check(frame.text).issues.map(({ rule }) => rule) : [frame.reason],
  );
  return { rules: [...rules, ...check.end().map(({ rule }) => rule)], frames: frames.length };
}

describe.skipIf(!hasPython)("the Python receiver", () => {
  it.runIf(LONG)("computes the same messages as ours from every run", async () => {
    interface Received {
      readonly messages: readonly { readonly messageId: string }[];
      readonly faults: readonly string[];
    }
    const received = readLines<{ name: string; sent: Received; mixed: Received; cut: Received }>(
      await runPython(["-c", RECEIVE_VECTORS, join(VECTORS, "runs")]),
    );
    const byId = ({ messages }: Received) => messages.toSorted((a, b) => (a.messageId < b.messageId ? -1 : 1));
    expect(Object.fromEntries(received.map(({ name, sent }) => [name, sent.messages]))).toEqual(
      JSON.parse(readFileSync(MESSAGES, "utf8")),
    );
    for (const { name, sent, mixed, cut } of received) {
      expect({ name, faults: [sent.faults, mixed.faults], messages: byId(mixed) }).toEqual({
        name,
        faults: [[], []],
        messages: byId(sent),
      });
      expect(cut.faults, name).toEqual([expect.stringContaining("ended before session_end")]);
    }
  });

  it("exits with 1 if a stream was cut, and prints what it has", async () => {
    const { out } = await sending;
    const events = out.trimEnd().split("\n").slice(0, -1);
    for (const input of [out.slice(0, -20), `data:${events.join("\n\ndata: ")}\n\n`]) {
      const outcome = await runPython(["receiver.py", "-"], input);
      expect([outcome.code, outcome.err]).toEqual([1, expect.stringContaining("ended")]);
      expect(readLines(outcome)).toMatchObject([{ mainContent: ANSWER, isStreaming: false }]);
    }
  });
});

describe.skipIf(!hasPython)("the Python sender", () => {
  it("writes clean streams of runs that complete, fail and are cancelled", async () => {
    const { code, out, err } = await sending;
    expect([code, err, checkStream("engine", out)]).toEqual([0, "", { rules: [], frames: 9 }]);
    const runs = readLines<readonly [DialectName, string]>(await runPython(["-c", SEND]));
    expect(runs.map(([dialect, text]) => [dialect, checkStream(dialect, text)])).toEqual([
      ["engine", { rules: [], frames: 9 }],
      ["engine", { rules: [], frames: 6 }],
      ["engine", { rules: [], frames: 5 }],
      ["loom", { rules: [], frames: 13 }],
      ["loom", { rules: [], frames: 10 }],
      ["loom", { rules: [], frames: 9 }],
    ]);
  });
});

describe.skipIf(!hasPython)("with a server", () => {
  const log = new MemoryLog();
  const credentials = openCredentials(":memory:");
  const tokenFile = join(mkdtempSync(join(tmpdir(), "loom-python-")), "token");
  let token: string;
  let server: LoomServer;
  let proxy: FaultProxy;

  beforeAll(async () => {
    const limits = { requestsPerMinute: 1e6 };
    const scopes = ["read", "ingest"] as const;
    ({ secret: token } = await credentials.createToken({ name: "python", owner: "ann", scopes, limits }));
    writeFileSync(tokenFile, `${token}\n`);
    proxy = await startFaultProxy(
      () => server.url,
      () => undefined,
    );
    const agents = { main: agent({ provider: "offline" }) };
    const hosts = [`127.0.0.1:${proxy.port}`];
    server = await startLoomServer({ log, agents, port: 0, hosts, auth: { credentials } });
  });

  afterAll(async () => {
    await proxy.close();
    await server.close();
    await log.close();
    await credentials.close();
  });

  const send = (...args: readonly string[]): Promise<Outcome> =>
    runPython(["sender.py", "--server", proxy.url, "--token-file", tokenFile, "--delay", "0", ...args]);
  const listRuns = async (session: string) =>
    (await log.listRuns(session)).map(({ runId, status, code }) => ({ runId, status, code })).toReversed();

  it.runIf(LONG)("stores a run once if the response is lost, and again if the run was cut", async () => {
    proxy.setPlan((index) => (index === 0 ? { breach: { bytes: 0, how: "reset" } } : undefined));
    expect(await send("--session", "lost", "--request-id", "req-1")).toMatchObject({
      code: 0,
      err: expect.any(String) as string,
    });
    expect(await send("--session", "lost", "--request-id", "req-1")).toMatchObject({ code: 0, err: "" });
    proxy.setPlan((index) => (index === 0 ? { breach: { bytes: 900, direction: "up", how: "stall" } } : undefined));
    const sent = send("--session", "lost", "--request-id", "req-2");
    await expect.poll(async () => (await listRuns("lost")).length).toBe(2);
    proxy.cut();
    expect(await sent).toMatchObject({ code: 0, err: expect.any(String) as string });
    expect(await listRuns("lost")).toEqual([
      { runId: "req-1", status: "completed", code: undefined },
      { runId: "req-2", status: "error", code: "stream_cut" },
      { runId: "req-2-again", status: "completed", code: undefined },
    ]);
  });

  it.runIf(LONG)("receives every message once, wherever the response is cut", async () => {
    proxy.setPlan(() => undefined);
    await send("--session", "cuts", "--request-id", "req-1", "--dialect", "loom");
    const path = "/v1/sessions/cuts/events?dialect=engine&run=req-1";
    const { body, bytes } = await measureResponse(`${proxy.url}${path}`, token);
    const expected = body.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
    expect(expected.map((text) => (JSON.parse(text) as JsonObject)["metadata"])).toMatchObject(
      expected.map((_, sequence) => ({ sequence })),
    );
    const random = createRandom(29);
    // The body is complete with the first byte of the final chunk. Before it, only the encoding shows the cut.
    const end = bytes - 4;
    const cuts = Number.isFinite(LANGUAGE_SAMPLES.cuts)
      ? [...Array.from({ length: LANGUAGE_SAMPLES.cuts - 1 }, () => random(end)), end - 1]
      : Array.from({ length: end }, (_, at) => at);
    // Each time, the first connection is cut and the second is not.
    proxy.setPlan((index) => (index % 2 === 0 ? { breach: { bytes: cuts[index / 2] ?? 0, how: "end" } } : undefined));
    const times = readLines<readonly string[]>(
      await runPython(["-c", FOLLOW, `${proxy.url}${path}`, token, String(cuts.length)]),
    );
    const isSame = (frames: readonly string[]) => frames.join("\n") === expected.join("\n");
    expect({
      times: times.length,
      breaches: proxy.breaches,
      faulty: cuts.filter((_, at) => !isSame(times[at] ?? [])),
    }).toEqual({ times: cuts.length, breaches: cuts.length, faulty: [] });
  });

  it("follows a live run over a connection that breaks", async () => {
    await log.createSession("live", { owner: "ann" });
    proxy.setPlan((index) => (index === 0 ? { breach: { frames: 4, how: "reset" } } : undefined));
    const url = `${proxy.url}/v1/sessions/live/events?dialect=engine&follow=true&run=req-1`;
    const receiving = runPython(["receiver.py", url, "--token-file", tokenFile]);
    await send("--session", "live", "--request-id", "req-1", "--delay", "0.01", "--heartbeat", "0.002");
    const outcome = await receiving;
    expect(outcome).toMatchObject({ code: 0, err: expect.any(String) as string });
    expect(readLines(outcome)).toMatchObject([
      { mainContent: ANSWER, toolCalls: [{ status: "success", result: { data: 42 } }] },
    ]);
  });
});

/** Returns the body of a response, and the number of its bytes on the wire. */
function measureResponse(url: string, token: string): Promise<{ readonly body: string; readonly bytes: number }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, accept: "text/event-stream" };
    // The head of the response depends on whether the connection is kept.
    const kept = new Agent({ keepAlive: true });
    get(url, { headers, agent: kept }, (response) => {
      const { socket } = response;
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => (body += text));
      response.on("end", () => {
        kept.destroy();
        resolve({ body, bytes: socket.bytesRead });
      });
    }).on("error", reject);
  });
}
