/**
 * `loom chat`: a conversation on a pseudo-terminal with a kill and a resume, and the plain mode, in a store and on a
 * server. Rows, keys and input are tested in src/cli/chat.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { agent } from "../src/agents/index.ts";
import { openLocalBackend } from "../src/cli/chat/chat-backend.ts";
import { CHAT } from "../src/cli/chat/chat-command.ts";
import { parseCommand } from "../src/cli/command.ts";
import { LocalService } from "../src/cli/sessions/local-service.ts";
import { openSession } from "../src/engine/index.ts";
import { openSqliteLog } from "../src/log/index.ts";
import { OfflineModel } from "../src/models/index.ts";
import { LoomError } from "../src/protocol/index.ts";
import { createMemoryBlobStore, SERVER_LIMITS, startLoomServer } from "../src/server/index.ts";
import { createBuiltinTools } from "../src/tools/index.ts";
import { nodeArgs } from "./bundle-source.ts";
import { COMMAND, environment, folder, loom } from "./cli-run.ts";
import { startTcpProxy } from "./tcp-proxy.ts";
import { LONG } from "./sampling.ts";

const store = join(folder, "chat.db");
const data = join(folder, "chat-data");
const workspace = join(folder, "chat-workspace");
const children = new Set<ChildProcess>();

beforeAll(async () => {
  mkdirSync(workspace, { recursive: true });
  // Loaded here, because it takes longer than a test may on a busy machine.
  await Promise.all([import("../src/cli/chat/run-chat.ts"), import("../src/cli/chat/plain-chat.ts")]);
});
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
});

/** `script` of util-linux opens a pseudo-terminal; that of other systems has other options. */
const hasTerminal = spawnSync("script", ["--version"]).stdout?.toString().includes("util-linux") ?? false;

interface TerminalChat {
  /** Everything written since the last call of `type`, without styles. */
  shown(): string;
  raw(): string;
  type(text: string): void;
  readonly pid: () => number;
  readonly ended: Promise<number | null>;
}

/** Starts the chat after the terminal has received what is typed ahead. With `hasJobs`, the shell continues it once. */
function startOnTerminal(args: readonly string[], { typedAhead = "", hasJobs = false } = {}): TerminalChat {
  const words = [process.execPath, ...nodeArgs(), COMMAND, "chat", ...args].map((word) => `'${word}'`).join(" ");
  const pidFile = join(folder, `chat-${children.size}.pid`);
  const gate = `${pidFile}.gate`;
  // The shell stays after Ctrl-C, which reaches every process of the terminal.
  const [control, resume] = hasJobs ? ["set -m; ", "stty -a; echo SUSPENDED; fg; "] : ["", ""];
  const line = `${control}trap : INT; stty cols 80 rows 24; until [ -e ${gate} ]; do sleep 0.02; done; sh -c 'echo $$ > ${pidFile}; exec "$0" "$@"' ${words}; ${resume}echo EXIT $?; stty -a`;
  const child = spawn("script", ["-qfec", line, "/dev/null"], {
    cwd: folder,
    env: environment({ LOOM_STORE: store, XDG_DATA_HOME: data, TERM: "xterm-256color", SHELL: "/bin/sh" }),
  });
  children.add(child);
  let [all, from] = ["", 0];
  child.stdin.write(typedAhead);
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    all += chunk;
    openGate();
  });
  // The terminal shows what it received.
  const openGate = (): void => {
    if (!existsSync(gate) && all.includes(typedAhead.replaceAll("\r", "\r\n"))) writeFileSync(gate, "");
  };
  openGate();
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  return {
    shown: () => stripVTControlCharacters(all.slice(from)),
    raw: () => all,
    type: (text) => {
      from = all.length;
      child.stdin.write(text);
    },
    pid: () => Number(readFileSync(pidFile, "utf8")),
    ended,
  };
}

const waitFor = (chat: TerminalChat, text: string) => vi.waitFor(() => expect(chat.shown()).toContain(text), 30_000);

/** How often the chat has set the modes of the terminal. */
const countEntered = (chat: TerminalChat): number => chat.raw().split("\u001B[?2004h").length - 1;

