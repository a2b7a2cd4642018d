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
    expect((await read(["--max-iterations", "3", "hi"])).agent).toEqual({ kind: "react", maxIterations: 3 });
    expect((await read(["--agent", "tot", "hi"])).agent).toEqual({ kind: "tot" });
    const tot = ["--agent", "tot", "--search", "breadth", "--beam", "2", "--candidates", "9", "--max-thoughts", "50"];
    expect((await read([...tot, "hi"])).agent).toEqual({
      kind: "tot",
      strategy: "breadth",
      beam: 2,
      candidates: 9,
      maxThoughts: 50,
    });
    expect((await read(["--agent", "got", "hi"])).agent).toEqual({ kind: "got" });
    const got = ["--agent", "got", "--adaptive", "--max-iterations", "4", "hi"];
    expect((await read(got)).agent).toEqual({ kind: "got", adaptive: true, maxIterations: 4 });
    expect((await read(["--agent", "agot", "hi"])).agent).toEqual({ kind: "got", adaptive: true });
    const all =
      "--search depth --generator sample --evaluator vote --samples 5 --threshold 0.4 --max-depth 3 --max-backtracks 0";
    expect((await read(["--agent", "tot", ...all.split(" "), "hi"])).agent).toEqual({
      kind: "tot",
      strategy: "depth",
      generate: "sample",
      evaluate: "vote",
      evaluations: 5,
      threshold: 0.4,
      maxDepth: 3,
      maxBacktracks: 0,
    });
    const papers = [
      "--branches",
      "3",
      "--keep-best",
      "2",
      "--improvements",
      "4",
      "--good-score",
      ".9",
      "--max-layers",
      "5",
    ];
    expect((await read(["--agent", "agot", ...papers, "hi"])).agent).toEqual({
      kind: "got",
      adaptive: true,
      branches: 3,
      keepBest: 2,
      improvements: 4,
      goodScore: 0.9,
      maxLayers: 5,
    });
  });

  test("repeats agent options in the resume command", async () => {
    const args = ["--session", "s", "--agent", "tot", "--search", "depth", "--max-thoughts", "50", "hi"];
    expect((await read(args)).describeResume()).toBe(
      "loom run --session s --agent tot --search depth --max-thoughts 50 --resume",
    );
    expect((await read(["--session", "s", "--agent", "got", "--adaptive", "hi"])).describeResume()).toBe(
      "loom run --session s --agent got --adaptive --resume",
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
    ["`--max-iterations 0` is not a number", ["--max-iterations", "0", "hi"]],
    ["`--search` does not accept `wide`", ["--agent", "tot", "--search", "wide", "hi"]],
    ["`--beam 0` is not a number from 1 to 2000", ["--agent", "tot", "--beam", "0", "hi"]],
    ["`--max-thoughts 1e9` is not a number", ["--agent", "tot", "--max-thoughts", "1e9", "hi"]],
    ["`--beam` does not apply to `--search depth`", ["--agent", "tot", "--search", "depth", "--beam", "2", "hi"]],
    ["`--search` does not apply to `--agent react`", ["--search", "depth", "hi"]],
    ["`--adaptive` does not apply to `--agent tot`", ["--agent", "tot", "--adaptive", "hi"]],
    ["`--max-iterations` does not apply to `--agent tot`", ["--agent", "tot", "--max-iterations", "2", "hi"]],
    ["`--threshold 2` is not a number from 0 to 1", ["--agent", "tot", "--threshold", "2", "hi"]],
    ["`--evaluator` does not accept `best`", ["--agent", "tot", "--evaluator", "best", "hi"]],
    ["`--samples` does not apply to `--agent agot`", ["--agent", "agot", "--samples", "2", "hi"]],
    ["`--beam` does not apply to `--agent got`", ["--agent", "got", "--beam", "2", "hi"]],
    ["`--modes` needs `--json`", ["--modes", "tools", "hi"]],
    ["`--strict` needs `--json`", ["--strict", "hi"]],
    ['Unknown stream mode "x"', ["--json", "--modes", "tools,x", "hi"]],
    ["`--resume` needs `--session ID`", ["--resume"]],
    ["does not take a message", ["--resume", "--session", "s", "hi"]],
  ])("rejects: %s", async (message, args, input) => {
    await expect(read(args, input === undefined ? {} : { input })).rejects.toThrow(message);
  });
});

test("replaces option names in agent errors with flags", () => {
  expect(toFlagNames("`beam` times `maxThoughts` and `strategy`, not `else`")).toBe(
    "`--beam` times `--max-thoughts` and `--search`, not `else`",
  );
});
