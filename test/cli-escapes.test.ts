/** No command changes the terminal with a name or a text that a user, a model or a tool has written. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { openSession } from "../src/engine/index.ts";
import { openSqliteLog } from "../src/log/index.ts";
import { folder, loom, ndjson, writeInput } from "./cli-run.ts";

/** The ID of a session cannot have control characters. */
const ID = "a\u202Eb";
/** Changes the colour, the direction of the text, the title of the window and the line. */
const HOSTILE = "a\u009B31m\u202E\u001B]0;x\u0007\r\u2028";
const STREAM = join(folder, "hostile.ndjson");
const env = { LOOM_STORE: join(folder, "escapes.db"), LOOM_KB: join(folder, "escapes-kb.db") };

beforeAll(async () => {
  const log = await openSqliteLog(env.LOOM_STORE);
  for (const id of [ID, "waiting"]) {
    const session = await openSession(log, id);
    const run = await session.startRun({ message: HOSTILE, agent: HOSTILE });
    const node = run.enter(HOSTILE);
    await node.write(HOSTILE);
    if (id === ID) await run.fail({ message: HOSTILE, code: "failed", recoverable: false });
    else {
      const call = { call_id: HOSTILE, name: HOSTILE, arguments: { [HOSTILE]: HOSTILE } };
      await run.emit({ type: "tool_call", ...call });
      await run.emit({ type: "tool_approval", ...call });
    }
    await session.close({ run: "leave" });
    const body = { run_id: HOSTILE, message: HOSTILE, agent: HOSTILE };
    await log.submit({ commandId: id, sessionId: id, kind: "enqueue", body });
    await log.updateSession(id, { title: HOSTILE });
  }
  await log.close();
  const documents = join(folder, "hostile");
  mkdirSync(documents);
  writeFileSync(join(documents, "\u202E\u009B.md"), `# ${HOSTILE}\n\nHello ${HOSTILE}\n`);
  await loom(["kb", "add", documents], { env });
  await loom(["token", "create", "x\u202E\u009B", "--owner", "o\u202E\u009B"], { env });
  const frames = [{ type: "run_start", message: HOSTILE, agent: HOSTILE }, { type: HOSTILE }];
  writeInput("hostile.ndjson", ndjson(frames.map((frame) => ({ session_id: ID, run_id: HOSTILE, ts: 1, ...frame }))));
});

test.each<readonly string[]>([
  ["sessions", "list"],
  ["sessions", "list", "--json"],
  ["sessions", "search", "a"],
  ["sessions", "show", ID],
  ["sessions", "show", "waiting", "--json"],
  ["sessions", "export", ID],
  ["sessions", "show", HOSTILE],
  ["show", ID],
  ["show", "waiting", "--events"],
  ["sessions", "runs"],
  ["sessions", "runs", ID],
  ["approve"],
  ["cancel", "waiting", "--run", HOSTILE],
  ["kb", "list"],
  ["kb", "search", "hello"],
  ["kb", "remove", HOSTILE],
  ["token", "list"],
  ["token", "revoke", HOSTILE],
  ["check", STREAM],
  ["check", STREAM, "--json"],
  ["convert", "--to", "ag-ui", STREAM],
  ["convert", "--to", "loom", "--sse", STREAM],
])("%j", async (...args) => {
  const { out, err } = await loom(args, { env, isTerminal: true, isScreen: true });
  // oxlint-disable-next-line no-control-regex -- the styles and the progress of this package
  const text = `${out}${err}`.replaceAll(/\u001B\[[\d;]*[mK]|\r\u001B\[K|\n/g, "");
  expect(text).not.toBe("");
  expect(text).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E]/u);
});
