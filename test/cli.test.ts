/**
 * `loom check`, `loom convert` and `loom check --schema` on valid input. Errors are in cli-faults.test.ts and
 * test/bad-inputs.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { createStreamCheck, DIALECT_NAMES, DIALECTS } from "../src/dialects/index.ts";
import { dialectSchemas } from "../src/dialects/schemas.ts";
import type { DialectName } from "../src/dialects/index.ts";
import { loom, ndjson, parseLines, writeInput } from "./cli-run.ts";
import { FORMS, frameText, listVectorFiles, readVector, VECTORS } from "./vectors.ts";
import { LONG } from "./sampling.ts";

const RUNS = listVectorFiles("runs").map(readVector);
const SAMPLES = listVectorFiles("samples").map(readVector);

function framesOf(run: string, form = "loom"): unknown[] {
  const vector = RUNS.find(({ name }) => name === run);
  if (vector === undefined) throw new Error(`no run ${run}`);
  return (vector.encodings[form] ?? []).flat();
}

const VALID = ndjson(framesOf("react-tools"));
const validFile = writeInput("valid.ndjson", VALID);

/** A run of three frames whose second frame is missing. */
const GAP = [
  { session_id: "s1", event_id: 1, ts: 1, type: "run_start", run_id: "r1", contiguous: true },
  { session_id: "s1", run_id: "r1", event_id: 3, ts: 3, type: "message_chunk", content: "你好", id: "agent" },
  { session_id: "s1", run_id: "r1", event_id: 4, ts: 4, reply: "你好" },
];

