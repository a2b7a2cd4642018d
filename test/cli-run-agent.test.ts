/**
 * `loom run` as its callers see it: frames and words, consent, kills, cancels, and two processes at one session. The model
 * is the offline one, or a server that speaks like OpenAI and stops where it is told to.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createStreamCheck, DIALECTS } from "../src/dialects/index.ts";
import { openSqliteLog } from "../src/log/index.ts";
import { COMMAND, environment, expectQuiet, folder, parseLines, type Ran, writeInput } from "./cli-run.ts";
import { type ProviderServer, type ServerTurn, startProviderServer } from "./models/provider-server.ts";

const children = new Set<ChildProcess>();
const servers: ProviderServer[] = [];
let count = 0;
let workspace: string;

beforeAll(() => {
  workspace = join(folder, "workspace");
  mkdirSync(workspace, { recursive: true });
});
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  for (const server of servers) await server.close();
});

interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Ran>;
  out(): string;
  /** Resolves when this is on standard output. */
  printing(words: string): Promise<void>;
}

interface Place {
  readonly store: string;
  readonly env?: { readonly [name: string]: string };
}

const newPlace = (): Place => ({ store: join(folder, `run-${++count}.db`) });

function start({ store, env = {} }: Place, args: readonly string[], input = ""): Started {
  // Without a terminal of its own: nobody can be asked, wherever the tests are started from.
  const child = spawn(process.execPath, [COMMAND, "run", ...args], {
    cwd: folder,
    env: environment({ LOOM_STORE: store, ...env }),
    detached: true,
  });
  children.add(child);
  const said = { out: "", err: "" };
  let news = Promise.withResolvers<void>();
  const listen = (name: "out" | "err") => (chunk: string) => {
    said[name] += chunk;
    news.resolve();
    news = Promise.withResolvers();
  };
  child.stdout.setEncoding("utf8").on("data", listen("out"));
  child.stderr.setEncoding("utf8").on("data", listen("err"));
  child.stdin.on("error", () => undefined).end(input);
  const ended = new Promise<Ran>((resolve, reject) => {
    child.on("error", reject).on("close", (code) => {
      children.delete(child);
      news.resolve();
      resolve({ code, ...said });
    });
  });
  return {
    child,
    ended,
    out: () => said.out,
    async printing(words) {
      while (!said.out.includes(words) && children.has(child)) await news.promise;
    },
  };
}

async function run(place: Place, ...args: readonly string[]): Promise<Ran> {
  const ran = await start(place, args).ended;
  expectQuiet(ran);
  return ran;
}

/** A place whose model plays the script. */
async function playing(script: ServerTurn[]): Promise<Place & { readonly server: ProviderServer }> {
  const server = await startProviderServer();
  servers.push(server);
  server.script = script;
  const env = { OPENAI_API_KEY: server.key, OPENAI_BASE_URL: server.url, LOOM_MODEL: "openai/gpt-test" };
  return { ...newPlace(), env, server };
}

function findIssues(out: string): readonly unknown[] {
  const check = createStreamCheck(DIALECTS.loom);
  const lines = out.split("\n").slice(0, -1);
  return [...lines.flatMap((line) => check.check(line).issues), ...check.end()];
}

async function listRuns({ store }: Place, sessionId: string) {
  const log = await openSqliteLog(store);
  try {
    return (await log.listRuns(sessionId)).map(({ status, code }) =>
      code === undefined ? status : `${status} ${code}`,
    );
  } finally {
    await log.close();
  }
}

