/**
 * Errors of the command line: invalid input and failing streams. Each is reported without a stack trace and with the
 * right exit code, and only the broken part of the input is lost. Invalid arguments are in test/bad-inputs.
 */
import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { COMMAND, environment, expectNoStackTrace, folder, loom, ndjson, parseLines, writeInput } from "./cli-run.ts";
import { nodeArgs } from "./bundle-source.ts";
import { LONG, sampleCases } from "./sampling.ts";
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
const VALID = ndjson([START, TEXT, REPLY]);
const validFile = writeInput("valid.ndjson", VALID);

/** Expects nothing on standard output, exit code 2, and a message of one or two lines. */
async function expectRejected(
  args: readonly string[],
  message: string,
  input: string | Uint8Array = "",
): Promise<void> {
  const { code, out, err } = await loom(args, { input });
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toMatch(/^loom: .+\n(?: {6}.+\n)?$/);
  expect(err).toContain(message);
}

describe.concurrent("help", () => {
  test("prints the overview to standard error without a command, and exits with 2", async () => {
    const { code, out, err } = await loom([]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    for (const name of ["convert", "check", "models"]) expect(err).toMatch(new RegExp(`^  ${name} +[A-Z]`, "m"));
    expect(await loom(["--help"])).toEqual({ code: 0, out: err, err: "" });
  });

  test.each([["-h"], ["help"]])("prints the overview for loom %s", async (name) => {
    expect(await loom([name])).toEqual(await loom(["--help"]));
  });

  test.each([["check"], ["convert"], ["show"]])("prints the help of loom %s in lines of 80 columns", async (name) => {
    const [long, short, asked] = await Promise.all([loom([name, "--help"]), loom([name, "-h"]), loom(["help", name])]);
    expect(long).toMatchObject({ code: 0, err: "" });
    expect([short, asked]).toEqual([long, long]);
    expect(long.out).toContain(`Usage: loom ${name} [OPTIONS]`);
    expect(long.out).toMatch(/^ {2}-h, --help +show this help$/m);
    expect(long.out.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  test("prints the version of the package", async () => {
    const { version } = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as { version: string };
    expect(await loom(["--version"])).toEqual({ code: 0, out: `${version}\n`, err: "" });
    expect(await loom(["-V"])).toEqual({ code: 0, out: `${version}\n`, err: "" });
  });
});

describe.concurrent("unreadable files", () => {
  test("reports a missing file", async () => {
    await expectRejected(["check", join(folder, "nowhere")], "nowhere` does not exist");
    await expectRejected(["convert", "--to", "loom", "nowhere"], "`nowhere` does not exist");
    await expectRejected(["check", join(validFile, "x")], "` does not exist");
  });

  test("reports a folder", async () => {
    mkdirSync(join(folder, "inner"));
    await expectRejected(["check", "inner"], "`inner` is a folder, not a file");
  });

  test("cleans file names", async () => {
    await expectRejected(["check", "\u001B[2Jx"], "`�[2Jx` does not exist");
  });

  test.skipIf(process.getuid?.() === 0 || process.platform === "win32")(
    "reports a missing permission (skipped for root)",
    async () => {
      chmodSync(writeInput("secret.ndjson", VALID), 0);
      await expectRejected(["check", "secret.ndjson"], "`secret.ndjson` cannot be read (permission denied)");
    },
  );
});

describe.concurrent("input that is not a stream", () => {
  const png = Buffer.from("89504e470d0a1a0a0000000d4948445200000001", "hex");
  const gzip = Buffer.from("1f8b0800000000000003abae0500", "hex");

  test.each([
    ["nothing", "", "no frames in standard input"],
    ["blank lines", "\n\r\n  \t\n", "no frames in standard input"],
    ["comments in server-sent events", ": ping\n\n: ping\n\n", "no frames in standard input"],
    ["an image", png, "standard input is not UTF-8 text"],
    ["an archive", gzip, "standard input is not UTF-8 text"],
    ["UTF-16", Buffer.from(`\uFEFF${VALID}`, "utf16le"), "it looks like UTF-16"],
    ["UTF-16 without a byte order mark", Buffer.from(VALID, "utf16le"), "it looks like UTF-16"],
    ["UTF-16, big-endian", Buffer.from(`\uFEFF${VALID}`, "utf16le").swap16(), "it looks like UTF-16"],
    ["invalid UTF-8 without a NUL", Buffer.alloc(500, 0xe9), "cannot detect the dialect from line 1: not valid UTF-8"],
    ["prose, after two blank lines", "\n\nDear all,\n", "cannot detect the dialect from line 3: not valid JSON"],
    ["an unrelated object", '{"level":"info"}\n', "cannot detect the dialect from line 1: the frame has neither"],
    ["an unknown type", '{"type":"weather"}\n', "cannot detect the dialect from line 1: no dialect has such a frame"],
    ["one pretty-printed frame", JSON.stringify(TEXT, null, 2), "`jq -c` writes each object on one line"],
    ["a pretty-printed array", JSON.stringify([START, TEXT], null, 2), "`jq -c` writes each object on one line"],
    ["an array", JSON.stringify([START, TEXT]), "`jq -c '.[]'` writes each object"],
    ["an array with one frame per line", `[${VALID.trim().replaceAll("\n", ",\n")}]\n`, "`jq -c '.[]'`"],
    [
      "one incomplete frame",
      JSON.stringify(START).slice(0, 30),
      "the input ends here, so the stream may be incomplete",
    ],
    ["a line that is too long", "x".repeat(9 * 1024 * 1024), "allow longer lines with `--max-line BYTES`"],
  ])("rejects %s", async (_name, input, message) => {
    await Promise.all([
      expectRejected(["check"], message, input),
      expectRejected(["convert", "--to", "loom"], message, input),
    ]);
  });

  test("rejects many invalid lines in one chunk", async () => {
    // One function argument per line would overflow the stack.
    const file = writeInput("ones", "1\n".repeat(200_000));
    await expectRejected(
      ["check", file],
      "cannot detect the dialect from line 1: a frame must be a JSON object, not 1",
    );
  });

  test("names the option of the command in the hint", async () => {
    expect((await loom(["check"], { input: '{"type":"x"}' })).err).toContain("`--dialect D` (loom, export,");
    expect((await loom(["convert", "--to", "loom"], { input: '{"type":"x"}' })).err).toContain("`--from D` (loom,");
  });

  test("rejects an empty input with a given dialect", async () => {
    await expectRejected(["check", "--dialect", "loom", "--framing", "sse"], "no frames in standard input");
    await expectRejected(["convert", "--from", "loom", "--to", "loom", writeInput("empty", "")], "empty`");
  });
});

interface Spoiled {
  readonly name: string;
  readonly input: string | Uint8Array;
  readonly options?: readonly string[];
  /** Expected result of `check` on the broken line. */
  readonly line: number;
  readonly rule: string;
  readonly message: string | RegExp;
}

const [start, text, reply] = VALID.split("\n") as [string, string, string];
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
    name: "a line of NUL bytes left by a crashed writer",
    input: `${start}\n\0\0\0\n${text}\n${reply}\n`,
    line: 2,
    rule: "frame-json",
    message: /^not valid JSON/,
  },
  {
    name: "garbage on the first line",
    input: `Connected to host\n${VALID}`,
    line: 1,
    rule: "frame-json",
    message: /^not valid JSON/,
  },
  {
    name: "a line longer than --max-line",
    input: `${start}\n{"type":"custom","value":"${"x".repeat(500)}"}\n${text}\n${reply}\n`,
    options: ["--max-line", "200"],
    line: 2,
    rule: "frame-too-long",
    message: "longer than 200 bytes",
  },
  {
    name: "an incomplete last line",
    input: `${VALID}{"session_id":"s1","run_`,
    line: 4,
    rule: "frame-json",
    message: /^not valid JSON: .*; the input ends here, so the stream may be incomplete$/,
  },
  {
    name: "a last line that ends inside a character",
    input: Buffer.from(`${VALID}{"reply":"你`).subarray(0, -1),
    line: 4,
    rule: "frame-utf8",
    message: "not valid UTF-8; the input ends here, so the stream may be incomplete",
  },
  {
    name: "an incomplete last event",
    input: `${sse}data: {"session_id":"s1"`,
    line: 7,
    rule: "frame-unfinished",
    message: "the stream ended inside an event",
  },
];

describe.concurrent("broken lines", () => {
  test.each(SPOILED.map((entry) => [entry.name, entry] as const))("loses only %s", async (_name, entry) => {
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
    expect(converted).toMatchObject({ code: 1, out: VALID });
    expect(converted.err).toMatch(new RegExp(`^line ${line}: rejected ${rule} \\(001 §3\\): .+\\n$`));
  });

  test("does not report a complete last line as incomplete", async () => {
    const { out } = await loom(["check", "--json"], { input: `${start}\nnonsense\n${text}\n${reply}` });
    expect(parseLines(out).map(({ line, message }) => [line, message])).toEqual([
      [2, "not valid JSON: unexpected text"],
    ]);
  });
});

describe.concurrent("limits", () => {
  test.skipIf(!LONG || !existsSync("/proc/self/status"))(
    "rejects a line of 256 MiB in bounded memory (skipped without /proc)",
    async () => {
      const child = spawn(process.execPath, [...nodeArgs(), COMMAND, "check", "--dialect", "loom", "--json"], {
        env: environment(),
      });
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
      await write(`"}\n${VALID}`);
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

  test("cuts a long message", async () => {
    const input = ndjson([{ ...START, run_id: "r".repeat(100_000) }]);
    const { out } = await loom(["check"], { input });
    expect(out).toContain("run rrrr");
    expect(out.length).toBeLessThan(3000);
  });
});

describe.concurrent("output streams", () => {
  const many = writeInput("many.ndjson", VALID.repeat(20_000));

  const PIPED: readonly (readonly [string, readonly string[]])[] = [
    ["check", ["check", many]],
    ["convert", ["convert", "--to", "loom", many]],
  ];
  test.skipIf(process.platform === "win32").each(sampleCases(PIPED))(
    "stops %s quietly when its reader closes the pipe",
    async (_name, args) => {
      const script = '{ "$@"; echo "code $?" >&2; } | head -n 1';
      const child = spawn("sh", ["-c", script, "sh", process.execPath, ...nodeArgs(), COMMAND, ...args], {
        env: environment(),
      });
      const ran = { code: 0, out: "", err: "" };
      child.stdout.setEncoding("utf8").on("data", (chunk: string) => (ran.out += chunk));
      child.stderr.setEncoding("utf8").on("data", (chunk: string) => (ran.err += chunk));
      await new Promise((resolve) => child.on("close", resolve));
      expectNoStackTrace(ran);
      expect(ran.out.split("\n")).toHaveLength(2);
      expect(ran.err).toBe("code 141\n");
    },
  );

  test.runIf(LONG)("stops quietly when its parent closes the pipe", async () => {
    const child = spawn(process.execPath, [...nodeArgs(), COMMAND, "convert", "--to", "loom", many], {
      env: environment(),
    });
    let err = "";
    child.stdout.once("data", () => child.stdout.destroy());
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (err += chunk));
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect({ code, err }).toEqual({ code: 141, err: "" });
  });

  test.runIf(LONG)("continues when standard error is closed", async () => {
    const child = spawn(process.execPath, [...nodeArgs(), COMMAND, "convert", "--to", "engine"], {
      env: environment(),
    });
    child.stderr.destroy();
    child.stdin.end(
      ndjson([START, { session_id: "s1", run_id: "r1", event_id: 2, type: "node_enter", id: "x" }, REPLY]),
    );
    let out = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (out += chunk));
    expect(await new Promise((resolve) => child.on("close", resolve))).toBe(0);
    expect(parseLines(out).map(({ type }) => type)).toEqual(["session_start", "content", "session_end"]);
  });

  test.skipIf(!existsSync("/dev/full"))("reports a full disk (skipped without /dev/full)", async () => {
    for (const command of sampleCases(["check -", "convert --to loom -", "--help"])) {
      const script = `"$@" ${command} > /dev/full`;
      const args = ["-c", script, "sh", process.execPath, ...nodeArgs(), COMMAND];
      const child = spawn("sh", args, { env: environment() });
      child.stdin.on("error", () => undefined).end(VALID);
      let err = "";
      child.stderr.setEncoding("utf8").on("data", (chunk: string) => (err += chunk));
      const code = await new Promise((resolve) => child.on("close", resolve));
      expect({ command, code, err }).toEqual({
        command,
        code: 2,
        err: "loom: cannot write to standard output (ENOSPC)\n",
      });
    }
  });

  test.runIf(LONG)("reports an internal error in one line, and its stack with LOOM_DEBUG", async () => {
    const fault = `process.stdin[Symbol.asyncIterator] = () => { throw new TypeError("planted"); };\n`;
    const preload = pathToFileURL(writeInput("fault.mjs", fault)).href;
    const env = { NODE_OPTIONS: `--import=${preload}` };
    expect(await loom(["check"], { env })).toEqual({
      code: 70,
      out: "",
      err: "loom: internal error: planted (set LOOM_DEBUG=1 for a stack trace)\n",
    });
    const child = spawn(process.execPath, [...nodeArgs(), COMMAND, "check"], {
      env: environment({ ...env, LOOM_DEBUG: "1" }),
    });
    let err = "";
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (err += chunk));
    expect(await new Promise((resolve) => child.on("close", resolve))).toBe(70);
    expect(err).toMatch(/TypeError: planted\n +at /);
  });

  test.runIf(LONG)("colours the message with FORCE_COLOR", async () => {
    expect((await loom(["check", "nowhere"], { env: { FORCE_COLOR: "1" } })).err).toContain("\u001B[1mloom:\u001B[22m");
  });
});
