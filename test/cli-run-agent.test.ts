/**
 * `loom run`: frames and text, approvals, kills, cancellation, and two processes on one session. The model is the offline
 * model, or a scripted OpenAI-compatible server.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createStreamCheck, DIALECTS } from "../src/dialects/index.ts";
import { openSession } from "../src/engine/index.ts";
import { exportSession, openSqliteLog } from "../src/log/index.ts";
import { nodeArgs } from "./bundle-source.ts";
import { COMMAND, environment, folder, loom, parseLines, type CommandResult, writeInput } from "./cli-run.ts";
import { LONG, sampleCases } from "./sampling.ts";
import { type ProviderServer, type ServerTurn, startProviderServer } from "./models/provider-server.ts";

const children = new Set<ChildProcess>();
const servers: ProviderServer[] = [];
let count = 0;
let workspace: string;

beforeAll(async () => {
  // Loaded here, because it takes longer than a test may on a busy machine.
  await import("../src/cli/run-agent.ts");
  workspace = join(folder, "workspace");
  mkdirSync(workspace, { recursive: true });
});
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  for (const server of servers) await server.close();
});

interface StartedRun {
  readonly child: ChildProcess;
  readonly ended: Promise<CommandResult>;
  out(): string;
  /** Resolves when this text is on standard output. */
  waitForOutput(words: string): Promise<void>;
}

interface StoreContext {
  readonly store: string;
  readonly env?: { readonly [name: string]: string };
}

const newContext = (): StoreContext => ({ store: join(folder, `run-${++count}.db`) });

function start({ store, env = {} }: StoreContext, args: readonly string[]): StartedRun {
  // Detached from the terminal of the test run, so that no prompt is shown.
  const child = spawn(process.execPath, [...nodeArgs(), COMMAND, "run", ...args], {
    cwd: folder,
    env: environment({ LOOM_STORE: store, ...env }),
    detached: true,
  });
  children.add(child);
  const output = { out: "", err: "" };
  let changed = Promise.withResolvers<void>();
  const listen = (name: "out" | "err") => (chunk: string) => {
    output[name] += chunk;
    changed.resolve();
    changed = Promise.withResolvers();
  };
  child.stdout.setEncoding("utf8").on("data", listen("out"));
  child.stderr.setEncoding("utf8").on("data", listen("err"));
  child.stdin.on("error", () => undefined).end();
  const ended = new Promise<CommandResult>((resolve, reject) => {
    child.on("error", reject).on("close", (code) => {
      children.delete(child);
      changed.resolve();
      resolve({ code, ...output });
    });
  });
  return {
    child,
    ended,
    out: () => output.out,
    async waitForOutput(words) {
      while (!output.out.includes(words) && children.has(child)) await changed.promise;
    },
  };
}

async function run({ store, env = {} }: StoreContext, ...args: readonly string[]): Promise<CommandResult> {
  return loom(["run", ...args], { env: { LOOM_STORE: store, ...env } });
}

/** Starts a scripted provider, and returns a new store that uses it. */
async function startScripted(script: ServerTurn[]): Promise<StoreContext & { readonly server: ProviderServer }> {
  const server = await startProviderServer();
  servers.push(server);
  server.script = script;
  const env = { OPENAI_API_KEY: server.key, OPENAI_BASE_URL: server.url, LOOM_MODEL: "openai/gpt-test" };
  return { ...newContext(), env, server };
}

/** Resolves when the session contains this text. A pipe gets the text of a step only when the step has ended. */
async function waitForText({ store }: StoreContext, sessionId: string, text: string): Promise<void> {
  const log = await openSqliteLog(store);
  const read = async (): Promise<string> => {
    let all = "";
    for await (const line of exportSession(log, sessionId)) all += line;
    return all;
  };
  try {
    await vi.waitFor(async () => expect(await read()).toContain(text), 20_000);
  } finally {
    await log.close();
  }
}

