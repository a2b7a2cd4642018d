/**
 * What the command does when something is wrong: with its arguments, its input, the world around it. It must say what,
 * in words for people, with the right exit code and no stack trace, and lose no more than what is broken.
 */
import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { COMMAND, environment, expectQuiet, folder, loom, ndjson, parseLines, writeInput } from "./cli-run.ts";
import { PROGRAM_SAMPLES } from "./sampling.ts";
import { packageRoot } from "./source-files.ts";

const START = { session_id: "s1", event_id: 1, ts: 1, type: "run_start", run_id: "r1", contiguous: true };
const TEXT = {
  session_id: "s1",
  run_id: "r1",
  event_id: 2,
  ts: 2,
  type: "message_chunk",
  content: "你好",
  id: "agent",
};
const REPLY = { session_id: "s1", run_id: "r1", event_id: 3, ts: 3, reply: "你好" };
const SOUND = ndjson([START, TEXT, REPLY]);
const soundFile = writeInput("sound.ndjson", SOUND);

/** Refused: nothing on standard output, exit code 2, and a message of one or two lines. */
async function expectRefused(args: readonly string[], message: string, input: string | Uint8Array = ""): Promise<void> {
  const { code, out, err } = await loom(args, { input });
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toMatch(/^loom: .+\n(?: {6}.+\n)?$/);
  expect(err).toContain(message);
}

