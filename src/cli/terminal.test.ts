/** Terminal output of the commands, on streams that pretend to be terminals. */
import { writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable, Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { runCheck } from "./check.ts";
import { parseCommand } from "./command.ts";
import { CHECK, CONVERT } from "./commands.ts";
import { runConvert } from "./convert.ts";
import { createTerminal, OutputClosed } from "./terminal.ts";
import { LONG } from "../../test/sampling.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-terminal-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Screen {
  readonly columns?: number;
  /** Typed text, or piped text if `types` is false. */
  readonly input?: string;
  readonly types?: boolean;
}

function createScreen({ columns, input = "", types = false }: Screen) {
  const isTTY = columns !== undefined;
  const written = { out: "", err: "" };
  const stream = (name: "out" | "err") => {
    const sink = new Writable({
      write(chunk: Buffer, _encoding, done) {
        written[name] += chunk.toString();
        done();
      },
    });
    return Object.assign(sink, { isTTY, columns }) as unknown as NodeJS.WriteStream;
  };
  const stdin = Object.assign(Readable.from([Buffer.from(input)]), { isTTY: types });
  return { written, terminal: createTerminal(stdin as unknown as NodeJS.ReadStream, stream("out"), stream("err")) };
}

const BROKEN = [
  { session_id: "sess-kyoto", event_id: 1, type: "run_start", run_id: "run-7f1c", contiguous: true },
  {
    session_id: "sess-kyoto",
    event_id: 9,
    type: "message_chunk",
    id: "x",
    content: "京都这个周末的天气晴朗，".repeat(20),
  },
  {
    session_id: "sess-kyoto",
    event_id: 10,
    type: "message_chunk",
    id: "x",
    content: "ab 晴".repeat(80),
    format: 5,
  },
]
  .map((frame) => `${JSON.stringify(frame)}\n`)
  .join("");

function columnsOf(line: string): number {
  return Array.from(line).reduce((sum, character) => sum + (/[\u3000-\uFFEF]/.test(character) ? 2 : 1), 0);
}

describe("check on a terminal", () => {
  test.each([[40], [60], [100]])("fits %d columns", async (columns) => {
    const screen = createScreen({ columns, input: BROKEN });
    expect(await runCheck(parseCommand(CHECK, []), screen.terminal)).toBe(1);
    const lines = stripVTControlCharacters(screen.written.out).trimEnd().split("\n");
    expect(lines.filter((line) => columnsOf(line) > columns)).toEqual([]);
    // Cut frames use the full width, except for a wide character that does not fit.
    const frames = lines.filter((line) => line.endsWith("…"));
    expect(frames).toHaveLength(2);
    for (const line of frames) expect(columnsOf(line)).toBeGreaterThanOrEqual(columns - 1);
    expect(lines.map((line) => line.trim()).join(" ")).toContain("did not end");
  });

  test("assumes 80 columns if the terminal has none", () => {
    const { terminal } = createScreen({ columns: 0 });
    expect([terminal.columns, terminal.errorColumns]).toEqual([80, 80]);
  });

  test("announces that it reads standard input only on a terminal", async () => {
    const valid = '{"type":"run_start","run_id":"r"}\n{"reply":""}\n';
    const warningsOf = async (screen: Screen) => {
      const { terminal, written } = createScreen({ input: valid, ...screen });
      await runCheck(parseCommand(CHECK, []), terminal);
      return written.err;
    };
    expect(await warningsOf({ columns: 80, types: true })).toBe("reading standard input; press Ctrl-D to end it\n");
    expect(await warningsOf({ columns: 80, types: false })).toBe("");
    expect(await warningsOf({ types: true })).toBe("");
  });
});

describe("convert on a terminal", () => {
  test("wraps warnings about rejected and omitted frames", async () => {
    const { terminal, written } = createScreen({ columns: 50, input: `${BROKEN}nonsense that is not JSON\n` });
    expect(await runConvert(parseCommand(CONVERT, ["--to", "engine"]), terminal)).toBe(1);
    const lines = stripVTControlCharacters(written.err).trimEnd().split("\n");
    expect(lines.length).toBeGreaterThan(1);
    expect(lines.filter((line) => columnsOf(line) > 50)).toEqual([]);
  });
});

describe("progress", () => {
  const frame = `${JSON.stringify({ type: "message_chunk", content: "x".repeat(60_000), id: "agent" })}\n`;
  const large = join(folder, "large.ndjson");
  writeFileSync(large, `{"type":"run_start","run_id":"r"}\n${frame.repeat(300)}`);

  async function progressOf(screen: Screen, file: string): Promise<string> {
    const { terminal, written } = createScreen(screen);
    // Slow enough for the clock to advance between two chunks.
    const slow = { ...terminal, write: () => new Promise<void>((resolve) => setTimeout(resolve, 10)) };
    await runConvert(parseCommand(CONVERT, ["--to", "loom", file]), slow);
    return written.err;
  }

  test.runIf(LONG)("replaces itself on a terminal and is removed at the end", async () => {
    const shown = await progressOf({ columns: 80 }, large);
    expect(shown).toMatch(/^\d+ % of 17 MiB/);
    expect(shown.endsWith("\r\u001B[K")).toBe(true);
    expect(stripVTControlCharacters(shown).replaceAll(/\d+ % of 17 MiB\r/g, "")).toBe("");
  });

  test.runIf(LONG)("is not shown for small files or outside a terminal", async () => {
    const small = join(folder, "small.ndjson");
    writeFileSync(small, frame.repeat(170));
    expect(await progressOf({}, large)).toBe("");
    expect(await progressOf({ columns: 80 }, small)).toBe("");
  });
});

describe("createTerminal", () => {
  test("waits for a slow reader and throws when the output is closed", async () => {
    const stdout = new PassThrough({ highWaterMark: 10 });
    const terminal = createTerminal(
      Readable.from([]) as unknown as NodeJS.ReadStream,
      stdout as unknown as NodeJS.WriteStream,
      new PassThrough() as unknown as NodeJS.WriteStream,
    );
    let isDone = false;
    const written = terminal.write("x".repeat(100)).then(() => (isDone = true));
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(isDone).toBe(false);
    stdout.resume();
    await written;
    stdout.emit("error", Object.assign(new Error("gone"), { code: "EPIPE" }));
    await expect(terminal.write("y")).rejects.toThrow(OutputClosed);
  });
});
