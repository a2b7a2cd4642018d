import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { parseCommand } from "../command.ts";
import { RUN } from "../commands.ts";
import { cleanText } from "../fit-text.ts";
import type { Terminal } from "../terminal.ts";
import { toFlagNames } from "./read-agent-options.ts";
import { MAX_MESSAGE_BYTES, readRunOptions } from "./read-run-options.ts";

/** Typed or piped input. */
function read(args: readonly string[], { input, env = {} }: { input?: string; env?: { [name: string]: string } } = {}) {
  const stdin = Object.assign(Readable.from([Buffer.from(input ?? "")]), { isTTY: input === undefined });
  return readRunOptions(parseCommand(RUN, args), { stdin, progress: () => undefined } as unknown as Terminal, env);
}

describe("readRunOptions", () => {
  test("needs no key and generates an id for a new session", async () => {
    const options = await read(["hi"]);
    expect(options).toMatchObject({ message: "hi", model: "offline", approve: "ask", isNewSession: true });
    expect(options.sessionId).toMatch(/^[0-9a-f]{12}$/);
    expect(options.workspace ?? options.mcp ?? options.frames).toBeUndefined();
    expect((await read(["hi"])).sessionId).not.toBe(options.sessionId);
  });

  test("reads model and store from the environment if no option is given", async () => {
    const env = { LOOM_MODEL: "ollama/qwen", XDG_DATA_HOME: "/data" };
    expect(await read(["hi"], { env })).toMatchObject({ model: "ollama/qwen", store: "/data/loom/loom.db" });
    expect(await read(["hi"], { env: { ...env, LOOM_STORE: "/x.db" } })).toMatchObject({ store: "/x.db" });
    expect(await read(["--model", "openai/gpt", "--store", "y.db", "hi"], { env })).toMatchObject({
      model: "openai/gpt",
      store: "y.db",
    });
    expect((await read(["hi"], { env: { LOOM_MODEL: " " } })).model).toBe("offline");
  });

  test("reads the message from standard input if it is `-` or absent", async () => {
    expect((await read([], { input: "two\nlines\n" })).message).toBe("two\nlines");
    expect((await read(["-"], { input: "x" })).message).toBe("x");
    expect((await read(["--session", "s", "--resume"], { input: "x" })).message).toBeUndefined();
    await expect(read([], { input: "x".repeat(MAX_MESSAGE_BYTES + 1) })).rejects.toThrow("longer than");
  });

  describe("with a message and", () => {
    const warnings: string[] = [];
    /** Reads a message. Standard input is of the kind of this file. */
    const add = (file: string, input: Readable, ...args: readonly string[]) => {
      const fd = openSync(file, "r+");
      onTestFinished(() => closeSync(fd));
      const warn = (text: string): void => void warnings.push(text);
      const terminal = { stdin: Object.assign(input, { fd }), progress: () => undefined, warn };
      return readRunOptions(parseCommand(RUN, ["Summarize", ...args]), terminal as unknown as Terminal, {});
    };
    const bytes = (...values: readonly (string | Buffer)[]): Readable =>
      Readable.from(values.map((one) => Buffer.from(one)));
    const folder = mkdtempSync(join(tmpdir(), "loom-stdin-"));
    const [file, pipe] = [join(folder, "notes.txt"), join(folder, "pipe")];
    beforeAll(() => {
      writeFileSync(file, "");
      expect(spawnSync("mkfifo", [pipe]).status).toBe(0);
    });
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    test("a file or a pipe, adds the input to the message, unless `--no-stdin` is set", async () => {
      for (const kind of [file, pipe]) {
        expect((await add(kind, bytes("two\nli", "nes\n"))).message).toBe("Summarize\n\ntwo\nlines");
        expect((await add(kind, bytes("two"), "--no-stdin")).message).toBe("Summarize");
        expect((await add(kind, bytes())).message).toBe("Summarize");
      }
      await expect(read(["--no-stdin", "-"], { input: "x" })).rejects.toThrow("`--no-stdin` needs a message");
      await expect(add(file, bytes("x".repeat(MAX_MESSAGE_BYTES - 5)))).rejects.toThrow("longer than");
      await expect(add(file, bytes("x".repeat(MAX_MESSAGE_BYTES + 1)))).rejects.toThrow("longer than");
      await expect(add(file, bytes(Buffer.from([0xff, 0xfe, 0])))).rejects.toThrow("standard input is not UTF-8 text");
    });

    test("a device or a socket, does not read it", async () => {
      expect((await add("/dev/null", bytes("x"))).message).toBe("Summarize");
      expect((await read(["Summarize"], { input: "x" })).message).toBe("Summarize");
    });

    test("a pipe that stays empty, says what it waits for", async () => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      onTestFinished(() => void vi.useRealTimers());
      const input = new PassThrough();
      const found = add(pipe, input);
      vi.advanceTimersByTime(999);
      expect(warnings).toEqual([]);
      vi.advanceTimersByTime(1);
      expect(warnings).toEqual([expect.stringMatching(/^waiting for standard input.*--no-stdin/)]);
      input.end("late");
      expect((await found).message).toBe("Summarize\n\nlate");
    });
  });

  test("builds a shell-quoted command that resumes with the same options", async () => {
    const args = ["--session", "my chat", "--workspace", "it's", "--allow-fetch", "--approve", "never", "--json", "hi"];
    expect((await read(args)).describeResume()).toBe(
      String.raw`loom run --session 'my chat' --workspace 'it'\''s' --allow-fetch --resume`,
    );
    const { describeCommand } = await read(["--session", "my chat", "--store", "a=b", "--allow-fetch", "hi"]);
    expect(describeCommand("approve")).toBe("loom approve 'my chat' --store 'a=b'");
    expect((await read(["--session=-1", "--store", "a=b", "hi"])).describeResume()).toBe(
      "loom run --session=-1 --store 'a=b' --resume",
    );
  });

  test("builds a command from which a shell reads back every character", async () => {
    const system = "It's\tone\nC:\\new \u009B31m\u202E $HOME `x` 京都 👍🏽";
    const resume = (await read(["--session", "s", "--system", system, "hi"])).describeResume();
    expect(cleanText(resume)).toBe(resume);
    const { stdout } = spawnSync("bash", ["-c", `loom() { printf '%s|' "$@"; }; ${resume}`], {
      env: { ...process.env, LC_ALL: "C.UTF-8" },
    });
    expect(String(stdout)).toBe(`run|--session|s|--system|${system}|--resume|`);
  });

  test("adds options for missing tools, each once", async () => {
    const { describeResume } = await read(["--session", "s", "--mcp", "m.json", "hi"]);
    expect(describeResume(["write_file", "delete_file", "list_files", "http_fetch", "web__echo"])).toBe(
      "loom run --session s --mcp m.json --workspace DIR --allow-fetch --resume",
    );
    expect((await read(["--session", "s", "hi"])).describeResume(["web__echo"])).toBe(
      "loom run --session s --mcp FILE --resume",
    );
  });

  test("leaves agent options undefined by default", async () => {
    expect((await read(["hi"])).agent).toEqual({ kind: "react" });
    expect((await read(["--agent", "tot", "hi"])).agent).toEqual({ kind: "tot" });
    expect((await read(["--agent", "got", "hi"])).agent).toEqual({ kind: "got" });
    expect((await read(["--agent", "agot", "hi"])).agent).toEqual({ kind: "got", adaptive: true });
  });

  test("reads strategy settings as options of the agent", async () => {
    const set = async (agent: string, ...items: readonly string[]) =>
      (await read([...items.flatMap((item) => ["--set", item]), "--agent", agent, "hi"])).agent;
    expect(await set("react", "react.iterations=3")).toEqual({ kind: "react", maxIterations: 3 });
    expect(await set("tot", "tot.search=breadth,tot.beam=2", "tot.candidates=9", "tot.thoughts=50")).toEqual({
      kind: "tot",
      strategy: "breadth",
      beam: 2,
      candidates: 9,
      maxThoughts: 50,
    });
    const all =
      "tot.search=depth tot.generator=sample tot.evaluator=vote tot.samples=5 tot.threshold=0.4 tot.depth=3 tot.backtracks=0";
    expect(await set("tot", ...all.split(" "))).toEqual({
      kind: "tot",
      strategy: "depth",
      generate: "sample",
      evaluate: "vote",
      evaluations: 5,
      threshold: 0.4,
      maxDepth: 3,
      maxBacktracks: 0,
    });
    expect(await set("got", "got.iterations=4")).toEqual({ kind: "got", maxIterations: 4 });
    const papers =
      "agot.candidates=3,agot.keep-best=2,agot.improvements=4,agot.good-score=.9,agot.layers=5,agot.depth=1";
    expect(await set("agot", papers)).toEqual({
      kind: "got",
      adaptive: true,
      branches: 3,
      keepBest: 2,
      improvements: 4,
      goodScore: 0.9,
      maxLayers: 5,
      maxDepth: 1,
    });
  });

  test("repeats agent options in the resume command", async () => {
    const args = ["--session", "s", "--agent", "tot", "--set", "tot.search=depth", "--set", "tot.thoughts=50", "hi"];
    expect((await read(args)).describeResume()).toBe(
      "loom run --session s --agent tot --set 'tot.search=depth,tot.thoughts=50' --resume",
    );
  });

  test("accepts stream modes and the strict form with --json", async () => {
    const readFrames = async (...args: string[]) => (await read(["--json", ...args, "hi"])).frames;
    expect(await readFrames()).toEqual({ modes: undefined, strict: false });
    expect(await readFrames("--modes", "tools, values")).toEqual({ modes: ["tools", "values"], strict: false });
    expect(await readFrames("--modes", "all")).toEqual({ modes: "all", strict: false });
    expect(await readFrames("--strict")).toEqual({ modes: undefined, strict: true });
  });

  test.each<[string, readonly string[], string?]>([
    ["no message", []],
    ["the message is empty", [" "]],
    ["the message is empty", [], "\n"],
    ["`--agent` does not accept `dog`", ["--agent", "dog", "hi"]],
    ["`--approve` does not accept `maybe`", ["--approve", "maybe", "hi"]],
    ["`react.iterations` must be an integer from 1 to 1000, not 0", ["--set", "react.iterations=0", "hi"]],
    ["`tot.search` must be breadth or depth", ["--agent", "tot", "--set", "tot.search=wide", "hi"]],
    ["`tot.beam` must be an integer from 1 to 2000", ["--agent", "tot", "--set", "tot.beam=0", "hi"]],
    ["`tot.thoughts` must be an integer", ["--agent", "tot", "--set", "tot.thoughts=1e9", "hi"]],
    ["does not apply to `tot.search=depth`", ["--agent", "tot", "--set", "tot.search=depth,tot.beam=2", "hi"]],
    ["`--set tot.search=depth` does not apply to `--agent react`", ["--set", "tot.search=depth", "hi"]],
    [
      "`--set react.iterations=2` does not apply to `--agent tot`",
      ["--agent", "tot", "--set", "react.iterations=2", "hi"],
    ],
    ["`tot.threshold` must be a number from 0 to 1", ["--agent", "tot", "--set", "tot.threshold=2", "hi"]],
    ["`agot.samples` is not a setting of the agent agot", ["--agent", "agot", "--set", "agot.samples=2", "hi"]],
    ["must have the form AGENT.SETTING=VALUE", ["--agent", "tot", "--set", "beam=2", "hi"]],
    ["`--retrieve` and `--kb none` cannot be used together", ["--kb", "none", "--retrieve", "hi"]],
    ["`--modes` needs `--json`", ["--modes", "tools", "hi"]],
    ["`--strict` needs `--json`", ["--strict", "hi"]],
    ['Unknown stream mode "x"', ["--json", "--modes", "tools,x", "hi"]],
    ["`--resume` needs `--session ID` or `--continue`", ["--resume"]],
    ["does not take a message", ["--resume", "--session", "s", "hi"]],
  ])("rejects: %s", async (message, args, input) => {
    await expect(read(args, input === undefined ? {} : { input })).rejects.toThrow(message);
  });
});

test("replaces option names in agent errors with flags and settings", () => {
  expect(toFlagNames("`beam` times `maxThoughts` and `strategy`, not `else`")).toBe(
    "`tot.beam` times `tot.thoughts` and `tot.search`, not `else`",
  );
});