describe.skipIf(!hasTerminal)("on a terminal", () => {
  test("sends, streams, asks for approval, and continues after a kill", { timeout: 120_000 }, async () => {
    const chat = startOnTerminal(["--kb", "none", "--workspace", workspace]);
    await waitFor(chat, "new session");
    // A paste with line breaks is not sent.
    chat.type("\u001B[200~What is 6*7?\rAnd 5+8?\u001B[201~");
    await waitFor(chat, "And 5+8?");
    expect(chat.shown()).not.toContain("completed");
    chat.type("\r");
    await waitFor(chat, "completed in");
    expect(chat.shown()).toContain("6*7 = 42");

    // Ctrl-C twice cancels the run that asks, and the next run asks again. Escape clears the answer.
    chat.type("Write bye to cancelled.txt\r");
    await waitFor(chat, "[y]es, [n]o, [a]lways");
    chat.type("y\u001B[27u\u0003");
    await waitFor(chat, "again to cancel the run, or answer");
    chat.type("\u0003");
    await waitFor(chat, "cancelled in");
    chat.type("Write hello to greeting.txt\r");
    await waitFor(chat, "[y]es, [n]o, [a]lways");
    expect(existsSync(join(workspace, "greeting.txt"))).toBe(false);
    process.kill(chat.pid(), "SIGKILL");
    await chat.ended;

    // What is typed ahead does not answer a question that is not shown yet.
    const second = startOnTerminal(["--kb", "none", "--workspace", workspace, "--continue"], { typedAhead: "yes\r" });
    await waitFor(second, "[y]es, [n]o, [a]lways");
    expect(second.shown()).toContain("6*7 = 42");
    expect(second.shown()).not.toContain("new session");
    // Escape cancels the edit. Ctrl-C clears the input, and does not cancel the run at once.
    second.type("e\r");
    await waitFor(second, '(empty to cancel): {"path"');
    second.type("\u001B[27u");
    await waitFor(second, "[y]es, [n]o, [a]lways");
    second.type("e\r");
    await waitFor(second, '(empty to cancel): {"path"');
    second.type("\u0003");
    await waitFor(second, "again to cancel the run, or answer");
    second.type("\r");
    await waitFor(second, "[y]es, [n]o, [a]lways");
    second.type("y\r");
    await waitFor(second, "completed in");
    expect(readFileSync(join(workspace, "greeting.txt"), "utf8")).toBe("hello");
    expect(second.shown()).toContain("› yes");
    // The history of the first process, then a clean end.
    second.type("\u0003");
    await waitFor(second, "again to leave");
    second.type("\u001B[A\u001B[A\u001B[A");
    await waitFor(second, "And 5+8?");
    second.type("\u0003\u0003");
    await waitFor(second, "EXIT 0");
    await second.ended;
    const raw = second.raw();
    expect(raw).toContain("\u001B[?2004l");
    expect(raw.slice(raw.lastIndexOf("EXIT"))).toMatch(/(?<!-)icanon/);
  });

  test.runIf(LONG)("prompts for every line in plain mode", { timeout: 60_000 }, async () => {
    const chat = startOnTerminal(["--plain", "--kb", "none", "--no-history"]);
    await waitFor(chat, "you: ");
    chat.type("What is 6*7?\n");
    await vi.waitFor(() => expect(chat.shown()).toMatch(/6\*7 = 42\..*completed in .*\s+you: $/s), 30_000);
    chat.type("\u0003");
    await vi.waitFor(() => expect(chat.shown()).toMatch(/again to leave\s+you: $/), 30_000);
    chat.type("\u0003");
    await waitFor(chat, "EXIT 0");
    expect(chat.shown()).toMatch(/\s+continue with: loom chat \w+ --plain/);
    await chat.ended;
  });

  test.runIf(LONG)(
    "sends what was typed ahead, and restores the terminal on SIGTERM",
    { timeout: 60_000 },
    async () => {
      const chat = startOnTerminal(["--kb", "none", "--no-history"], { typedAhead: "What is 6*7?\rWhat is 2*3?\r" });
      await waitFor(chat, "2*3 = 6");
      expect(chat.shown()).not.toContain("another process");
      // A message belongs to the session that the command before it opens.
      chat.type("/new\rWhat is 5+9?\r");
      await waitFor(chat, "5+9 = 14");
      const listed = await loom(["sessions", "list", "--json"], { env: { LOOM_STORE: store } });
      expect(listed.out).toContain('"title":"What is 5+9?"');
      // A shell changes the modes of the terminal while the chat is stopped.
      const entered = countEntered(chat);
      process.kill(chat.pid(), "SIGCONT");
      await vi.waitFor(() => expect(countEntered(chat)).toBe(entered + 1), 30_000);
      process.kill(chat.pid(), "SIGTERM");
      await waitFor(chat, "EXIT 130");
      await chat.ended;
      const raw = chat.raw();
      expect(raw.lastIndexOf("\u001B[?2004l")).toBeGreaterThan(raw.lastIndexOf("\u001B[?2004h"));
      expect(raw.slice(raw.lastIndexOf("EXIT"))).toMatch(/(?<!-)icanon/);
    },
  );

  test.runIf(LONG)(
    "is suspended by Ctrl-Z until `fg`, and goes on if the shell has no jobs",
    { timeout: 60_000 },
    async () => {
      const chat = startOnTerminal(["--kb", "none", "--no-history"], { hasJobs: true });
      await waitFor(chat, "new session");
      chat.type("What is 6*7?");
      await waitFor(chat, "6*7?");
      chat.type("\u001A");
      await waitFor(chat, "SUSPENDED");
      expect(chat.raw().slice(0, chat.raw().lastIndexOf("SUSPENDED"))).toMatch(/(?<!-)icanon[^]*$/);
      await waitFor(chat, "› What is 6*7?");
      chat.type("\r");
      await waitFor(chat, "6*7 = 42");
      // At the start, and once after `fg`.
      expect(countEntered(chat)).toBe(2);
      chat.type("\u0004");
      await waitFor(chat, "EXIT 0");
      await chat.ended;

      const without = startOnTerminal(["--kb", "none", "--no-history"]);
      await waitFor(without, "new session");
      without.type("\u001A\u001A");
      await vi.waitFor(() => expect(countEntered(without)).toBe(2), 30_000);
      without.type("What is 7*7?\r");
      await waitFor(without, "7*7 = 49");
      without.type("\u0004");
      await waitFor(without, "EXIT 0");
      await without.ended;
      // The terminal has a stack of modes: as many are removed as were added.
      expect(without.raw().split("\u001B[<u").length - 1).toBe(countEntered(without));
    },
  );

  test.runIf(LONG)(
    "can be left, and drops messages, while the server does not answer",
    { timeout: 60_000 },
    async () => {
      const asked: string[] = [];
      const agents = [{ name: "one", kind: "react", is_default: true }];
      const server = createServer(({ method, url = "" }, response) => {
        asked.push(`${method} ${url}`);
        const isAnswered = url === "/v1/agents" || asked.filter((each) => each.endsWith("/slow")).length === 1;
        const session_id = url.includes("/cut") ? "cut" : "slow";
        const body = JSON.stringify({ agents, session_id, last_event_id: 5, runs: [] });
        if (url.startsWith("/v1/sessions/cut/events")) response.destroy();
        else if (isAnswered || url.includes("/cut")) response.setHeader("content-type", "application/json").end(body);
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
      try {
        const opening = startOnTerminal(["slow", "--no-history", "--server", url]);
        await waitFor(opening, "one · slow");
        opening.type("\u0003\u0003");
        await waitFor(opening, "EXIT 0");

        const chat = startOnTerminal(["--no-history", "--server", url]);
        await waitFor(chat, "new session");
        chat.type("/open slow\rHello\r");
        await waitFor(chat, "› Hello");
        await waitFor(chat, "waiting, Ctrl-C cancels");
        chat.type("/stop\r");
        await waitFor(chat, "1 message not sent");
        chat.type("Hello again\r");
        await waitFor(chat, "› Hello again");
        chat.type("\u0004");
        await waitFor(chat, "EXIT 0");
        expect(chat.shown()).toContain("1 message not sent");
        expect(asked.filter((each) => each.startsWith("POST"))).toEqual([]);
        // A session can be opened and left while its records cannot be read.
        const cut = await loom(["chat", "cut", "--plain", "--server", url], { input: "/new\n" });
        expect([cut.code, cut.out]).toEqual([0, expect.stringMatching(/connection lost .*new session/s)]);
        await Promise.all([opening.ended, chat.ended]);
      } finally {
        server.close();
        server.closeAllConnections();
      }
    },
  );
});

describe("in plain mode", () => {
  const env = { LOOM_STORE: join(folder, "plain.db"), XDG_DATA_HOME: data };
  const chat = (input: string, ...args: readonly string[]) =>
    loom(["chat", "--kb", "none", "--workspace", workspace, ...args], { env, input });

  test.runIf(LONG)("writes only lines, executes commands, and continues a run that waits", async () => {
    const file = join(folder, "chat-export.ndjson");
    const attached = join(folder, "attached.txt");
    writeFileSync(attached, "some text");
    const lines = [
      "/help",
      "What is \\",
      "6*7?",
      "/tre",
      `/attach ${attached}`,
      "Hello",
      "/retry",
      "/title Plain",
      `/export ${file}`,
    ];
    const agents = ["/model openai/none", "/model offline", "/agent tot", "Game of 24: 4 9 10 13", "/tree", ""];
    const first = await chat([...lines, ...agents].join("\n"));
    expect([first.code, first.err]).toEqual([0, ""]);
    expect(first.out).not.toContain("\u001B");
    for (const line of [
      "agent react, offline; /help lists commands",
      "\\ Enter              new line",
      "you: What is ",
      "you: 6*7?",
      "assistant: Offline model: 6*7 = 42.",
      "unknown command /tre; did you mean /tree?",
      "attached: attached.txt",
      "model offline",
      "agent tot",
    ])
      expect(first.out.split("\n")).toContain(line);
    expect(first.out).toMatch(/^openai needs an API key/m);
    expect(first.out).toMatch(/^Tree of \d+ thoughts$/m);
    expect(first.out).not.toMatch(/^(?:Tab|Up|Alt)/m);
    expect(first.out.match(/^attached: /gm)).toHaveLength(2);
    expect(readFileSync(file, "utf8")).toContain('"attached.txt"');

    const waiting = await chat("Write hi to plain.txt\n");
    expect(waiting.code).toBe(3);
    const [, sessionId = ""] = /continue with: loom chat (\w+)/.exec(waiting.out) ?? [];
    expect(waiting.out).toContain(`loom chat ${sessionId} --kb none --workspace ${workspace}\n`);
    // Without its tools, the run keeps waiting, and the command says what is missing.
    const lacking = await loom(["chat", "--kb", "none", sessionId], { env, input: "" });
    expect([lacking.code, lacking.out.trim().split("\n").slice(-2)]).toEqual([
      3,
      [
        "the run waits: it needs tools that are not available here: write_file",
        `the run is left waiting; continue with: loom chat ${sessionId} --kb none --workspace DIR`,
      ],
    ]);
    const answered = await chat("n not now\n", sessionId);
    expect([answered.code, answered.out]).toEqual([0, expect.stringMatching(/\? Allow write_file\?.*completed/s)]);
    const denied = await chat("Write hi to denied.txt\nn\n", sessionId);
    expect([denied.code, denied.out]).toEqual([0, expect.stringMatching(/reason \(optional\):\n.*completed/s)]);
    // A session that is newer, but did not change last.
    const log = await openSqliteLog(env.LOOM_STORE);
    await log.createSession("newer");
    await log.close();
    expect((await chat("n later\n", sessionId)).code).toBe(0);
    const again = await chat("Write hi to plain.txt\nalways\nWrite hi to plain2.txt\n", "--continue");
    expect(again.out).toContain("you: n later");
    expect([again.code, again.out.match(/Allow/g)?.length]).toEqual([0, 1]);
    expect(existsSync(join(workspace, "plain2.txt"))).toBe(true);
    expect((await loom(["sessions", "list"], { env })).out).toContain("Plain");
  });

  test.runIf(LONG)("continues an unfinished run with its own agent only", async () => {
    const log = await openSqliteLog(env.LOOM_STORE);
    for (const name of ["tot", "dice"]) {
      const session = await openSession(log, `of-${name}`);
      await session.startRun({ message: "Hello", agent: name });
      await session.close({ run: "leave" });
    }
    await log.close();
    expect((await chat("", "of-tot")).out).toContain("agent tot, as in the unfinished run of this session");
    // A queued message waits for its agent, too.
    const queue = await openSqliteLog(env.LOOM_STORE);
    const message = { session: "of-queue", message: "Game of 24: 4 9 10 13", run_id: "queued", agent: "tot" } as const;
    await new LocalService(queue).send({ type: "run", id: "queue", ...message });
    await queue.close();
    const chosen = await chat("/agent tot\n", "of-queue");
    expect(chosen.out).toMatch(/a queued message is for the agent tot, .*\nagent tot\n.*\ncompleted in/s);
    const refused = await chat("", "of-dice");
    expect(refused.code).toBe(2);
    expect(refused.err).toContain("uses the agent `dice`, not `react`\n      add `--agents FILE --agent dice`");
    const stayed = await chat("Hello\n/open of-dice\nHello again\n/sessions\n");
    expect(stayed.out).toContain("uses the agent `dice`, not `react`");
    const columns = Array.from(stayed.out.matchAll(/^([\w-]+ +)\d+ (?:s|min) /gm), ([, id = ""]) => id.length);
    expect([columns.length > 2, new Set(columns).size]).toEqual([true, 1]);
    const [, ownId = ""] = /^continue with: loom chat (\w+)/m.exec(stayed.out) ?? [];
    const again = await openSqliteLog(env.LOOM_STORE);
    const [left] = await again.listRuns("of-dice");
    expect(left?.status).toBe("live");
    expect((await again.listRuns(ownId)).map(({ status }) => status)).toEqual(["completed", "completed"]);
    await again.close();
  });

  test.runIf(LONG)("runs messages again after the process that held the session has left a run", async () => {
    const log = await openSqliteLog(env.LOOM_STORE);
    const other = await openSession(log, "left");
    const { runId } = await other.startRun({ message: "Hello", agent: "dice" });
    const notes: string[] = [];
    const parsed = parseCommand(CHAT, ["--kb", "none"]);
    // Not available in a worker thread.
    using _ = vi.spyOn(process, "umask").mockReturnValue(0o077);
    const backend = await openLocalBackend(parsed, env.LOOM_STORE, (text) => notes.push(text));
    await backend.hold("left");
    await vi.waitFor(() => expect(notes).toEqual([expect.stringContaining("another process holds")]), 30_000);
    await other.close({ run: "leave" });
    await vi.waitFor(() => expect(notes[1]).toMatch(/^messages are not run here: .*`dice`.*cancel it with/), 30_000);
    await expect(backend.hold("left")).rejects.toThrow("`dice`");
    await backend.service.send({ type: "cancel", id: "cancel", session: "left", run_id: runId });
    await backend.hold("left");
    await backend.service.send({ type: "run", id: "run", session: "left", message: "Hello", agent: "react" });
    await vi.waitFor(async () => {
      expect((await log.listRuns("left")).map(({ status }) => status)).toEqual(["completed", "cancelled"]);
    }, 30_000);
    await backend[Symbol.asyncDispose]();
    await log.close();
  });

  test("rejects unknown sessions and options that do not apply", async () => {
    const unknown = await chat("", "nothing", "--store", env.LOOM_STORE);
    const hint = `list the sessions with \`loom sessions list --store ${env.LOOM_STORE}\``;
    expect([unknown.code, unknown.err]).toEqual([2, `loom: no session \`nothing\` in this store\n      ${hint}\n`]);
    const both = await chat("", "nothing", "--continue");
    expect([both.code, both.err]).toEqual([2, expect.stringContaining("cannot be used together")]);
    const server = await loom(["chat", "--server", "http://127.0.0.1:9", "--model", "x"], { env });
    expect([server.code, server.err]).toEqual([2, expect.stringContaining("`--model` does not apply")]);
  });

  test.runIf(LONG)("chats with a server, over a connection that is cut", async () => {
    const log = await openSqliteLog(join(folder, "chat-server.db"));
    const model = new OfflineModel({ delayMs: 20 });
    const options = {
      log,
      blobs: createMemoryBlobStore(SERVER_LIMITS),
      agents: { one: agent({ kind: "react", model, tools: createBuiltinTools() }) },
    };
    const first = await startLoomServer({ ...options, port: 0 });
    const port = Number(new URL(first.url).port);
    await first.close({ graceMs: 0 });
    const proxy = await startTcpProxy(port);
    let mayRun = true;
    const authorize = ({ action }: { readonly action: string }): void => {
      if (action === "runs.start" && !mayRun) throw new LoomError("forbidden", "Runs are closed");
    };
    const server = await startLoomServer({ ...options, authorize, port, hosts: [`127.0.0.1:${proxy.port}`] });
    const url = `http://127.0.0.1:${proxy.port}`;
    try {
      let cuts = 0;
      const cut = setInterval(() => {
        // Before the first response, a lost connection is an error.
        void log.listSessions({ limit: 1 }).then(([session]) => {
          if (session === undefined || cuts >= 3) return;
          cuts++;
          proxy.setUp(false);
          proxy.setUp(true);
        });
      }, 50);
      const { code, out } = await loom(["chat", "--plain", "--server", url], { env, input: "What is 6*7?\n" });
      clearInterval(cut);
      expect([code, out]).toEqual([0, expect.stringContaining("assistant: Offline model: 6*7 = 42.\ncompleted")]);
      expect(cuts).toBeGreaterThan(0);
      mayRun = false;
      const attached = join(folder, "refused.txt");
      writeFileSync(attached, "some text");
      const input = `Hello\n/attach ${attached}\nHello\n/retry\n/detach\n`;
      const refused = await loom(["chat", "--plain", "--server", server.url], { env, input });
      const notAccepted = "the message was not accepted: Runs are closed";
      expect([refused.code, refused.out.split("\n").slice(1)]).toEqual([
        0,
        [notAccepted, "attached refused.txt, 9 bytes", notAccepted, notAccepted, "1 file removed", ""],
      ]);
      const wrong = await loom(["chat", "--agent", "oen", "--server", server.url], { env });
      expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining("did you mean one?")]);
    } finally {
      await proxy.close();
      await server.close({ graceMs: 0 });
      await log.close();
    }
  });
});