describe.concurrent("loom check", () => {
  test("reports a clean stream with its counts", async () => {
    const ran = await loom(["check", validFile]);
    expect(ran).toEqual({
      code: 0,
      out: "clean: 64 loom frames, 1 session, 1 run, 4 spans, 2 tool calls, 908 tokens\n",
      err: "",
    });
  });

  test("reads standard input under each of its names", async () => {
    const [file, ...others] = await Promise.all([
      loom(["check", validFile]),
      loom(["check"], { input: VALID }),
      loom(["check", "-"], { input: VALID }),
      loom(["check", "/dev/stdin"], { input: VALID }),
    ]);
    for (const other of others) expect(other).toEqual(file);
  });

  test("exits with 0 if there are only warnings", async () => {
    const { code, out, err } = await loom(["check"], { input: ndjson(framesOf("error", "loom-bare")) });
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/^line 1: warning envelope-missing \(001 §7\.1\)\n/);
    expect(out).toMatch(/^1 warning: 15 loom frames, /m);
  });

  test("prints line, frame, message and section, without colours in a pipe", async () => {
    expect(await loom(["check"], { input: ndjson(GAP) })).toEqual({
      code: 1,
      out: [
        "line 2, event 3: error event-id-gap (001 §2)",
        `  ${JSON.stringify(GAP[1])}`,
        "  event_id jumps from 1 to 3; missing frames: 1",
        "1 error: 3 loom frames, 1 session, 1 run, 0 spans, 0 tool calls, 0 tokens",
        "",
      ].join("\n"),
      err: "",
    });
  });

  test.runIf(LONG)("prints the same with colours", async () => {
    const [plain, forced, denied] = await Promise.all([
      loom(["check"], { input: ndjson(GAP) }),
      loom(["check"], { input: ndjson(GAP), env: { FORCE_COLOR: "1" } }),
      loom(["check"], { input: ndjson(GAP), env: { NO_COLOR: "1" } }),
    ]);
    expect(forced.out).toContain("\u001B[31m\u001B[1merror\u001B[22m\u001B[39m event-id-gap");
    // oxlint-disable-next-line no-control-regex -- matches control characters on purpose
    expect(forced.out.replaceAll(/\u001B\[\d+m/g, "")).toBe(plain.out);
    expect(denied).toEqual(plain);
  });

  test("prints a frame that breaks several rules once", async () => {
    const frame = { type: "content", data: { content: "Hi" }, metadata: {} };
    const { out } = await loom(["check", "--frames", "--dialect", "engine"], { input: ndjson([frame]) });
    const lines = out.split("\n");
    expect(lines.filter((line) => line.startsWith("line 1: error")).length).toBeGreaterThan(1);
    expect(lines.filter((line) => line.includes(JSON.stringify(frame)))).toHaveLength(1);
  });

  test("cuts a long frame to start at its type or at an earlier invalid field", async () => {
    const long = { ...GAP[1], event_id: 2, content: "长".repeat(300), id: 5 };
    const odd = { session_id: "s1", run_id: 7, type: "message_chunk", content: "长".repeat(300), id: "agent" };
    const { out } = await loom(["check", "--dialect", "loom"], { input: ndjson([GAP[0], long, odd]) });
    const shown = out.split("\n").filter((line) => line.startsWith("  {"));
    expect(shown).toHaveLength(2);
    expect(shown[0]).toMatch(/^ {2}\{…"type":"message_chunk","content":"长+…$/);
    expect(shown[1]).toMatch(/^ {2}\{…"run_id":7,"type":"message_chunk","content":"长+…$/);
    for (const line of shown) expect(line.length).toBeLessThan(200);
  });

  test("removes control characters", async () => {
    const frame = { type: "run_start", run_id: "\u001B[2J\u009B31m\u202Eevil" };
    const { out } = await loom(["check"], { input: `${JSON.stringify(frame)}\n{"type":"\u001B[31m\n` });
    // oxlint-disable-next-line no-control-regex -- matches control characters on purpose
    expect(out).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202E]/);
    expect(out).toContain("run �[2J�31m�evil");
  });

  test("prints one JSON object per violation with --json, and the summary to standard error", async () => {
    const { code, out, err } = await loom(["check", "--json"], { input: ndjson([...GAP.slice(0, 2), "nonsense"]) });
    expect(code).toBe(1);
    expect(err).toBe("2 errors, 1 warning: 3 loom frames, 1 session, 1 run, 0 spans, 0 tool calls, 0 tokens\n");
    const found = parseLines(out);
    expect(found.map(({ line, event_id, rule, level }) => ({ line, event_id, rule, level }))).toEqual([
      { line: 2, event_id: 3, rule: "event-id-gap", level: "error" },
      { line: 3, event_id: null, rule: "frame-json", level: "error" },
      { line: 3, event_id: null, rule: "reply-missing", level: "warning" },
    ]);
    for (const violation of found) {
      expect(Object.keys(violation)).toEqual(["line", "event_id", "rule", "level", "message", "section"]);
      expect(violation["message"]).toMatch(/\w/);
      expect(violation["section"]).toMatch(/^00[1-4] §/);
    }
    expect(await loom(["check", "--json", validFile])).toMatchObject({ code: 0, out: "" });
  });

  test("uses the given dialect", async () => {
    const input = ndjson(framesOf("react-tools", "engine"));
    const [right, wrong, auto] = await Promise.all([
      loom(["check", "--dialect", "engine"], { input }),
      loom(["check", "--dialect=lumine"], { input }),
      loom(["check", "--dialect", "auto"], { input }),
    ]);
    // Counts that a dialect does not carry are left out: 003 has no spans, and tokens only as a total.
    expect(right).toMatchObject({ code: 0, err: "" });
    expect(right.out).toMatch(/^clean: 23 engine frames, 1 session, 1 run, 2 tool calls, \d+ tokens\n$/);
    expect(auto).toEqual(right);
    expect(wrong).toMatchObject({ code: 1 });
    expect(wrong.out).toContain("lumine-base-fields");
  });

  // The short run checks one form of each run, the long run all.
  const names = Object.keys(FORMS);
  test.each(Object.entries(FORMS))("detects every run in the form %s from its first frames", async (form, told) => {
    const { dialect } = told;
    const runs = LONG ? RUNS : RUNS.filter((_, place) => place % names.length === names.indexOf(form));
    const jobs = runs.map(async ({ name }) => {
      const frames = framesOf(name, form);
      const doctor = createStreamCheck(DIALECTS[dialect]);
      const issues = [...frames.flatMap((frame) => doctor.check(JSON.stringify(frame)).issues), ...doctor.end()];
      const broken = issues.some(({ level }) => level === "error");
      const { code, out } = await loom(["check", "--json"], { input: ndjson(frames) });
      return { name, code, rules: parseLines(out).map(({ rule }) => rule), broken, issues };
    });
    for (const { name, code, rules, broken, issues } of await Promise.all(jobs)) {
      expect({ name, code, rules }).toEqual({ name, code: broken ? 1 : 0, rules: issues.map(({ rule }) => rule) });
    }
  });

  test.each(DIALECT_NAMES)("accepts every single frame in the specification of %s", async (dialect) => {
    const samples = SAMPLES.filter((sample) => sample.dialect === dialect);
    const single = samples.filter(({ mode }) => mode === "frame");
    // Some specifications have only streams.
    const frames = (single.length > 0 ? single : samples).flatMap((sample) => sample.frames);
    const { code, out } = await loom(["check", "--frames", "--dialect", dialect], { input: ndjson(frames) });
    expect(out).toContain(`${frames.length} ${dialect} frames`);
    expect(out).not.toMatch(/^line \d+.*: error/m);
    expect(code).toBe(0);
  });

  test("accepts every stream in the specifications", async () => {
    const streams = SAMPLES.filter(({ mode }) => mode === "stream");
    expect(streams.length).toBeGreaterThan(5);
    const jobs = streams.map(async ({ name, dialect, frames }) => {
      const { code, out } = await loom(["check"], { input: ndjson(frames.map(frameText)) });
      return { name, code, knows: out.includes(` ${dialect} frame`) };
    });
    for (const ran of await Promise.all(jobs)) expect(ran).toEqual({ name: ran.name, code: 0, knows: true });
  });

  // Skips lines that are blank, contain a line break, or are too long to build here.
  const rejects = readdirSync(join(VECTORS, "rejects"))
    .flatMap((file) => JSON.parse(readFileSync(join(VECTORS, "rejects", file), "utf8")) as readonly Reject[])
    .filter(({ mode, frames = [""], fill }) => {
      return mode === "frame" && fill === undefined && frames.every((frame) => /^.*\S.*$/.test(frameText(frame)));
    });

  test.each(DIALECT_NAMES)("reports the rule of every rejected frame of %s", async (dialect) => {
    const cases = rejects.filter((reject) => reject.dialect === dialect);
    const frames: unknown[] = [];
    const expected: string[] = [];
    for (const reject of cases) {
      expected.push(...reject.expect.map(({ frame, rule }) => `${frames.length + frame + 1}: ${rule}`));
      frames.push(...(reject.frames ?? []));
    }
    const { code, out } = await loom(["check", "--frames", "--json", "--dialect", dialect], { input: ndjson(frames) });
    expect(parseLines(out).map(({ line, rule }) => `${String(line)}: ${String(rule)}`)).toEqual(expected);
    expect(code).toBe(1);
    expect(cases.length).toBeGreaterThan(5);
  });
});

interface Reject {
  readonly dialect: DialectName;
  readonly mode: "frame" | "stream";
  readonly frames?: readonly unknown[];
  readonly fill?: unknown;
  readonly expect: readonly { readonly frame: number; readonly rule: string }[];
}

describe.concurrent("framing", () => {
  const lines = VALID.trimEnd().split("\n");
  const sse = `: a stream\n\nretry: 1000\n\n${lines.map((line, index) => `id: ${index}\nevent: message\ndata: ${line}\n\n`).join("")}`;

  test.each([
    ["server-sent events", sse, []],
    ["server-sent events with --framing", sse, ["--framing", "sse"]],
    ["server-sent events with CRLF", sse.replaceAll("\n", "\r\n"), []],
    ["server-sent events with several data lines", sse.replaceAll('"type":', '\ndata: "type":'), []],
    ["CRLF", VALID.replaceAll("\n", "\r\n"), []],
    ["a lone CR", VALID.replaceAll("\n", "\r"), []],
    ["a byte order mark", `\uFEFF${VALID}`, []],
    ["blank lines", `\n\n  \n${VALID.replaceAll("\n", "\n\n")}`, []],
    ["no line end at the end", VALID.trimEnd(), []],
  ])("reads %s", async (_name, input, options) => {
    expect(await loom(["check", ...options], { input })).toEqual({
      code: 0,
      out: "clean: 64 loom frames, 1 session, 1 run, 4 spans, 2 tool calls, 908 tokens\n",
      err: "",
    });
  });
});

/** Fields that a dialect cannot carry are normalized, so that everything else must be equal. */
function patch(frames: readonly unknown[], changes: (frame: EngineFrame, index: number) => void): unknown[] {
  return frames.map((frame, index) => {
    const copy = structuredClone(frame) as EngineFrame;
    changes(copy, index);
    return copy;
  });
}

interface EngineFrame {
  readonly type: string;
  readonly data: { [field: string]: unknown };
  readonly metadata: { [field: string]: unknown };
}

async function convert(input: string, ...args: readonly string[]): Promise<string> {
  const { code, out } = await loom(["convert", ...args], { input });
  expect(code, args.join(" ")).toBe(0);
  return out;
}

describe.concurrent("loom convert", () => {
  const engineRun = [
    { type: "session_start", data: { session_id: "chat-5", request_id: "req-77" } },
    { type: "thinking", data: { content: "A product; the calculator knows.", stage: "planning" } },
    { type: "tool_call_start", data: { tool_id: "c1", tool_name: "calculator", arguments: { expression: "6 * 7" } } },
    { type: "tool_call_end", data: { tool_id: "c1", status: "success", result: { value: 42 } } },
    { type: "content", data: { content: "6 × 7 是 " } },
    { type: "content", data: { content: "42.", is_complete: true } },
    { type: "session_end", data: { status: "completed", summary: { total_tokens: 58, tool_calls: 1 } } },
  ].map((message, sequence) => ({
    ...message,
    metadata: { request_id: "req-77", timestamp: 1_700_000_000_000 + sequence * 40, sequence },
  }));

  test("engine → loom → engine returns the same bytes", async () => {
    const asLoom = await convert(ndjson(engineRun), "--from", "engine", "--to", "loom");
    expect(await convert(asLoom, "--from", "loom", "--to", "engine")).toBe(ndjson(engineRun));
  });

  test("engine → loom → lumine → loom → engine loses only what the ledger lists", async () => {
    let text = ndjson(engineRun);
    for (const to of ["loom", "lumine", "loom", "engine"]) text = await convert(text, "--to", to);
    const expected = patch(engineRun, ({ type, data, metadata }) => {
      // 004 has no times, request IDs, thinking stages, completion flags or summaries.
      metadata["timestamp"] = 0;
      metadata["request_id"] = "req-1";
      if (type === "session_start") data["request_id"] = "req-1";
      delete data["stage"];
      delete data["is_complete"];
      delete data["summary"];
    });
    expect(parseLines(text)).toEqual(expected);
  });

  test("loom → export → loom loses only the envelope", async () => {
    const frames = framesOf("react-tools") as { [field: string]: unknown }[];
    const there = await convert(VALID, "--to", "export");
    const back = parseLines(await convert(there, "--from", "export", "--to", "loom", "--session", "sess-kyoto"));
    const envelope = new Set(["session_id", "run_id", "node_id", "event_id", "ts"]);
    const payload = (frame: { readonly [field: string]: unknown }) =>
      Object.fromEntries(
        Object.entries(frame).filter(
          ([field]) => !envelope.has(field) || (field === "run_id" && frame["type"] === "run_start"),
        ),
      );
    expect(back.map(payload)).toEqual(frames.map(payload));
    expect(back.map(({ session_id }) => session_id)).toEqual(frames.map(() => "sess-kyoto"));
    expect(back.map(({ event_id }) => event_id)).toEqual(frames.map((_, index) => index + 1));
  });

  test("--strict writes the 23 types of the specification, without other fields, and is read back", async () => {
    const strict = await convert(VALID, "--to", "loom", "--strict");
    const types = new Set(parseLines(strict).map(({ type }) => type));
    expect(types).toContain("custom");
    expect(
      [...types].filter((type) => ["llm_start", "reasoning_chunk", "tool_progress"].includes(String(type))),
    ).toEqual([]);
    expect(parseLines(await convert(VALID, "--to", "loom")).some(({ type }) => type === "llm_start")).toBe(true);
    const parts = (text: string) =>
      parseLines(text).map(({ event_id, type, reply, content }) => ({ event_id, type, reply, content }));
    expect(parts(await convert(strict, "--to", "loom"))).toEqual(parts(VALID));
    expect(strict).not.toMatch(/"(ts|contiguous|duration_ms":\d+,"is_error)"/);
  });

  test("--no-envelope omits session, node and event ids", async () => {
    const bare = parseLines(await convert(VALID, "--to", "loom", "--no-envelope"));
    expect(bare).toHaveLength(64);
    expect(bare.filter((frame) => "session_id" in frame || "event_id" in frame || "node_id" in frame)).toEqual([]);
  });

  test("--session names the session of frames without one", async () => {
    const bare = ndjson([
      { type: "message_chunk", content: "Hi", id: "agent" },
      { session_id: "own", type: "node_enter", id: "x" },
    ]);
    const [told, untold] = await Promise.all([
      convert(bare, "--to", "loom", "--session", "chat 9"),
      convert(bare, "--to", "loom"),
    ]);
    expect(parseLines(told).map(({ session_id }) => session_id)).toEqual(["chat 9", "own"]);
    expect(parseLines(untold).map(({ session_id }) => session_id)).toEqual(["session", "own"]);
  });

  test("--sse writes events that can be read back", async () => {
    const events = await convert(VALID, "--to", "loom", "--sse");
    expect(events).toMatch(/^(?:data: \{.*\}\n\n){64}$/);
    expect(await convert(events, "--to", "loom")).toBe(VALID);
  });

  test("counts omitted events with the reason on standard error", async () => {
    const { code, out, err } = await loom(["convert", "--to", "stream-event", validFile]);
    expect(code).toBe(0);
    expect(parseLines(out).length).toBeGreaterThan(5);
    const nodes = framesOf("react-tools").filter((frame) => (frame as { type?: string }).type === "node_enter").length;
    expect(err).toContain(`omitted: ${nodes} × node_enter (002 has no node runs)\n`);
    expect(
      err
        .trimEnd()
        .split("\n")
        .every((line) => /^omitted: \d+ × \w+ \(.+\)$/.test(line)),
    ).toBe(true);
    expect(await loom(["convert", "--to", "loom", validFile])).toMatchObject({ code: 0, err: "" });
  });

  test("reports rejected frames with their line and converts the rest", async () => {
    const lines = VALID.trimEnd().split("\n");
    const broken = [
      ...lines.slice(0, 3),
      "nonsense",
      ...lines.slice(3, 6),
      '{"type":"message_chunk","id":"x"}',
      ...lines.slice(6),
    ];
    const { code, out, err } = await loom(["convert", "--to", "loom"], { input: broken.join("\n") });
    expect(code).toBe(1);
    expect(out).toBe(VALID);
    const said = err.trimEnd().split("\n");
    expect(said).toHaveLength(2);
    expect(said[0]).toMatch(/^line 4: rejected frame-json \(001 §3\): not valid JSON/);
    expect(said[1]).toMatch(/^line 8: rejected field-missing \(001 §4\.2\): .*`content`/);
  });

  test("converts a frame that breaks only a rule, and reports it", async () => {
    const { code, out, err } = await loom(["convert", "--to", "loom"], {
      input: '{"type":"content","data":{"content":"Hi"}}\n',
    });
    expect(code).toBe(0);
    expect(parseLines(out).at(-1)).toMatchObject({ type: "message_chunk", content: "Hi" });
    expect(err).toBe("invalid: 1 frame, converted anyway; run `loom check` for details\n");
  });

  test("reports fifty rejected frames and counts the others", async () => {
    const { code, err } = await loom(["convert", "--from", "loom", "--to", "loom"], { input: "1\n".repeat(60) });
    expect(code).toBe(1);
    const said = err.trimEnd().split("\n");
    expect(said).toHaveLength(51);
    expect(said.at(-1)).toBe("rejected: 10 more frames");
  });
});

describe.concurrent("loom check --schema", () => {
  const ajv = new Ajv2020({ strict: false });

  test.each(DIALECT_NAMES)("prints the schema of %s and of each of its types", async (dialect) => {
    const types = Object.keys(dialectSchemas(DIALECTS[dialect]));
    const type = types.at(-1) ?? "";
    const [whole, single] = await Promise.all([
      loom(["check", "--schema", "--dialect", dialect]),
      loom(["check", "--schema", type, "--dialect", dialect]),
    ]);
    expect(whole).toMatchObject({ code: 0, err: "" });
    expect(single).toMatchObject({ code: 0, err: "" });
    const accepts = ajv.compile(JSON.parse(whole.out) as object);
    ajv.compile(JSON.parse(single.out) as object);
    for (const frame of framesOf("react-tools", dialect))
      expect(accepts(frame), JSON.stringify(accepts.errors)).toBe(true);
    expect(accepts({ type: 5 })).toBe(false);
  });

  test("prints the loom dialect by default", async () => {
    const [all, told, chunk] = await Promise.all([
      loom(["check", "--schema"]),
      loom(["check", "--schema", "--dialect", "loom"]),
      loom(["check", "--schema", "message_chunk"]),
    ]);
    expect(all).toEqual(told);
    const accepts = ajv.compile(JSON.parse(chunk.out) as object);
    expect(accepts({ type: "message_chunk", content: "Hi", id: "agent" })).toBe(true);
    expect(accepts({ type: "message_chunk", content: 5, id: "agent" })).toBe(false);
  });
});