describe.concurrent("help", () => {
  test("no command: the overview on standard error, and exit code 2", async () => {
    const { code, out, err } = await loom([]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    for (const name of ["convert", "check", "schema"]) expect(err).toMatch(new RegExp(`^  ${name} +[A-Z]`, "m"));
    expect(await loom(["--help"])).toEqual({ code: 0, out: err, err: "" });
  });

  test.each([["-h"], ["help"]])("loom %s is loom --help", async (name) => {
    expect(await loom([name])).toEqual(await loom(["--help"]));
  });

  test.each([["check"], ["convert"], ["schema"], ["demo"]])("loom %s --help, in lines of 80 columns", async (name) => {
    const [long, short, asked] = await Promise.all([loom([name, "--help"]), loom([name, "-h"]), loom(["help", name])]);
    expect(long).toMatchObject({ code: 0, err: "" });
    expect([short, asked]).toEqual([long, long]);
    expect(long.out).toContain(`Usage: loom ${name} [OPTIONS]`);
    expect(long.out).toMatch(/^ {2}--help +show this$/m);
    expect(long.out.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  test("the version is that of the package", async () => {
    const { version } = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as { version: string };
    expect(await loom(["--version"])).toEqual({ code: 0, out: `${version}\n`, err: "" });
    expect(await loom(["-v"])).toEqual({ code: 0, out: `${version}\n`, err: "" });
  });
});

describe.concurrent("arguments that do not fit", () => {
  const refused: [args: string[], message: string][] = [
    [["chekc"], "there is no command `chekc`"],
    [["--nope"], "there is no option `--nope`"],
    [["help", "chekc"], "there is no command `chekc`"],
    [["check", "--nope"], "there is no option `--nope`"],
    [["check", "-x"], "there is no option `-x`"],
    [["check", "--strict"], "there is no option `--strict`"],
    [["check", "--dialect"], "`--dialect` needs a value"],
    [["check", "--dialect", "--json"], "`--dialect` needs a value"],
    [["check", "--dialect="], "`--dialect` needs a value"],
    [["check", "--json=yes"], "`--json` takes no value"],
    [["check", "--dialect", "loom2"], "there is no dialect `loom2`"],
    [["check", "--framing", "xml"], "there is no framing `xml`"],
    [["check", "--max-line", "0"], "`--max-line 0` is not a number of bytes"],
    [["check", "--max-line", "1e3"], "`--max-line 1e3` is not a number of bytes"],
    [["check", "--max-line", "8k"], "`--max-line 8k` is not a number of bytes"],
    [["check", "--max-line", "99999999999"], "is not a number of bytes from 1 to"],
    [["check", "a.ndjson", "b.ndjson"], "`b.ndjson` is one argument too many"],
    [["convert"], "say which dialect to write: `--to D`"],
    [["convert", "--to", "auto"], "say which dialect to write: `--to D`"],
    [["convert", "--to", "nope"], "there is no dialect `nope`"],
    [["convert", "--from", "nope", "--to", "loom"], "there is no dialect `nope`"],
    [["convert", "--to", "engine", "--strict"], "`--strict` is for `--to loom` only"],
    [["convert", "--to", "export", "--no-envelope"], "`--no-envelope` is for `--to loom` only"],
    [["convert", "--to", "loom", "--session="], "`--session` needs a value"],
    [["convert", "--to", "loom", "a", "b"], "`b` is one argument too many"],
    [["schema", "nope"], "the loom dialect has no type `nope`"],
    [["schema", "toString"], "the loom dialect has no type `toString`"],
    [["schema", "message_chunk", "--dialect", "engine"], "the engine dialect has no type `message_chunk`"],
    [["schema", "--dialect", "auto"], "`--dialect auto` needs a stream"],
    [["schema", "a", "b"], "`b` is one argument too many"],
    [["demo", "x"], "`x` is one argument too many"],
  ];
  // Each is a process: some of them in the quick suite, all in the long one.
  test.each(refused.filter((_, index) => index % PROGRAM_SAMPLES.refusedStep === 0))(
    "loom %j",
    async (args, message) => {
      await expectRefused(args, message, SOUND);
    },
  );

  test("names what there is instead", async () => {
    expect((await loom(["check", "--dialect", "x"])).err).toContain("loom, engine, lumine, stream-event, export");
    expect((await loom(["schema", "x", "--dialect", "engine"])).err).toContain("session_start");
    expect((await loom(["check", "--nope"])).err).toContain("`loom check --help`");
  });
});

describe.concurrent("files that cannot be read", () => {
  test("missing, or below a file", async () => {
    await expectRefused(["check", join(folder, "nowhere")], "nowhere` does not exist");
    await expectRefused(["convert", "--to", "loom", "nowhere"], "`nowhere` does not exist");
    await expectRefused(["check", join(soundFile, "x")], "` does not exist");
  });

  test("a folder", async () => {
    mkdirSync(join(folder, "inner"));
    await expectRefused(["check", "inner"], "`inner` is a folder, not a file");
  });

  test("a name that would repaint the terminal", async () => {
    await expectRefused(["check", "\u001B[2Jx"], "`�[2Jx` does not exist");
  });

  test.skipIf(process.getuid?.() === 0 || process.platform === "win32")(
    "without permission (skipped for root, who may read everything)",
    async () => {
      chmodSync(writeInput("secret.ndjson", SOUND), 0);
      await expectRefused(["check", "secret.ndjson"], "`secret.ndjson` may not be read");
    },
  );
});

describe.concurrent("input that is no stream", () => {
  const png = Buffer.from("89504e470d0a1a0a0000000d4948445200000001", "hex");
  const gzip = Buffer.from("1f8b0800000000000003abae0500", "hex");

  test.each([
    ["nothing", "", "there is no frame in standard input"],
    ["blank lines", "\n\r\n  \t\n", "there is no frame in standard input"],
    ["comments of server-sent events", ": ping\n\n: ping\n\n", "there is no frame in standard input"],
    ["an image", png, "standard input is not text in UTF-8"],
    ["an archive", gzip, "standard input is not text in UTF-8"],
    ["UTF-16", Buffer.from(`\uFEFF${SOUND}`, "utf16le"), "it looks like UTF-16"],
    ["UTF-16 without its mark", Buffer.from(SOUND, "utf16le"), "it looks like UTF-16"],
    ["UTF-16, big end first", Buffer.from(`\uFEFF${SOUND}`, "utf16le").swap16(), "it looks like UTF-16"],
    ["bytes without a NUL", Buffer.alloc(500, 0xe9), "cannot be told from line 1: not valid UTF-8"],
    ["prose, after two blank lines", "\n\nDear all,\n", "cannot be told from line 3: not valid JSON"],
    ["an object of another kind", '{"level":"info"}\n', "cannot be told from line 1: the frame has neither"],
    ["an unknown type", '{"type":"weather"}\n', "cannot be told from line 1: no dialect has a frame like it"],
    ["one pretty-printed frame", JSON.stringify(TEXT, null, 2), "`jq -c` writes each object on one line"],
    ["a pretty-printed array", JSON.stringify([START, TEXT], null, 2), "`jq -c` writes each object on one line"],
    ["an array", JSON.stringify([START, TEXT]), "`jq -c '.[]'` writes each of its objects"],
    ["an array, a frame a line", `[${SOUND.trim().replaceAll("\n", ",\n")}]\n`, "`jq -c '.[]'`"],
    ["one frame, cut", JSON.stringify(START).slice(0, 30), "the input ends in this line: was the stream cut?"],
    ["a line that is too long", "x".repeat(9 * 1024 * 1024), "`--max-line BYTES` lets longer lines in"],
  ])("%s", async (_name, input, message) => {
    await Promise.all([
      expectRefused(["check"], message, input),
      expectRefused(["convert", "--to", "loom"], message, input),
    ]);
  });

  test("many lines of nonsense in one chunk of a file", async () => {
    // A call with an argument for each of them would be more than the stack holds.
    const file = writeInput("ones", "1\n".repeat(200_000));
    await expectRefused(["check", file], "cannot be told from line 1: a frame must be a JSON object, not 1");
  });

  test("the hint names the option of the command", async () => {
    expect((await loom(["check"], { input: '{"type":"x"}' })).err).toContain("`--dialect D` (loom, engine,");
    expect((await loom(["convert", "--to", "loom"], { input: '{"type":"x"}' })).err).toContain("`--from D` (loom,");
  });

  test("an empty input is refused where the dialect is told as well", async () => {
    await expectRefused(["check", "--dialect", "loom", "--framing", "sse"], "there is no frame in standard input");
    await expectRefused(["convert", "--from", "loom", "--to", "loom", writeInput("empty", "")], "empty`");
  });
});

interface Spoiled {
  readonly name: string;
  readonly input: string | Uint8Array;
  readonly options?: readonly string[];
  /** What `check` finds on the line that is broken. */
  readonly line: number;
  readonly rule: string;
  readonly message: string | RegExp;
}

const [start, text, reply] = SOUND.split("\n") as [string, string, string];
const sse = [start, text, reply].map((line) => `data: ${line}\n\n`).join("");
const SPOILED: readonly Spoiled[] = [
  {
    name: "bytes that are not UTF-8",
    input: Buffer.concat([
      Buffer.from(`${start}\n`),
      Buffer.from('{"a":"\xE9"}\n', "latin1"),
      Buffer.from(`${text}\n${reply}\n`),
    ]),
    line: 2,
    rule: "frame-utf8",
    message: "not valid UTF-8",
  },
  {
    name: "a line of NUL bytes, as a crashed writer leaves it",
    input: `${start}\n\0\0\0\n${text}\n${reply}\n`,
    line: 2,
    rule: "frame-json",
    message: /^not valid JSON/,
  },
  {
    name: "garbage on the first line",
    input: `Connected to host\n${SOUND}`,
    line: 1,
    rule: "frame-json",
    message: /^not valid JSON/,
  },
  {
    name: "a line over a limit that was set",
    input: `${start}\n{"type":"custom","value":"${"x".repeat(500)}"}\n${text}\n${reply}\n`,
    options: ["--max-line", "200"],
    line: 2,
    rule: "frame-too-long",
    message: "longer than 200 bytes",
  },
  {
    name: "a last line that is cut",
    input: `${SOUND}{"session_id":"s1","run_`,
    line: 4,
    rule: "frame-json",
    message: /^not valid JSON: .*; the input ends in this line: was the stream cut\?$/,
  },
  {
    name: "a last line that is cut inside a character",
    input: Buffer.from(`${SOUND}{"reply":"你`).subarray(0, -1),
    line: 4,
    rule: "frame-utf8",
    message: "not valid UTF-8; the input ends in this line: was the stream cut?",
  },
  {
    name: "a last event that is cut",
    input: `${sse}data: {"session_id":"s1"`,
    line: 7,
    rule: "frame-unfinished",
    message: "the stream ended before the event's blank line",
  },
];

describe.concurrent("only what is broken is lost", () => {
  test.each(SPOILED.map((entry) => [entry.name, entry] as const))("%s", async (_name, entry) => {
    const { input, options = [], line, rule, message } = entry;
    const [checked, converted] = await Promise.all([
      loom(["check", "--json", ...options], { input }),
      loom(["convert", "--to", "loom", ...options], { input }),
    ]);
    expect(checked.code).toBe(1);
    const [found, ...others] = parseLines(checked.out);
    expect(found).toMatchObject({ line, event_id: null, rule, level: "error" });
    expect(found?.["message"]).toMatch(message);
    expect(others).toEqual([]);
    expect(checked.err).toMatch(/^1 error: 4 loom frames, 1 session, 1 run, /);
    expect(converted).toMatchObject({ code: 1, out: SOUND });
    expect(converted.err).toMatch(new RegExp(`^line ${line}: refused ${rule} \\(001 §3\\): .+\\n$`));
  });

  test("a sound line at the end of another is not taken for a cut", async () => {
    const { out } = await loom(["check", "--json"], { input: `${start}\nnonsense\n${text}\n${reply}` });
    expect(parseLines(out).map(({ line, message }) => [line, message])).toEqual([
      [2, "not valid JSON: unexpected text"],
    ]);
  });
});

describe.concurrent("limits", () => {
  test.skipIf(!existsSync("/proc/self/status"))(
    "a line of 256 MiB is refused in bounded memory (skipped without /proc)",
    async () => {
      const child = spawn(process.execPath, [COMMAND, "check", "--dialect", "loom", "--json"], { env: environment() });
      const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
      let out = "";
      child.stdout.setEncoding("utf8").on("data", (chunk: string) => (out += chunk));
      const write = (chunk: string | Uint8Array) =>
        new Promise<void>((resolve, reject) => {
          child.stdin.write(chunk, (error) => (error ? reject(error) : resolve()));
        });
      const block = Buffer.alloc(1024 * 1024, "x");
      await write('{"type":"custom","value":"');
      for (let index = 0; index < 256; index++) await write(block);
      await write(`"}\n${SOUND}`);
      const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1];
      child.stdin.end();
      expect(await ended).toBe(1);
      expect(parseLines(out)).toEqual([
        expect.objectContaining({ line: 1, rule: "frame-too-long", message: "longer than 8388608 bytes" }),
      ]);
      expect(Number(peak)).toBeGreaterThan(10_000);
      expect(Number(peak)).toBeLessThan(300_000);
    },
  );

  test("a message is cut where a stream made it long", async () => {
    const input = ndjson([{ ...START, run_id: "r".repeat(100_000) }]);
    const { out } = await loom(["check"], { input });
    expect(out).toContain("run rrrr");
    expect(out.length).toBeLessThan(3000);
  });
});

describe.concurrent("the world around", () => {
  const many = writeInput("many.ndjson", SOUND.repeat(20_000));

  test.skipIf(process.platform === "win32").each([
    ["check", ["check", many]],
    ["convert", ["convert", "--to", "loom", many]],
  ])("%s stops quietly when its reader has seen enough", async (_name, args) => {
    const script = '{ "$@"; echo "code $?" >&2; } | head -n 1';
    const child = spawn("sh", ["-c", script, "sh", process.execPath, COMMAND, ...args], { env: environment() });
    const ran = { code: 0, out: "", err: "" };
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (ran.out += chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (ran.err += chunk));
    await new Promise((resolve) => child.on("close", resolve));
    expectQuiet(ran);
    expect(ran.out.split("\n")).toHaveLength(2);
    expect(ran.err).toBe("code 141\n");
  });

  test("stops quietly when its parent closes the pipe", async () => {
    const child = spawn(process.execPath, [COMMAND, "convert", "--to", "loom", many], { env: environment() });
    let err = "";
    child.stdout.once("data", () => child.stdout.destroy());
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (err += chunk));
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect({ code, err }).toEqual({ code: 141, err: "" });
  });

  test("does its work though nobody reads what it warns of", async () => {
    const child = spawn(process.execPath, [COMMAND, "convert", "--to", "engine"], { env: environment() });
    child.stderr.destroy();
    child.stdin.end(
      ndjson([START, { session_id: "s1", run_id: "r1", event_id: 2, type: "node_enter", id: "x" }, REPLY]),
    );
    let out = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (out += chunk));
    expect(await new Promise((resolve) => child.on("close", resolve))).toBe(0);
    expect(parseLines(out).map(({ type }) => type)).toEqual(["session_start", "content", "session_end"]);
  });

  test.skipIf(!existsSync("/dev/full"))("says that a disk is full (skipped without /dev/full)", async () => {
    for (const command of ["check -", "convert --to loom -", "--help"]) {
      const script = `"$0" "$1" ${command} > /dev/full`;
      const child = spawn("sh", ["-c", script, process.execPath, COMMAND], { env: environment() });
      child.stdin.on("error", () => undefined).end(SOUND);
      let err = "";
      child.stderr.setEncoding("utf8").on("data", (chunk: string) => (err += chunk));
      const code = await new Promise((resolve) => child.on("close", resolve));
      expect({ command, code, err }).toEqual({
        command,
        code: 2,
        err: "loom: standard output cannot be written (ENOSPC)\n",
      });
    }
  });

  test("a fault of its own is told in one line, and the stack only on demand", async () => {
    const fault = `process.stdin[Symbol.asyncIterator] = () => { throw new TypeError("planted"); };\n`;
    const preload = pathToFileURL(writeInput("fault.mjs", fault)).href;
    const env = { NODE_OPTIONS: `--import=${preload}` };
    expect(await loom(["check"], { env })).toEqual({
      code: 70,
      out: "",
      err: "loom: internal error: planted (LOOM_DEBUG=1 shows where)\n",
    });
    const child = spawn(process.execPath, [COMMAND, "check"], { env: environment({ ...env, LOOM_DEBUG: "1" }) });
    let err = "";
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (err += chunk));
    expect(await new Promise((resolve) => child.on("close", resolve))).toBe(70);
    expect(err).toMatch(/TypeError: planted\n +at /);
  });

  test("colours a message where it is asked to", async () => {
    expect((await loom(["check", "nowhere"], { env: { FORCE_COLOR: "1" } })).err).toContain("\u001B[1mloom:\u001B[22m");
  });
});
