/**
 * Commands on sessions, in a store and on a server: `loom sessions`, `show`, `ingest`, `cancel`,
 * `approve`, and `loom run --server`. The services behind them are tested in src/cli/sessions.
 */
import { spawn, spawnSync } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { agent } from "../src/agents/index.ts";
import { openSession } from "../src/engine/index.ts";
import { MemoryLog, openSqliteLog } from "../src/log/index.ts";
import { ScriptedModel } from "../src/models/testing.ts";
import { openCredentials } from "../src/server/auth/credentials/open-credentials.ts";
import { startLoomServer } from "../src/server/index.ts";
import { defineTool } from "../src/tools/index.ts";
import { nodeArgs } from "./bundle-source.ts";
import { COMMAND, environment, folder, loom, parseLines, writeInput } from "./cli-run.ts";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy.ts";
import { LONG } from "./sampling.ts";

beforeAll(async () => {
  // Loaded here, because they take longer than a test may on a busy machine.
  await Promise.all([import("../src/cli/run-agent.ts"), import("../src/cli/sessions/run-control.ts")]);
});

const store = join(folder, "sessions.db");
const inStore = (...args: readonly string[]) => loom(args, { env: { LOOM_STORE: store } });

describe("sessions of a store", () => {
  test("are listed, shown, searched, copied, replayed and deleted", async () => {
    const missing = await inStore("sessions", "list");
    expect([missing.code, missing.err]).toEqual([
      2,
      expect.stringMatching(/there is no store .*\n +run an agent first/s),
    ]);
    const ran = await inStore("run", "--kb", "none", "--session", "first", "What is 6*7?");
    expect([ran.code, ran.out]).toEqual([0, "Offline model: 6*7 = 42.\n"]);
    expect((await inStore("sessions", "list")).out).toMatch(/^first +\d+ s +What is 6\*7\?\n$/);
    const [listed] = parseLines((await inStore("sessions", "list", "--json")).out);
    expect(listed).toMatchObject({ session_id: "first", title: "What is 6*7?" });
    const shown = await inStore("sessions", "show", "first");
    expect(shown.out).toMatch(/^session +first\ntitle +What is 6\*7\?\n.*\n\ncompleted +\d+ s +react +[\w-]{36}\n$/s);
    const found = await inStore("sessions", "search", "offline", "42");
    expect([found.code, found.out]).toEqual([0, expect.stringContaining("answer: Offline model: 6*7 = 42.")]);
    expect((await inStore("sessions", "search", "nothing")).code).toBe(1);

    const file = join(folder, "first.ndjson");
    expect((await inStore("sessions", "export", "first", "--output", file)).code).toBe(0);
    const piped = await inStore("sessions", "export", "first");
    expect(piped.out).toBe(readFileSync(file, "utf8"));
    const again = await inStore("sessions", "export", "first", "--output", file);
    expect([again.code, again.err]).toEqual([2, expect.stringContaining("exists already")]);
    expect(await inStore("sessions", "import", file, "--session", "second")).toMatchObject({
      code: 0,
      out: "second\n",
    });
    const listing = await inStore("sessions", "list");
    expect(listing.out).toMatch(/^second +\d+ s +What is 6\*7\?$/m);
    const repeated = await inStore("sessions", "import", file, "--session", "second");
    expect(repeated.err).toBe("imported 0 records\n");
    const fork = await inStore("sessions", "fork", "second", "--title", "Fork", "--json");
    expect(JSON.parse(fork.out)).toMatchObject({ title: "Fork", forked_from: { session_id: "second" } });

    const text = "› What is 6*7?\nOffline model: 6*7 = 42.\n";
    expect(await inStore("show", "second")).toEqual({ code: 0, out: text, err: "" });
    expect(await inStore("show", file)).toEqual({ code: 0, out: text, err: "" });
    const frames = await inStore("show", "first", "--dialect", "ag-ui");
    // A session is read without graph states; the file has them.
    const converted = (await loom(["convert", "--to", "ag-ui", file])).out.replaceAll(/^.*"STATE_.*\n/gm, "");
    expect(frames.out).toBe(converted);
    const runs = await inStore("sessions", "runs", "first", "--json");
    expect(parseLines(runs.out)).toMatchObject([{ status: "completed", agent: "react" }]);

    expect(await inStore("sessions", "rename", "seco", "Other", "title")).toEqual({ code: 0, out: "", err: "" });
    expect((await inStore("sessions", "show", "seco")).out).toMatch(/^session +second\ntitle +Other title\n/);
    expect((await inStore("sessions", "rename", "second")).err).toContain("`loom sessions rename` needs TITLE");
    await inStore("sessions", "fork", "second", "--session", "second-2");
    const unclear = await inStore("sessions", "export", "secon");
    expect([unclear.code, unclear.err]).toEqual([
      2,
      expect.stringMatching(/2 sessions have an ID that starts with `secon`\n +write more of it: second-2, second\n$/),
    ]);
    expect((await inStore("completion", "sessions")).out).toMatch(/^second-2\tOther title$/m);
    expect((await inStore("run", "--kb", "none", "--continue", "What is 2*3?")).out).toContain("6");
    expect((await inStore("show", "second-2")).out).toBe(`${text}\n› What is 2*3?\n2*3 = 6.\n`);
    const twice = await inStore("run", "--continue", "-s", "second", "x");
    expect([twice.code, twice.err]).toEqual([2, expect.stringContaining("cannot be used together")]);

    const unsure = await inStore("sessions", "delete", "second");
    expect([unsure.code, unsure.err]).toEqual([2, expect.stringContaining("add --yes")]);
    const deleted = await inStore("sessions", "delete", "second", "none", "--yes", "--json");
    expect([deleted.code, parseLines(deleted.out)]).toEqual([
      1,
      [
        { session_id: "second", deleted: true },
        { session_id: "none", deleted: false },
      ],
    ]);
    // The ID is the start of another one by now.
    for (const command of [
      ["sessions", "delete", "second", "--yes"],
      ["cancel", "second"],
      ["approve", "second", "--allow"],
    ]) {
      const repeated = await inStore(...command);
      expect([repeated.code, repeated.err]).toEqual([2, expect.stringContaining("no session `second`")]);
    }
    expect((await inStore("show", "second-2")).code).toBe(0);
  });

  test("are read without a change of their files", async () => {
    const own = join(folder, "unchanged");
    mkdirSync(own);
    const file = join(own, "store.db");
    const inOwn = (...args: readonly string[]) => loom(args, { env: { LOOM_STORE: file } });
    expect((await inOwn("run", "--kb", "none", "--session", "s", "What is 6*7?")).code).toBe(0);
    const list = () =>
      readdirSync(own)
        .toSorted()
        .map((name) => [name, statSync(join(own, name)).mtimeMs, readFileSync(join(own, name)).toString("base64")]);
    const before = list();
    for (const args of [
      ["sessions", "list"],
      ["sessions", "show", "s"],
      ["sessions", "export", "s"],
      ["sessions", "runs"],
    ])
      expect((await inOwn(...args)).code).toBe(0);
    expect((await inOwn("show", "s")).out).toContain("6*7 = 42");
    expect(list()).toEqual(before);
  });

  test("are read by no other thread, from a backup, and from a store that another process writes", async () => {
    const own = join(folder, "held");
    mkdirSync(own);
    const [file, backup] = [join(own, "store.db"), join(own, "backup")];
    const env = { LOOM_STORE: file, LOOM_KB: join(own, "none.db") };
    expect((await loom(["run", "--kb", "none", "--session", "s", "What is 6*7?"], { env })).code).toBe(0);
    expect((await loom(["store", "backup", backup], { env })).code).toBe(0);
    const log = await openSqliteLog(file);
    const session = await openSession(log, "live");
    const run = await session.startRun({ message: "Wait" });
    // With tokens, clients of a server see only the sessions of their owner.
    const credentials = openCredentials(`${file}-auth`);
    await credentials.createToken({ name: "her", owner: "her" });
    await credentials.close();
    await log.createSession("hers", { owner: "her" });
    let threads = 0;
    // All changes of a store are made in the thread of its writer.
    const count = (): number => threads++;
    subscribe("worker_threads", count);
    try {
      for (const args of [
        ["sessions", "list"],
        ["sessions", "show", "hers"],
        ["sessions", "runs"],
        ["show", "live"],
      ])
        expect([0, 3]).toContain((await loom(args, { env })).code);
      const listed = await loom(["sessions", "list", "--store", join(backup, "store.db"), "--json"], { env });
      expect(parseLines(listed.out)).toMatchObject([{ session_id: "s" }]);
      expect((await loom(["show", "s", "--store", join(backup, "store.db")], { env })).out).toContain("6*7 = 42");
    } finally {
      unsubscribe("worker_threads", count);
    }
    expect(threads).toBe(0);
    expect((await loom(["store", "verify", backup], { env })).out).toContain("nothing is damaged");
    await run.finish({ reply: "Done." });
    await session.close();
    await log.close();
  });

  test("of others are left alone by a run, and the audit log only grows", async () => {
    const own = join(folder, "alone");
    mkdirSync(own);
    const [file, audit] = [join(own, "store.db"), join(own, "audit.ndjson")];
    // The settings of a server.
    const env = {
      LOOM_STORE: file,
      LOOM_AUDIT_LOG: audit,
      LOOM_LIMITS: "audit-log-bytes=1",
      LOOM_RETENTION_AGE: "1ms",
    };
    const inOwn = (...args: readonly string[]) => loom(args, { env });
    expect((await inOwn("run", "--kb", "none", "--session", "old", "What is 6*7?")).code).toBe(0);
    const log = await openSqliteLog(file);
    const session = await openSession(log, "left");
    await session.startRun({ message: "Wait", agent: "react" });
    await session.close({ run: "leave" });
    await log.createSession("queued");
    const body = { run_id: "r", message: "Hello", agent: "react" };
    await log.submit({ commandId: "c", sessionId: "queued", kind: "enqueue", body });
    const exportAll = async () =>
      (await Promise.all(["old", "left"].map((id) => inOwn("sessions", "export", id)))).map(({ out }) => out);
    const before = await exportAll();
    expect((await inOwn("run", "--kb", "none", "--session", "new", "What is 5+8?")).code).toBe(0);
    for (const name of ["a", "b"]) expect((await inOwn("token", "create", name)).code).toBe(0);
    expect(await exportAll()).toEqual(before);
    expect((await log.listRuns("left")).map(({ status }) => status)).toEqual(["live"]);
    expect(await log.listPending("queued")).toHaveLength(1);
    await log.close();
    expect(readFileSync(audit, "utf8").trimEnd().split("\n")).toHaveLength(2);
    expect(existsSync(`${audit}.1`)).toBe(false);
  });

  test("are imported with their record IDs, also after an interruption", async () => {
    const own = join(folder, "import.db");
    const inOwn = (...args: readonly string[]) => loom(args, { env: { LOOM_STORE: own } });
    await inOwn("run", "--kb", "none", "--session", "from", "What is 6*7?");
    const lines = (await inOwn("sessions", "export", "from")).out.trimEnd().split("\n");
    const [half, whole] = [lines.slice(0, 4), lines].map((part, index) =>
      writeInput(`import-${index}.ndjson`, `${part.join("\n")}\n`),
    );
    expect((await inOwn("sessions", "import", half ?? "", "--session", "to")).err).toBe("imported 4 records\n");
    const rest = await inOwn("sessions", "import", whole ?? "", "--session", "to");
    expect(rest.err).toBe(`imported ${lines.length - 4} records\n`);
    const copy = await inOwn("sessions", "export", "to");
    expect(copy.out.replaceAll('"session_id":"to"', '"session_id":"from"')).toBe(`${lines.join("\n")}\n`);
  });

  test.runIf(LONG)("take an input of 100 MB", async () => {
    const chunk = { type: "message_chunk", id: "agent", content: "x".repeat(100_000) };
    const lines = [
      { type: "run_start", run_id: "r" },
      ...Array.from({ length: 1000 }, () => chunk),
      { type: "run_end", status: "completed" },
    ];
    const input = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    const recorded = await loom(["ingest", "--dialect", "loom", "--session", "large"], {
      input,
      env: { LOOM_STORE: join(folder, "large.db") },
    });
    expect([recorded.code, recorded.err]).toEqual([0, expect.stringContaining("recorded 1 run from 1002 frames")]);
  });

  test.runIf(LONG)("take the output of other agents, and name the frame that is wrong", async () => {
    const stream = [
      { type: "session_start", data: { session_id: "x", request_id: "q" } },
      { type: "content", data: { content: "Hello.", is_complete: true } },
      { type: "session_end", data: { status: "completed", summary: {} } },
    ].map((frame, sequence) =>
      JSON.stringify({ ...frame, metadata: { request_id: "q", timestamp: 1_700_000_000_000 + sequence, sequence } }),
    );
    const env = { LOOM_STORE: store };
    const input = `${stream.join("\n")}\n`;
    const recorded = await loom(["ingest", "--dialect", "engine", "--session", "other"], { input, env });
    expect(recorded).toEqual({
      code: 0,
      out: "other\n",
      err: "session other\nrecorded 1 run from 3 frames (engine)\n",
    });
    const broken = await loom(["ingest", "--session", "broken"], { input: `${stream[0]}\n{"type":"content"}\n`, env });
    expect([broken.code, broken.err]).toEqual([1, expect.stringContaining("what was before it is recorded")]);
    // A pipe shows that the run failed.
    const failed = await inStore("show", "broken");
    expect([failed.code, failed.out, failed.err]).toEqual([
      0,
      "",
      expect.stringMatching(/^run error \(ingest_invalid\): .+\n$/),
    ]);
    expect((await inStore("sessions", "runs", "broken")).out).toMatch(/^error \(ingest_invalid\) +\d+ d /);
    const empty = await loom(["ingest"], { input: "what\n", env });
    expect([empty.code, empty.err]).toEqual([
      2,
      expect.stringMatching(/^loom: [^]*set `--dialect` to[^]*`loom check` lists/),
    ]);
    const nothing = await loom(["ingest"], { input: "\n", env });
    expect([nothing.code, nothing.err]).toEqual([2, expect.stringMatching(/^loom: standard input is empty\n/)]);
    const unknown = await loom(["ingest"], { input: '{"type":"x"}\n', env });
    expect([unknown.code, unknown.err]).toEqual([2, expect.not.stringContaining("session ")]);
    const missing = await inStore("ingest", "nofile");
    expect(missing).toEqual({ code: 2, out: "", err: "loom: `nofile` does not exist\n" });
    const last = await inStore("show", "other");
    expect(last.out).toBe("Hello.\n");
  });

  test.runIf(LONG)("a run without a process can be decided on and cancelled", async () => {
    const log = await openSqliteLog(store);
    const session = await openSession(log, "waiting");
    const run = await session.startRun({ message: "Send" });
    for (const callId of ["a", "b"])
      void run.requestApproval({ callId, name: "send", arguments: { to: callId } }).catch(() => undefined);
    await run.settled();
    await session.close({ run: "leave" });
    await log.close();
    expect((await inStore("approve")).out).toBe('waiting  a  send {"to":"a"}\nwaiting  b  send {"to":"b"}\n');
    expect((await inStore("sessions", "runs")).out).toMatch(/^waits +\d+ s +waiting +[\w-]{36}\n$/);
    const unclear = await inStore("approve", "waiting", "--allow");
    expect([unclear.code, unclear.err]).toEqual([2, expect.stringMatching(/2 calls wait .*\n.*--call ID/s)]);
    const unknown = await inStore("approve", "waiting", "--call", "x", "--allow");
    expect(unknown).toEqual({ code: 1, out: "", err: "call `x` does not wait for approval; waiting: a, b\n" });
    const unknownJson = await inStore("approve", "waiting", "--call", "x", "--allow", "--json");
    expect(parseLines(unknownJson.out)).toMatchObject([{ session_id: "waiting", call_id: "x", code: "unknown_call" }]);
    expect((await inStore("approve", "--store", store)).err).toContain(
      `loom approve SESSION --allow --store ${store}, or`,
    );
    const denied = await inStore("approve", "waiting", "--call", "a", "--deny", "--reason", "not now");
    expect([denied.code, denied.out]).toEqual([0, "denied: send (call a)\n"]);
    expect(parseLines((await inStore("approve", "waiting", "--json")).out)).toMatchObject([{ call_id: "b" }]);
    const none = await inStore("cancel", "waiting", "--run", "x");
    expect([none.code, none.err]).toEqual([2, expect.stringMatching(/no run `x` in .*\n +list its runs with/)]);
    const cancelled = await inStore("cancel", "waiting", "--reason", "enough");
    expect([cancelled.code, cancelled.out]).toEqual([0, `cancelled: ${run.runId}\n`]);
    expect((await inStore("cancel", "waiting")).code).toBe(1);
    const ended = await inStore("cancel", "waiting", "--run", run.runId);
    expect([ended.code, ended.err]).toEqual([1, expect.stringContaining("is already cancelled")]);
    const idle = await inStore("cancel", "waiting", "--json");
    expect([idle.code, idle.err]).toEqual([1, ""]);
    expect(parseLines(idle.out)).toMatchObject([{ session_id: "waiting", result: "refused", code: "unknown_run" }]);
    const endedJson = await inStore("cancel", "waiting", "--run", run.runId, "--json");
    expect(parseLines(endedJson.out)).toMatchObject([{ run_id: run.runId, result: "refused", code: "run_ended" }]);
    expect(await inStore("show", "waiting")).toEqual({
      code: 0,
      out: "› Send\n",
      err: "run cancelled: enough\n",
    });
    expect((await inStore("approve", "waiting")).code).toBe(1);
  });

  test("a run that has not ended is live, or interrupted if its process ended", async () => {
    const log = await openSqliteLog(store);
    const session = await openSession(log, "unfinished");
    const run = await session.startRun({ message: "Tell me", agent: "tot" });
    await run.enter("think").write("Once upon");
    const show = ["show", "unfinished"];
    const live = "the run is live; to follow it: loom show unfinished --follow\n";
    expect(await inStore(...show)).toEqual({ code: 3, out: "› Tell me\nOnce upon\n", err: live });
    expect((await inStore("sessions", "runs", "unfinished")).out).toMatch(/^live /);
    const cut = writeInput("cut.ndjson", (await inStore("sessions", "export", "unfinished")).out);
    const recorded = await inStore("show", cut);
    const short = "the recording ends before its run has ended\n";
    expect(recorded).toEqual({ code: 3, out: "› Tell me\nOnce upon\n", err: short });
    const tail = spawn(process.execPath, [...nodeArgs(), COMMAND, "show", "unfinished", "--follow"], {
      cwd: folder,
      env: environment({ LOOM_STORE: store }),
    });
    const shown = { out: "", err: "" };
    tail.stdout.setEncoding("utf8").on("data", (text: string) => (shown.out += text));
    tail.stderr.setEncoding("utf8").on("data", (text: string) => (shown.err += text));
    await vi.waitFor(() => expect(shown.out).toBe("› Tell me\n"), 20_000);
    await session.close({ run: "leave" });
    const resume = "to continue it: loom run --session unfinished --agent tot --resume";
    const interrupted = `the run is interrupted, because its process ended; ${resume}\n`;
    expect(await inStore(...show)).toMatchObject({ code: 3, err: interrupted });
    expect((await inStore("sessions", "runs", "unfinished")).out).toMatch(/^interrupted /);
    expect((await inStore("sessions", "show", "unfinished")).out).toMatch(/^interrupted /m);
    const runs = await inStore("sessions", "runs");
    expect([runs.out, runs.err]).toEqual([expect.stringMatching(/^interrupted /), interrupted]);
    expect(parseLines((await inStore("sessions", "runs", "--json")).out)).toMatchObject([{ status: "interrupted" }]);
    await vi.waitFor(() => expect(shown.err).toBe(interrupted), 20_000);
    tail.kill("SIGINT");
    await new Promise((resolve) => tail.on("close", resolve));
    expect((await inStore("cancel", "unfinished")).code).toBe(0);
    expect((await inStore(...show)).code).toBe(0);
    await log.close();
  });

  test("a run continues with the decisions of another process", async () => {
    const workspace = join(folder, "approved");
    mkdirSync(workspace);
    const run = ["run", "--kb", "none", "--workspace", workspace, "--session", "agent"];
    expect((await inStore(...run, "Write hello to a.txt and write bye to b.txt")).code).toBe(3);
    const decided = await inStore("approve", "agent", "--allow", "--all", "--store", store);
    expect(decided.err).toContain(`loom run --session agent --store ${store} --workspace DIR --resume\n`);
    expect([decided.code, decided.out.match(/^allowed: write_file /gm)?.length]).toEqual([0, 2]);
    // Without the tool, the run keeps waiting for it.
    const missing = await inStore("run", "--kb", "none", "--session", "agent", "--resume");
    expect([missing.code, missing.err]).toEqual([3, expect.stringContaining("not available here: write_file\n")]);
    expect(missing.err).toContain("\n  loom run --session agent --kb none --workspace DIR --resume\n");
    const start = run.map((word) => (word === "agent" ? "agen" : word));
    expect((await inStore(...start, "--resume")).code).toBe(0);
    expect(["a.txt", "b.txt"].map((name) => readFileSync(join(workspace, name), "utf8"))).toEqual(["hello", "bye"]);
  });

  test.runIf(LONG)("errors say what to do next", async () => {
    const hints: readonly (readonly [args: readonly string[], code: number, text: RegExp])[] = [
      [["sessions", "show", "none"], 2, /no session `none` in this store\n +list the sessions with/],
      [["sessions", "list", "--store", folder], 2, new RegExp(`\\(\`${folder}\`\\)\n +check the path`)],
      [
        ["sessions", "list", "--store", writeInput("text.db", "text\n".repeat(200))],
        2,
        /not a store.*text\.db`\)\n +check/,
      ],
      [["sessions", "delete"], 2, /needs SESSION or --owner/],
      [["sessions", "delete", "x", "--audit-log", "y"], 2, /`--audit-log` needs `--owner`/],
      [["sessions", "delete", "x", "--owner", "y", "--yes"], 2, /`--owner` and SESSION cannot be used together/],
      [["sessions", "delete", "--owner", "y"], 2, /this deletes everything of owner `y` in .*\n +add --yes/],
      [["sessions", "list", "--limit", "0"], 2, /`--limit 0` is not a number/],
      [["sessions", "export", "none"], 2, /no session `none` in this store\n +list/],
      [["sessions", "fork", "none"], 2, /no session `none` in this store\n +list/],
      [["sessions", "delete", "none", "--yes"], 2, /^loom: no session `none` in this store\n$/],
      [["show", "none"], 2, /there is no file `none`, and no session `none` in this store\n +list the sessions with/],
      [["sessions", "show", "none", "--store", store], 2, new RegExp(`list --store ${store}\``)],
      [["show", "none", "--from", "loom"], 2, /there is no file `none`/],
      [["show", "none", "--speed", "fast"], 2, /`--speed fast` is not a number of at least 0.01/],
      [["show", "none", "--speed", "1", "--follow"], 2, /`--follow` and `--speed` cannot be used together/],
      [["show", "other", "--modes", "tools"], 2, /`--modes` needs `--events`/],
      [["show", "other", "--after", "1.x.y", "--events"], 2, /\n +pass a cursor that `loom show --follow` printed/],
      [["show", "other", "--json"], 2, /use `--events`/],
      [["sessions", "fork", "other", "--before", "x"], 2, /\n +list the runs with `loom sessions runs/],
      [["approve", "--allow"], 2, /need a SESSION/],
      [["approve", "other", "--reason", "x"], 2, /`--reason` needs `--deny`/],
      [["approve", "other", "--all"], 2, /`--all` needs `--allow` or `--deny`/],
      [["approve", "other", "--all", "--allow", "--call", "x"], 2, /`--all` and `--call` cannot be used together/],
      [["sessions", "runs", "--limit", "1"], 2, /`--limit` needs SESSION/],
      [["sessions", "list", "--token-file", "t"], 2, /`--token-file` needs `--server URL`/],
      [["sessions", "list", "--server", "ftp://x"], 2, /--server: ftp:\/\/x is not an http/],
      [["sessions", "list", "--server", "http://a:b@x"], 2, /use `--token-file FILE`/],
      [["sessions", "list", "--server", "http://x", "--store", store], 2, /cannot be used together/],
    ];
    for (const [args, code, text] of hints) {
      const { err, ...ran } = await inStore(...args);
      expect([args, ran.code]).toEqual([args, code]);
      expect(err).toMatch(text);
    }
  });
});

describe("sessions of a server", () => {
  const tool = defineTool({
    name: "send",
    description: "Sends.",
    input: z.object({ to: z.string() }),
    approval: "always",
    execute: () => "sent",
  });
  /** Words of the answer that are sent while the gate is open. */
  let gate = Promise.withResolvers<void>();
  const log = new MemoryLog();
  const closing: (() => Promise<unknown>)[] = [];
  const tokenFile = join(folder, "token");
  let proxy: TcpProxy;
  let env: { readonly [name: string]: string };
  const onServer = (...args: readonly string[]) => loom(args, { env });

  beforeAll(async () => {
    const credentials = openCredentials(":memory:");
    const { secret } = await credentials.createToken({
      name: "me",
      owner: "me",
      scopes: ["read", "write", "run", "approve", "ingest"],
    });
    const model = new ScriptedModel(
      ({ prompt }) => {
        const asked = JSON.stringify(prompt.at(-1));
        if (asked.includes("send") && !asked.includes("tool-result"))
          return { calls: [{ name: "send", input: { to: "Ann" } }] };
        return { text: asked.includes("wait") ? "one two three" : "Done, 完成." };
      },
      { chunk: 4 },
    );
    const slow = agent({
      model: {
        ...pick(model),
        async doStream(request: Parameters<typeof model.doStream>[0]) {
          const { stream } = await model.doStream(request);
          const isSlow = JSON.stringify(request.prompt.at(-1)).includes("wait");
          const paced = new TransformStream({
            async transform(part: { readonly type: string }, controller) {
              controller.enqueue(part);
              if (isSlow && part.type === "text-delta") await gate.promise;
            },
          });
          return { stream: stream.pipeThrough(paced) };
        },
      },
      tools: [tool],
    });
    const options = { log, agents: { main: slow }, auth: { credentials } };
    // The server must know the address of the proxy, and the proxy that of the server.
    const first = await startLoomServer({ ...options, port: 0 });
    const port = Number(new URL(first.url).port);
    await first.close({ graceMs: 0 });
    proxy = await startTcpProxy(port);
    const server = await startLoomServer({ ...options, port, hosts: [`127.0.0.1:${proxy.port}`] });
    closing.push(
      () => proxy.close(),
      () => server.close({ graceMs: 0 }),
      () => credentials.close(),
    );
    writeFileSync(tokenFile, `${secret}\n`);
    chmodSync(tokenFile, 0o600);
    env = {
      LOOM_SERVER: `http://127.0.0.1:${proxy.port}`,
      LOOM_TOKEN_FILE: tokenFile,
      LOOM_STORE: join(folder, "unused.db"),
    };
  });
  afterAll(async () => {
    for (const close of closing) await close();
  });

  const pick = ({ specificationVersion, provider, modelId }: ScriptedModel) => ({
    specificationVersion,
    provider,
    modelId,
  });

  test.runIf(LONG)("run, list, read, record and delete as in a store", async () => {
    expect(await onServer("run", "--session", "s", "Hello")).toMatchObject({ code: 0, out: "Done, 完成.\n" });
    const frames = await onServer("run", "--session", "s", "--json", "--strict", "Hello again");
    expect(parseLines(frames.out).at(-1)).toMatchObject({ reply: "Done, 完成." });
    expect((await onServer("sessions", "list")).out).toMatch(/^s +\d+ s +Hello\n$/);
    const exported = await onServer("sessions", "export", "s");
    const file = writeInput("remote.ndjson", exported.out);
    expect(await onServer("sessions", "import", file, "--session", "t")).toMatchObject({ code: 0, out: "t\n" });
    expect((await onServer("sessions", "list")).out).toMatch(/^t +\d+ s +Hello$/m);
    expect((await onServer("show", "t")).out).toBe("› Hello\nDone, 完成.\n\n› Hello again\nDone, 完成.\n");
    expect((await onServer("sessions", "import", file)).err).toMatch(/exists on the server\n +choose another ID/);
    expect((await onServer("ingest", "nofile")).err).toBe("loom: `nofile` does not exist\n");
    expect(await onServer("sessions", "delete", "t", "--yes")).toMatchObject({ code: 0, out: "deleted: t\n" });
    const local = await onServer("sessions", "list", "--store", store, "--json");
    expect(parseLines(local.out).map(({ session_id }) => session_id)).toContain("first");
  });

  test("calls that wait are listed, denied and allowed, and runs are cancelled", async () => {
    const waits = await onServer("run", "--session", "w", "send it");
    expect([waits.code, waits.err]).toEqual([3, expect.stringContaining("loom run --session w --resume")]);
    expect((await onServer("approve")).out).toMatch(/^w +\S+ +send \{"to":"Ann"\}\n$/);
    expect(await onServer("approve", "w", "--allow")).toMatchObject({ code: 0, err: "" });
    await vi.waitFor(async () => expect((await log.listRuns("w"))[0]?.status).toBe("completed"));
    const never = await onServer("run", "--session", "w", "--approve", "never", "send it");
    expect([never.code, never.out]).toEqual([0, "Done, 完成.\n"]);
    gate = Promise.withResolvers();
    const running = onServer("run", "--session", "w", "please wait");
    await vi.waitFor(async () => expect((await log.listRuns("w"))[0]?.status).toBe("live"));
    const cancel = await loom(["cancel", "w"], { env, isChild: true });
    gate.resolve();
    expect([cancel.code, cancel.out]).toEqual([0, expect.stringContaining("cancelled: ")]);
    expect((await running).code).toBe(130);
  });

  test.runIf(LONG)("a run and what follows it continue after the connection was cut", async () => {
    gate = Promise.withResolvers();
    const start = (...args: readonly string[]) => {
      const child = spawn(process.execPath, [...nodeArgs(), COMMAND, ...args], { cwd: folder, env: environment(env) });
      const shown = { out: "", err: "" };
      child.stdout.setEncoding("utf8").on("data", (text: string) => (shown.out += text));
      child.stderr.setEncoding("utf8").on("data", (text: string) => (shown.err += text));
      child.stdin.end();
      return { child, shown, ended: new Promise<number | null>((resolve) => child.on("close", resolve)) };
    };
    const tail = start("show", "s", "--follow");
    const run = start("run", "--session", "s", "please wait");
    const frames = start("show", "s", "--follow", "--events");
    // A pipe gets text when its step has ended, and frames at once.
    await vi.waitFor(() => expect(tail.shown.out).toContain("› please wait\n"));
    await vi.waitFor(() => expect(frames.shown.out).toContain('"one '));
    proxy.setUp(false);
    gate.resolve();
    await vi.waitFor(async () => expect((await log.listRuns("s"))[0]?.status).toBe("completed"));
    proxy.setUp(true);
    expect([await run.ended, run.shown.out]).toEqual([0, "one two three\n"]);
    for (const { shown } of [tail, frames]) expect(shown.err).toContain("connection lost");
    await vi.waitFor(() =>
      expect(tail.shown.out).toMatch(/› Hello\nDone, 完成\.\n[^]*› please wait\none two three\n$/),
    );
    for (const { child } of [tail, frames]) child.kill("SIGINT");
    expect([await tail.ended, await frames.ended]).toEqual([130, 130]);
    const [, cursor = ""] = /to continue: loom show s --after (\S+) --follow\n$/.exec(tail.shown.err) ?? [];
    expect(cursor).toMatch(/^\d+\./);
  });

  test("a wrong token, address or option is explained", async () => {
    const wrong = await loom(["sessions", "list"], { env: { ...env, LOOM_TOKEN_FILE: writeInput("wrong", "x\n") } });
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringMatching(/\n +create a token on the server/)]);
    expect(wrong.err).toContain("is readable by other users; run chmod 600");
    const none = await loom(["sessions", "runs"], { env: { ...env, LOOM_TOKEN_FILE: join(folder, "no-token") } });
    expect(none.err).toContain("cannot read the token");
    const away = await loom(["sessions", "runs"], { env: { ...env, LOOM_SERVER: "http://127.0.0.1:2" } });
    expect(away.err).toMatch(/Cannot reach http:\/\/127\.0\.0\.1:2: connection refused\n +check that the server runs/);
    const option = await onServer("run", "--workspace", "w", "x");
    expect(option.err).toContain("`--workspace` does not apply to a run on a server");
    const agents = await onServer("run", "--agent", "none", "x");
    expect([agents.code, agents.err]).toEqual([2, expect.stringContaining("the message was not accepted")]);
    expect((await onServer("show", "none")).err).toContain("and no session `none` on the server");
    const url = env["LOOM_SERVER"] ?? "";
    const resumed = await loom(["run", "--session", "none", "--resume", "--server", url], { env });
    expect([resumed.code, resumed.err]).toEqual([2, expect.stringContaining(`loom sessions list --server ${url}\``)]);
  });

  test("an owner is erased, with its token", async () => {
    await onServer("run", "--session", "last", "Hello");
    const other = await onServer("sessions", "delete", "--owner", "you", "--yes");
    expect([other.code, other.err]).toEqual([2, expect.stringContaining("Only `admin` may erase another owner")]);
    const erased = await onServer("sessions", "delete", "--owner", "me", "--yes");
    expect([erased.code, erased.out]).toEqual([
      0,
      expect.stringMatching(/^erased: me \(\d+ sessions?, 0 files, 1 token,/),
    ]);
    expect(await log.getSession("last")).toBeUndefined();
    expect((await onServer("sessions", "list")).code).toBe(2);
  });
});