function findIssues(out: string): readonly unknown[] {
  const check = createStreamCheck(DIALECTS.loom);
  const lines = out.split("\n").slice(0, -1);
  return [...lines.flatMap((line) => check.check(line).issues), ...check.end()];
}

async function listRuns({ store }: StoreContext, sessionId: string) {
  const log = await openSqliteLog(store);
  try {
    return (await log.listRuns(sessionId)).map(({ status, code }) =>
      code === undefined ? status : `${status} ${code}`,
    );
  } finally {
    await log.close();
  }
}

async function listPending({ store }: StoreContext, sessionId: string): Promise<number> {
  const log = await openSqliteLog(store);
  try {
    return (await log.listPending(sessionId)).length;
  } finally {
    await log.close();
  }
}

describe("loom run", () => {
  const PROVIDERS: readonly (readonly [string, (url: string) => { readonly [name: string]: string }, string])[] = [
    ["openai/gpt-5", (url: string) => ({ OPENAI_BASE_URL: url, OPENAI_API: "responses" }), "OPENAI_API_KEY"],
    ["anthropic/claude-sonnet-4-5", (url: string) => ({ ANTHROPIC_BASE_URL: url }), "ANTHROPIC_API_KEY"],
    ["openai/deepseek-reasoner", (url: string) => ({ OPENAI_BASE_URL: url }), "OPENAI_API_KEY"],
  ];
  test.each(sampleCases(PROVIDERS))("shows the thinking of %s", async (model, locate, key) => {
    const { server, store } = await startScripted([]);
    // Real servers do not send reasoning that was not requested.
    server.script = ({ body }) => ({
      ...(body["reasoning"] === undefined &&
      body["thinking"] === undefined &&
      server.requests[0]?.path !== "/v1/chat/completions"
        ? {}
        : { reasoning: "Six times seven." }),
      text: "42",
    });
    const env = { ...locate(server.url), [key]: server.key, LOOM_STORE: store, NO_COLOR: "1" };
    const shown = await loom(["run", "--model", model, "6*7?"], { env, isTerminal: true });
    expect([shown.code, shown.out]).toEqual([0, "42\n"]);
    expect(stripVTControlCharacters(shown.err)).toContain("Six times seven.");
    if (model.includes("deepseek")) return;
    const off = await loom(["run", "--model", model, "--reasoning", "off", "6*7?"], { env, isTerminal: true });
    expect(off.out).toBe("42\n");
    expect(server.requests.at(-1)?.body).not.toHaveProperty("reasoning.summary");
    expect(server.requests.at(-1)?.body).not.toHaveProperty("thinking.budget_tokens");
  });

  test("prints only frames and the reply with --json", async () => {
    const context = newContext();
    const { code, out, err } = await run(context, "--json", "What is 6*7, and what time is it in Tokyo?");
    expect(code).toBe(0);
    expect(err).toMatch(/^session [0-9a-f]{12}\n$/);
    expect(findIssues(out)).toEqual([]);
    const frames = parseLines(out);
    expect(frames[0]).toMatchObject({ type: "run_start", event_id: 1, agent: "react" });
    expect(frames.at(-1)).toMatchObject({ reply: expect.stringContaining("42") as string });
    const states = ["values", "updates", "checkpoint"];
    const types = new Set(frames.map(({ type }) => type));
    for (const type of ["node_enter", "tool_end", "run_end"]) expect(types).toContain(type);
    for (const type of states) expect(types).not.toContain(type);
    // A second run of the session is a separate stream, here with selected modes.
    const sessionId = String(frames[0]?.["session_id"]);
    const next = await run(context, "--json", "--modes", "tools", "--session", sessionId, "5+8");
    expect([next.code, next.err, findIssues(next.out)]).toEqual([0, "", []]);
    const asked = parseLines(next.out);
    expect(asked[0]).toMatchObject({ type: "run_start", event_id: Number(frames.at(-1)?.["event_id"]) + 1 });
    expect(asked.some(({ type }) => type === "tool_end")).toBe(true);
    expect(asked.some(({ type }) => type === "message_chunk" || type === "values")).toBe(false);
    const all = await run(context, "--json", "--modes", "all", "--session", sessionId, "5+9");
    expect(parseLines(all.out).map(({ type }) => type)).toEqual(expect.arrayContaining(states));
    expect(findIssues(all.out)).toEqual([]);
  });

  test("prints only the 23 types with --strict, and a reply also if the run fails", async () => {
    const done = await run(newContext(), "--json", "--strict", "What is 6*7?");
    expect([done.code, findIssues(done.out)]).toEqual([0, []]);
    const frames = parseLines(done.out);
    expect(frames.at(-1)).toMatchObject({ reply: expect.stringContaining("42") as string });
    const types = new Set(frames.map(({ type }) => type));
    for (const type of ["values", "updates", "checkpoint", "custom"]) expect(types).toContain(type);
    for (const type of ["run_end", "llm_start", "llm_end"]) expect(types).not.toContain(type);

    const context = await startScripted([
      { text: "One two three", chunk: 4, fault: { kind: "error", after: 7, message: "no" } },
    ]);
    const failed = await run(context, "--json", "--strict", "count");
    expect([failed.code, findIssues(failed.out)]).toEqual([1, []]);
    const [end, reply] = parseLines(failed.out).slice(-2);
    expect(end).toMatchObject({ type: "custom", value: { $loom: "run_end", status: "error" } });
    expect(reply).toMatchObject({ reply: expect.stringMatching(/^One/) as string });
    expect(reply).toMatchObject({ event_id: expect.any(Number) as number, node_id: expect.any(String) as string });
  });

  test("prints the answer, reads the message from standard input, and remembers the session", async () => {
    const context = newContext();
    const env = { LOOM_STORE: context.store };
    const first = await loom(["run", "--session", "s"], { env, input: "What is 6*7?\n" });
    expect(first).toEqual({ code: 0, out: "Offline model: 6*7 = 42.\n", err: "" });
    // The offline model introduces itself once per session.
    expect(await run(context, "--session", "s", "5+8")).toEqual({ code: 0, out: "5+8 = 13.\n", err: "" });
  });

  test("leaves a run that waits for approval, and prints how to resume it", async () => {
    const context = newContext();
    const args = ["--session", "s 1", "--workspace", workspace];
    const waiting = await run(context, ...args, "--json", "Write hello to hello.txt");
    expect(waiting.code).toBe(3);
    expect(parseLines(waiting.out).at(-1)).toMatchObject({ type: "tool_approval", name: "write_file" });
    const [, command = ""] = /^ {2}loom run (.+)$/m.exec(waiting.err) ?? [];
    expect(command).toBe(`--session 's 1' --workspace ${workspace} --resume`);
    // Resuming without a decision changes nothing, and another message has to wait.
    expect((await run(context, ...args, "--resume")).code).toBe(3);
    expect((await run(context, ...args, "6*7")).code).toBe(3);
    const done = await run(context, ...args, "--resume", "--approve", "always", "--json");
    expect([done.code, findIssues(done.out)]).toEqual([0, []]);
    expect(done.out.startsWith(waiting.out)).toBe(true);
    expect(readFileSync(join(workspace, "hello.txt"), "utf8")).toBe("hello");
    // The other message ran too, or is still queued.
    const rest = await run(context, ...args, "--resume");
    expect([0, 2]).toContain(rest.code);
    expect(await listRuns(context, "s 1")).toEqual(["completed", "completed"]);
  });

  test.each(sampleCases(["always", "never"]))("decides only for its own run with --approve %s", async (approve) => {
    const context = newContext();
    const file = `other-${approve}.txt`;
    const args = ["--session", "s", "--workspace", workspace];
    expect((await run(context, ...args, `Write hello to ${file}`)).code).toBe(3);
    const { code, out, err } = await run(context, ...args, "--approve", approve, "6*7");
    expect([code, out]).toEqual([3, ""]);
    expect(err).toContain("write_file is waiting for approval\n");
    expect(err).toContain("your message runs after it\n");
    expect(err).toContain("to decide:\n  loom approve s --allow\n  loom approve s --deny\n");
    // The call still waits, and the message runs after it.
    const resumed = await run(context, ...args, "--resume", "--approve", "always");
    expect([resumed.code, resumed.err]).toEqual([
      0,
      expect.stringMatching(/^1 queued message ran after it; .+\n  loom show s\n$/m),
    ]);
    expect(readFileSync(join(workspace, file), "utf8")).toBe("hello");
  });

  test("leaves a run waiting if its tools are missing, and prints the missing options", async () => {
    const context = newContext();
    const full = ["--session", "s", "--workspace", workspace];
    expect((await run(context, ...full, "Write hello to later.txt")).code).toBe(3);
    for (const args of [["--resume", "--approve", "always"], ["--resume"], ["--approve", "always", "6*7"]]) {
      const { code, out, err } = await run(context, "--session", "s", ...args);
      expect([code, out]).toEqual([3, expect.not.stringContaining("42")]);
      expect(err).toContain("it needs tools that are not available here: write_file\n");
      expect(err).toContain("\n  loom run --session s --workspace DIR --resume\n");
      expect(err).not.toContain("interrupted");
    }
    expect(await listRuns(context, "s")).toEqual(["live"]);
    const done = await run(context, ...full, "--resume", "--approve", "always", "--json");
    expect([done.code, findIssues(done.out)]).toEqual([0, []]);
    const asked = parseLines(done.out).filter(({ type }) => String(type).startsWith("tool_approval"));
    expect(asked).toMatchObject([{ type: "tool_approval" }, { type: "tool_approval_result", decision: "approved" }]);
    expect(readFileSync(join(workspace, "later.txt"), "utf8")).toBe("hello");
  });

  test("prints the reply of a run that reached its iterations", async () => {
    const calls = [{ name: "calculator", input: { expression: "6*7" } }];
    const context = await startScripted([{ text: "Let me check.", calls }, { calls }, { calls }]);
    const { code, out } = await run(context, "--set", "react.iterations=2", "6*7?");
    expect([code, out]).toEqual([0, "Let me check.\nI reached my limit of 2 rounds without an answer.\n"]);
  });

  test.runIf(LONG)("creates the store with permissions for its owner only", async () => {
    const context = { ...newContext(), env: { XDG_DATA_HOME: join(folder, "data"), LOOM_STORE: "" } };
    const args = ["--workspace", workspace, "--approve", "always", "Write x to open.txt"];
    expect((await start(context, args).ended).code).toBe(0);
    const modeOf = (...path: readonly string[]) => statSync(join(folder, ...path)).mode & 0o777;
    expect([modeOf("data", "loom"), modeOf("data", "loom", "loom.db")]).toEqual([0o700, 0o600]);
    writeInput("mine", "");
    expect(modeOf("workspace", "open.txt")).toBe(modeOf("mine"));
  });

  test("rejects tool calls with --approve never, with a reason for the model", async () => {
    const context = newContext();
    const { code, out } = await run(context, "--workspace", workspace, "--approve", "never", "Write x to never.txt");
    expect(code).toBe(0);
    expect(out).toContain("tools that need approval are disabled");
    expect(existsSync(join(workspace, "never.txt"))).toBe(false);
  });

  test("resumes after a kill without calling a tool twice", async () => {
    const calls = [{ name: "calculator", input: { expression: "6*7" } }];
    const context = await startScripted([{ calls }, { fault: { kind: "silent" } }, { text: "It is 42." }]);
    const stuck = context.server.waitUntilStuck();
    const killed = start(context, ["--session", "s", "--json", "6*7?"]);
    await stuck;
    killed.child.kill("SIGKILL");
    await killed.ended;
    const { code, out, err } = await run(context, "--session", "s", "--resume", "--json");
    expect({ code, err, issues: findIssues(out) }).toEqual({ code: 0, err: "", issues: [] });
    expect(out.startsWith(killed.out())).toBe(true);
    const frames = parseLines(out);
    expect(frames.filter(({ type }) => type === "tool_start")).toHaveLength(1);
    expect(frames.at(-1)).toMatchObject({ reply: "It is 42." });
  });

  test.runIf(LONG)("searches a tree of thoughts with the offline model", async () => {
    const context = newContext();
    const { code, out } = await run(context, "--agent", "tot", "--json", "Game of 24: 4 9 10 13");
    expect([code, findIssues(out)]).toEqual([0, []]);
    const frames = parseLines(out);
    expect(frames[0]).toMatchObject({ type: "run_start", agent: "tot" });
    expect(frames.at(-1)).toMatchObject({ reply: expect.stringContaining("= 24") as string });
    const types = new Set(frames.map(({ type }) => type));
    for (const type of ["tot_expand", "tot_evaluate"]) expect(types).toContain(type);
    // A pipe gets only the answer.
    const next = await run(
      context,
      "--session",
      String(frames[0]?.["session_id"]),
      "--agent",
      "tot",
      "Game of 24: 1 1 1 1",
    );
    expect([next.code, next.err]).toEqual([0, ""]);
    expect(next.out.split("\n")).toHaveLength(2);
  });

  test.runIf(LONG)("runs a graph of thoughts with the offline model", async () => {
    const { code, out } = await run(newContext(), "--agent", "got", "--json", "Write a report on solar power");
    expect([code, findIssues(out)]).toEqual([0, []]);
    const frames = parseLines(out);
    const started = frames.filter(({ type }) => type === "got_node_start").map(({ id }) => id);
    const planned = frames.find(({ type }) => type === "got_plan")?.["node_ids"] as readonly string[];
    expect(new Set(started)).toEqual(new Set(planned));
    expect(started).toHaveLength(planned.length);
    expect(planned.length).toBeGreaterThan(1);
    expect(frames.at(-1)?.["reply"]).not.toBe("");
  });

  test.runIf(LONG)("resumes a search after a kill, with an agent of the same kind only", async () => {
    const judged = { text: '{"score": 0.9, "solved": true}' };
    const context = await startScripted([
      { text: "Guess 42\n" },
      { fault: { kind: "silent" } },
      judged,
      { text: "It is 42." },
    ]);
    const stuck = context.server.waitUntilStuck();
    const killed = start(context, ["--session", "s", "--agent", "tot", "--json", "6*7?"]);
    await stuck;
    // A frame is stored before it is printed, so the thought is not generated again.
    await killed.waitForOutput("tot_expand");
    killed.child.kill("SIGKILL");
    await killed.ended;
    const refused = await run(context, "--session", "s", "--resume");
    expect(refused).toEqual({
      code: 2,
      out: "",
      err:
        "loom: the unfinished run of this session uses the agent `tot`, not `react`\n" +
        "      add `--agent tot`, or cancel it with `loom cancel s`\n",
    });
    // A message would continue the run too.
    const other = await run(context, "--session", "s", "6*7");
    expect([other.code, other.err]).toEqual([2, refused.err]);
    const log = await openSqliteLog(context.store);
    expect(await log.listPending("s")).toEqual([]);
    const session = await openSession(log, "own");
    await session.startRun({ message: "6*7?", agent: "dice" });
    await session.close({ run: "leave" });
    await log.close();
    const own = await run(context, "--session", "own", "--resume");
    expect([own.code, own.err]).toEqual([2, expect.stringContaining("add `--agents FILE --agent dice`, or")]);
    const { code, out, err } = await run(context, "--session", "s", "--agent", "tot", "--resume", "--json");
    expect({ code, err, issues: findIssues(out) }).toEqual({ code: 0, err: "", issues: [] });
    expect(out.startsWith(killed.out())).toBe(true);
    const frames = parseLines(out);
    expect(frames.filter(({ type }) => type === "tot_expand")).toHaveLength(1);
    expect(frames.at(-1)).toMatchObject({ reply: "It is 42." });
  });

  test("cancels on a signal, keeps the output, and runs the next message", async () => {
    const context = await startScripted([
      { text: "One two three", chunk: 4, fault: { kind: "stall", after: 3 } },
      { text: "Yes." },
    ]);
    const running = start(context, ["--session", "s", "count"]);
    await waitForText(context, "s", "One");
    running.child.kill("SIGINT");
    const { code, out, err } = await running.ended;
    expect([code, err]).toEqual([130, "cancelling; press Ctrl-C again to exit immediately\n"]);
    expect(out).toMatch(/^One [a-z ]*\n$/);
    expect(await run(context, "--session", "s", "Still there?")).toEqual({ code: 0, out: "Yes.\n", err: "" });
    expect(await listRuns(context, "s")).toEqual(["completed", "cancelled cancelled"]);
  });

  test.runIf(LONG)("cancels the run when standard output is closed", async () => {
    const context = await startScripted([{ text: "On and on. ", repeat: 20_000 }]);
    const running = start(context, ["--session", "s", "--json", "talk"]);
    await running.waitForOutput("message_chunk");
    running.child.stdout?.destroy();
    const { code, err } = await running.ended;
    expect([code, err]).toEqual([141, ""]);
    expect(await listRuns(context, "s")).toEqual(["cancelled cancelled"]);
  });

  test("reports a failed run in one line", async () => {
    const context = await startScripted([{ fault: { kind: "status", status: 401, message: "no such key" } }]);
    const { code, out, err } = await run(context, "--session", "s", "hi");
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(/^loom: the run failed: .+ \(model_unauthorized\)\n$/);
  });

  test.runIf(LONG)("continues the run of a process that is killed, and then runs its own message", async () => {
    const stall = { text: "First", fault: { kind: "stall", after: 3 } } as const;
    const context = await startScripted([stall, { text: "First." }, { text: "Second." }]);
    const first = start(context, ["--session", "s", "one"]);
    await waitForText(context, "s", "Firs");
    const second = start(context, ["--session", "s", "two"]);
    await vi.waitFor(async () => expect(await listPending(context, "s")).toBe(1), 20_000);
    first.child.kill("SIGKILL");
    await first.ended;
    const { code, out } = await second.ended;
    expect([code, out]).toEqual([0, "Second.\n"]);
    expect(await listRuns(context, "s")).toEqual(["completed", "completed"]);
  });

  test.runIf(LONG)("waits for an earlier run of another process", async () => {
    const context = await startScripted([{ text: "First", fault: { kind: "stall", after: 3 } }, { text: "Second." }]);
    const first = start(context, ["--session", "s", "one"]);
    await waitForText(context, "s", "Firs");
    const second = start(context, ["--session", "s", "two"]);
    await vi.waitFor(async () => expect(await listPending(context, "s")).toBe(1), 20_000);
    first.child.kill("SIGTERM");
    expect((await first.ended).code).toBe(130);
    const { code, out, err } = await second.ended;
    expect([code, out]).toEqual([0, "Second.\n"]);
    expect(err).toContain("another process holds session `s`");
    expect(await listRuns(context, "s")).toEqual(["completed", "cancelled cancelled"]);
  });

  test("rejects invalid options in one line, before anything is stored", async () => {
    const context = newContext();
    const refused = async (...args: readonly string[]) => {
      const { code, out, err } = await run(context, ...args);
      expect([code, out]).toEqual([2, ""]);
      return err;
    };
    expect(await refused("--model", "anthropic/claude", "hi")).toMatch(
      /^loom: anthropic needs an API key: set ANTHROPIC_API_KEY\. .+\n$/,
    );
    expect(await refused("--model", "opnai/x", "hi")).toContain("set `--base-url` or OPNAI_BASE_URL.");
    expect(await refused("--workspace", "nowhere", "hi")).toBe("loom: workspace `nowhere` is not a folder\n");
    expect(await refused("--session", "none", "--resume")).toMatch(/^loom: there is no store `/);
    expect(existsSync(context.store)).toBe(false);
  });
});