describe.concurrent("loom run", () => {
  test("prints frames and the reply with --json, and nothing else", async () => {
    const place = newPlace();
    const { code, out, err } = await run(place, "--json", "What is 6*7, and what time is it in Tokyo?");
    expect(code).toBe(0);
    expect(err).toMatch(/^session [0-9a-f]{12}\n$/);
    expect(findIssues(out)).toEqual([]);
    const frames = parseLines(out);
    expect(frames[0]).toMatchObject({ type: "run_start", event_id: 1, agent: "react" });
    expect(frames.at(-1)).toMatchObject({ reply: expect.stringContaining("42") as string });
    const types = new Set(frames.map(({ type }) => type));
    for (const type of ["values", "updates", "checkpoint", "node_enter", "tool_end"]) expect(types).toContain(type);
    // A second turn of the same session is a stream of its own, here of the frames that were asked for.
    const sessionId = String(frames[0]?.["session_id"]);
    const next = await run(place, "--json", "--modes", "tools", "--session", sessionId, "5+8");
    expect([next.code, next.err, findIssues(next.out)]).toEqual([0, "", []]);
    const asked = parseLines(next.out);
    expect(asked[0]).toMatchObject({ type: "run_start", event_id: frames.length + 1 });
    expect(asked.some(({ type }) => type === "tool_end")).toBe(true);
    expect(asked.some(({ type }) => type === "message_chunk" || type === "values")).toBe(false);
  });

  test("prints the answer, takes the message from standard input, and remembers", async () => {
    const place = newPlace();
    const first = await start(place, ["--session", "s"], "What is 6*7?\n").ended;
    expect(first).toEqual({ code: 0, out: "Offline model: 6*7 = 42.\n", err: "" });
    // It introduces itself once in a conversation.
    expect(await run(place, "--session", "s", "5+8")).toEqual({ code: 0, out: "5+8 = 13.\n", err: "" });
  });

  test("leaves a run that waits for consent, and says how to go on", async () => {
    const place = newPlace();
    const args = ["--session", "s 1", "--workspace", workspace];
    const waiting = await run(place, ...args, "--json", "Write hello to hello.txt");
    expect(waiting.code).toBe(3);
    expect(parseLines(waiting.out).at(-1)).toMatchObject({ type: "tool_approval", name: "write_file" });
    const [, command = ""] = /^ {2}loom run (.+)$/m.exec(waiting.err) ?? [];
    expect(command).toBe(`--session 's 1' --workspace ${workspace} --resume`);
    // Asking again changes nothing, and another message has to wait.
    expect((await run(place, ...args, "--resume")).code).toBe(3);
    expect((await run(place, ...args, "6*7")).code).toBe(3);
    const done = await run(place, ...args, "--resume", "--approve", "always", "--json");
    expect([done.code, findIssues(done.out)]).toEqual([0, []]);
    expect(done.out.startsWith(waiting.out)).toBe(true);
    expect(readFileSync(join(workspace, "hello.txt"), "utf8")).toBe("hello");
    // The other message was carried out too, or waits to be.
    const rest = await run(place, ...args, "--resume");
    expect([0, 2]).toContain(rest.code);
    expect(await listRuns(place, "s 1")).toEqual(["completed", "completed"]);
  });

  test.each(["always", "never"])("answers for its own run alone with --approve %s", async (approve) => {
    const place = newPlace();
    const file = `other-${approve}.txt`;
    const args = ["--session", "s", "--workspace", workspace];
    expect((await run(place, ...args, `Write hello to ${file}`)).code).toBe(3);
    const { code, out, err } = await run(place, ...args, "--approve", approve, "6*7");
    expect([code, out]).toEqual([3, ""]);
    expect(err).toContain("write_file waits for consent\n");
    expect(err).toContain("your message comes after it\n");
    // The question is as open as it was, and the message is answered after it.
    expect((await run(place, ...args, "--resume", "--approve", "always")).code).toBe(0);
    expect(readFileSync(join(workspace, file), "utf8")).toBe("hello");
  });

  test("leaves a run whose tools are missing as it is, and says what to give it", async () => {
    const place = newPlace();
    const full = ["--session", "s", "--workspace", workspace];
    expect((await run(place, ...full, "Write hello to later.txt")).code).toBe(3);
    for (const args of [["--resume", "--approve", "always"], ["--resume"], ["--approve", "always", "6*7"]]) {
      const { code, out, err } = await run(place, "--session", "s", ...args);
      expect([code, out]).toEqual([3, expect.not.stringContaining("42")]);
      expect(err).toContain("it cannot go on here without its tools: write_file\n");
      expect(err).toContain("\n  loom run --session s --workspace DIR --resume\n");
      expect(err).not.toContain("interrupted");
    }
    expect(await listRuns(place, "s")).toEqual(["live"]);
    const done = await run(place, ...full, "--resume", "--approve", "always", "--json");
    expect([done.code, findIssues(done.out)]).toEqual([0, []]);
    const asked = parseLines(done.out).filter(({ type }) => String(type).startsWith("tool_approval"));
    expect(asked).toMatchObject([{ type: "tool_approval" }, { type: "tool_approval_result", decision: "approved" }]);
    expect(readFileSync(join(workspace, "later.txt"), "utf8")).toBe("hello");
  });

  test("shows the reply of a run whose rounds are used up, after what it had said", async () => {
    const calls = [{ name: "calculator", input: { expression: "6*7" } }];
    const place = await playing([{ text: "Let me check.", calls }, { calls }, { calls }]);
    const { code, out } = await run(place, "--max-iterations", "2", "6*7?");
    expect([code, out]).toEqual([0, "Let me check.\nI have used my 2 rounds and have no answer.\n"]);
  });

  test("keeps the store it makes for its owner alone, and nothing else", async () => {
    const place = { ...newPlace(), env: { XDG_DATA_HOME: join(folder, "data"), LOOM_STORE: "" } };
    expect((await run(place, "--workspace", workspace, "--approve", "always", "Write x to open.txt")).code).toBe(0);
    const modeOf = (...path: readonly string[]) => statSync(join(folder, ...path)).mode & 0o777;
    expect([modeOf("data", "loom"), modeOf("data", "loom", "loom.db")]).toEqual([0o700, 0o600]);
    writeInput("mine", "");
    expect(modeOf("workspace", "open.txt")).toBe(modeOf("mine"));
  });

  test("refuses consent with --approve never, and tells the model why", async () => {
    const place = newPlace();
    const { code, out } = await run(place, "--workspace", workspace, "--approve", "never", "Write x to never.txt");
    expect(code).toBe(0);
    expect(out).toContain("no tool that needs consent may run here");
    expect(existsSync(join(workspace, "never.txt"))).toBe(false);
  });

  test("goes on after a kill without calling a tool twice", async () => {
    const calls = [{ name: "calculator", input: { expression: "6*7" } }];
    const place = await playing([{ calls }, { fault: { kind: "silent" } }, { text: "It is 42." }]);
    const stuck = place.server.waitUntilStuck();
    const killed = start(place, ["--session", "s", "--json", "6*7?"]);
    await stuck;
    killed.child.kill("SIGKILL");
    await killed.ended;
    const { code, out, err } = await run(place, "--session", "s", "--resume", "--json");
    expect({ code, err, issues: findIssues(out) }).toEqual({ code: 0, err: "", issues: [] });
    expect(out.startsWith(killed.out())).toBe(true);
    const frames = parseLines(out);
    expect(frames.filter(({ type }) => type === "tool_start")).toHaveLength(1);
    expect(frames.at(-1)).toMatchObject({ reply: "It is 42." });
  });

  test("searches a tree of thoughts without a key, and finds what there is", async () => {
    const place = newPlace();
    const { code, out } = await run(place, "--agent", "tot", "--json", "Game of 24: 4 9 10 13");
    expect([code, findIssues(out)]).toEqual([0, []]);
    const frames = parseLines(out);
    expect(frames[0]).toMatchObject({ type: "run_start", agent: "tot" });
    expect(frames.at(-1)).toMatchObject({ reply: expect.stringContaining("= 24") as string });
    const types = new Set(frames.map(({ type }) => type));
    for (const type of ["tot_expand", "tot_evaluate"]) expect(types).toContain(type);
    // Of the search, a pipe is told nothing; the next agent knows what was answered.
    const next = await run(
      place,
      "--session",
      String(frames[0]?.["session_id"]),
      "--agent",
      "tot",
      "Game of 24: 1 1 1 1",
    );
    expect([next.code, next.err]).toEqual([0, ""]);
    expect(next.out.split("\n")).toHaveLength(2);
  });

  test("plans a graph of thoughts without a key, and carries it out", async () => {
    const { code, out } = await run(newPlace(), "--agent", "got", "--json", "Write a report on solar power");
    expect([code, findIssues(out)]).toEqual([0, []]);
    const frames = parseLines(out);
    const started = frames.filter(({ type }) => type === "got_node_start").map(({ id }) => id);
    const planned = frames.find(({ type }) => type === "got_plan")?.["node_ids"] as readonly string[];
    expect(new Set(started)).toEqual(new Set(planned));
    expect(started).toHaveLength(planned.length);
    expect(planned.length).toBeGreaterThan(1);
    expect(frames.at(-1)?.["reply"]).not.toBe("");
  });

  test("goes on with a search after a kill, with an agent of its kind only", async () => {
    const judged = { text: '{"score": 0.9, "solved": true}' };
    const place = await playing([{ text: "Guess 42\n" }, { fault: { kind: "silent" } }, judged, { text: "It is 42." }]);
    const stuck = place.server.waitUntilStuck();
    const killed = start(place, ["--session", "s", "--agent", "tot", "--json", "6*7?"]);
    await stuck;
    // What is shown is on disk: a thought that was not yet may be asked for again.
    await killed.printing("tot_expand");
    killed.child.kill("SIGKILL");
    await killed.ended;
    const refused = await run(place, "--session", "s", "--resume");
    expect(refused).toEqual({
      code: 2,
      out: "",
      err: "loom: the run that was left is one of `tot`, not of `react`\n      add `--agent tot`\n",
    });
    const { code, out, err } = await run(place, "--session", "s", "--agent", "tot", "--resume", "--json");
    expect({ code, err, issues: findIssues(out) }).toEqual({ code: 0, err: "", issues: [] });
    expect(out.startsWith(killed.out())).toBe(true);
    const frames = parseLines(out);
    expect(frames.filter(({ type }) => type === "tot_expand")).toHaveLength(1);
    expect(frames.at(-1)).toMatchObject({ reply: "It is 42." });
  });

  test("cancels on a signal, keeps what was said, and goes on with the next message", async () => {
    const place = await playing([
      { text: "One two three", chunk: 4, fault: { kind: "stall", after: 3 } },
      { text: "Yes." },
    ]);
    const running = start(place, ["--session", "s", "count"]);
    await running.printing("One");
    running.child.kill("SIGINT");
    const { code, out, err } = await running.ended;
    expect([code, err]).toEqual([130, "cancelling; Ctrl-C again ends it at once\n"]);
    expect(out).toMatch(/^One [a-z ]*\n$/);
    expect(await run(place, "--session", "s", "Still there?")).toEqual({ code: 0, out: "Yes.\n", err: "" });
    expect(await listRuns(place, "s")).toEqual(["completed", "cancelled cancelled"]);
  });

  test("cancels the run when nobody reads its output", async () => {
    const place = await playing([{ text: "On and on. ", repeat: 100_000 }]);
    const running = start(place, ["--session", "s", "--json", "talk"]);
    await running.printing("message_chunk");
    running.child.stdout?.destroy();
    const { code, err } = await running.ended;
    expect([code, err]).toEqual([141, ""]);
    expect(await listRuns(place, "s")).toEqual(["cancelled cancelled"]);
  });

  test("says in one line that a run failed", async () => {
    const place = await playing([{ fault: { kind: "status", status: 401, message: "no such key" } }]);
    const { code, out, err } = await run(place, "--session", "s", "hi");
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(/^loom: the run failed: .+ \(model_failed\)\n$/);
  });

  test("waits for its turn where another process holds the session", async () => {
    const place = await playing([{ text: "First", fault: { kind: "stall", after: 3 } }, { text: "Second." }]);
    const first = start(place, ["--session", "s", "one"]);
    await first.printing("First");
    const second = start(place, ["--session", "s", "two"]);
    const log = await openSqliteLog(place.store);
    while ((await log.listPending("s")).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    await log.close();
    first.child.kill("SIGTERM");
    expect((await first.ended).code).toBe(130);
    const { code, out, err } = await second.ended;
    expect([code, out]).toEqual([0, "Second.\n"]);
    expect(err).toContain("another process holds session `s`");
    expect(await listRuns(place, "s")).toEqual(["completed", "cancelled cancelled"]);
  });

  test("refuses what it cannot do in one line, before anything is stored", async () => {
    const place = newPlace();
    const refused = async (...args: readonly string[]) => {
      const { code, out, err } = await run(place, ...args);
      expect([code, out]).toEqual([2, ""]);
      return err;
    };
    expect(await refused("--model", "anthropic/claude", "hi")).toMatch(/^loom: anthropic needs a key: .+\n$/);
    expect(await refused("--workspace", "nowhere", "hi")).toBe("loom: the workspace `nowhere` is not a folder\n");
    expect(existsSync(place.store)).toBe(false);
    expect(await refused("--session", "none", "--resume")).toBe("loom: there is no session `none` in this store\n");
  });
});