const hasPty = process.platform !== "win32" && spawnSync("script", ["--version"]).status === 0;

describe("on a terminal of 80 columns", () => {
  test.runIf(LONG && hasPty)(
    "shows tables with a head, steps, asks before it deletes, and obeys NO_COLOR",
    async () => {
      const own = join(folder, "terminal.db");
      const log = await openSqliteLog(own);
      const session = await openSession(log, "first");
      const run = await session.startRun({ message: "What is 6*7?" });
      await run.finish({ reply: "It is 42." });
      await session.close();
      await log.close();
      const quoted = [process.execPath, ...nodeArgs(), COMMAND].map((word) => `'${word}'`).join(" ");
      const commands = [
        "stty cols 80 rows 24",
        `${quoted} sessions list`,
        "echo plain",
        `NO_COLOR=1 ${quoted} sessions list`,
        `${quoted} sessions delete first`,
        "echo code $?",
      ];
      const child = spawn("script", ["-qec", commands.join("; "), "/dev/null"], {
        cwd: folder,
        env: environment({ LOOM_STORE: own, TERM: "xterm-256color", SHELL: "/bin/sh" }),
      });
      let shown = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => (shown += text));
      const ended = new Promise((resolve) => child.on("close", resolve));
      await vi.waitFor(() => expect(shown.split("plain")[1]).toContain("first"), { timeout: 25_000 });
      await vi.waitFor(() => expect(shown).toContain("cannot be undone. [y]es, [n]o:"), { timeout: 25_000 });
      child.stdin.write("n\r");
      await ended;
      expect(shown).toContain("nothing was deleted");
      expect(shown).not.toContain("It is 42.");
      expect(shown).toContain("code 2");
      const [coloured = "", plain = ""] = shown.split("plain");
      expect(coloured).toContain("\u001B[2mSESSION");
      expect(plain.slice(0, plain.indexOf("first"))).not.toContain("\u001B[2m");
      for (const line of stripVTControlCharacters(coloured).split("\n"))
        expect(line.trimEnd().length).toBeLessThanOrEqual(80);
    },
  );
});
