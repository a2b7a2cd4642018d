import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { parseCommand } from "../command.ts";
import { RUN } from "../commands.ts";
import type { Terminal } from "../terminal.ts";
import { nameOptions } from "./read-agent-choice.ts";
import { MAX_MESSAGE_BYTES, readRunOptions } from "./read-run-options.ts";

/** What is typed, or piped in. */
function read(args: readonly string[], { input, env = {} }: { input?: string; env?: { [name: string]: string } } = {}) {
  const stdin = Object.assign(Readable.from([Buffer.from(input ?? "")]), { isTTY: input === undefined });
  return readRunOptions(parseCommand(RUN, args), { stdin, progress: () => undefined } as unknown as Terminal, env);
}

describe("readRunOptions", () => {
  test("needs no key, and gives a new session a name of its own", async () => {
    const options = await read(["hi"]);
    expect(options).toMatchObject({ message: "hi", model: "offline", approve: "ask", isNewSession: true });
    expect(options.sessionId).toMatch(/^[0-9a-f]{12}$/);
    expect(options.workspace ?? options.mcp ?? options.modes).toBeUndefined();
    expect((await read(["hi"])).sessionId).not.toBe(options.sessionId);
  });

  test("looks into the environment for the model and the store, where an option does not say", async () => {
    const env = { LOOM_MODEL: "ollama/qwen", XDG_DATA_HOME: "/data" };
    expect(await read(["hi"], { env })).toMatchObject({ model: "ollama/qwen", store: "/data/loom/loom.db" });
    expect(await read(["hi"], { env: { ...env, LOOM_STORE: "/x.db" } })).toMatchObject({ store: "/x.db" });
    expect(await read(["--model", "openai/gpt", "--store", "y.db", "hi"], { env })).toMatchObject({
      model: "openai/gpt",
      store: "y.db",
    });
    expect((await read(["hi"], { env: { LOOM_MODEL: " " } })).model).toBe("offline");
  });

  test("reads the message from standard input where it is `-` or absent", async () => {
    expect((await read([], { input: "two\nlines\n" })).message).toBe("two\nlines");
    expect((await read(["-"], { input: "x" })).message).toBe("x");
    expect((await read(["--session", "s", "--resume"], { input: "x" })).message).toBeUndefined();
    await expect(read([], { input: "x".repeat(MAX_MESSAGE_BYTES + 1) })).rejects.toThrow("longer than");
  });

  test("says how to go on with the same tools, as a shell reads it", async () => {
    const args = ["--session", "my chat", "--workspace", "it's", "--allow-fetch", "--approve", "never", "--json", "hi"];
    expect((await read(args)).describeResume()).toBe(
      String.raw`loom run --session 'my chat' --workspace 'it'\''s' --allow-fetch --resume`,
    );
    expect((await read(["--session=-1", "--store", "a=b", "hi"])).describeResume()).toBe(
      "loom run --session=-1 --store 'a=b' --resume",
    );
  });

  test("names the options that would bring what is missing, each once", async () => {
    const { describeResume } = await read(["--session", "s", "--mcp", "m.json", "hi"]);
    expect(describeResume(["write_file", "delete_file", "list_files", "http_fetch", "web__echo"])).toBe(
      "loom run --session s --mcp m.json --workspace DIR --allow-fetch --resume",
    );
    expect((await read(["--session", "s", "hi"])).describeResume(["web__echo"])).toBe(
      "loom run --session s --mcp FILE --resume",
    );
  });

  test("says nothing of an agent that it was not told", async () => {
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
  });

  test("goes on with the same agent", async () => {
    const args = ["--session", "s", "--agent", "tot", "--search", "depth", "--max-thoughts", "50", "hi"];
    expect((await read(args)).describeResume()).toBe(
      "loom run --session s --agent tot --search depth --max-thoughts 50 --resume",
    );
    expect((await read(["--session", "s", "--agent", "got", "--adaptive", "hi"])).describeResume()).toBe(
      "loom run --session s --agent got --adaptive --resume",
    );
  });

  test("takes stream modes with --json", async () => {
    expect((await read(["--json", "hi"])).modes).toBe("all");
    expect((await read(["--json", "--modes", "tools, values", "hi"])).modes).toEqual(["tools", "values"]);
  });

  test.each<[string, readonly string[], string?]>([
    ["there is no message", []],
    ["the message is empty", [" "]],
    ["the message is empty", [], "\n"],
    ["`--agent dog` is not known", ["--agent", "dog", "hi"]],
    ["`--approve maybe` is not known", ["--approve", "maybe", "hi"]],
    ["`--max-iterations 0` is not a number", ["--max-iterations", "0", "hi"]],
    ["`--search wide` is not known", ["--agent", "tot", "--search", "wide", "hi"]],
    ["`--beam 0` is not a number from 1 to 2000", ["--agent", "tot", "--beam", "0", "hi"]],
    ["`--max-thoughts 1e9` is not a number", ["--agent", "tot", "--max-thoughts", "1e9", "hi"]],
    ["`--beam` is not for `--search depth`", ["--agent", "tot", "--search", "depth", "--beam", "2", "hi"]],
    ["`--search` is not for `--agent react`", ["--search", "depth", "hi"]],
    ["`--adaptive` is not for `--agent tot`", ["--agent", "tot", "--adaptive", "hi"]],
    ["`--max-iterations` is not for `--agent tot`", ["--agent", "tot", "--max-iterations", "2", "hi"]],
    ["`--beam` is not for `--agent got`", ["--agent", "got", "--beam", "2", "hi"]],
    ["`--modes` chooses frames", ["--modes", "tools", "hi"]],
    ['there is no stream mode "x"', ["--json", "--modes", "tools,x", "hi"]],
    ["`--resume` needs `--session ID`", ["--resume"]],
    ["takes no message", ["--resume", "--session", "s", "hi"]],
  ])("refuses: %s", async (message, args, input) => {
    await expect(read(args, input === undefined ? {} : { input })).rejects.toThrow(message);
  });
});

test("what agents say of their options is said in the words of the command", () => {
  expect(nameOptions("`beam` times `maxThoughts` and `strategy`, not `else`")).toBe(
    "`--beam` times `--max-thoughts` and `--search`, not `else`",
  );
});
