import { PassThrough, Readable, Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { agent } from "../../agents/index.ts";
import { type Log, MemoryLog } from "../../log/index.ts";
import { ScriptedModel } from "../../models/testing.ts";
import { defineTool } from "../../tools/index.ts";
import { parseCommand } from "../command.ts";
import { RUN } from "../commands.ts";
import { createTerminal } from "../terminal.ts";
import type { Person } from "./ask-person.ts";
import { readRunOptions } from "./read-run-options.ts";
import { SessionKeeper } from "./session-keeper.ts";
import { WatchedRun } from "./watched-run.ts";

const tool = defineTool({
  name: "write_file",
  description: "Writes.",
  input: z.object({}),
  approval: "always",
  execute: () => "written",
});

/** A process with an agent and somebody at its terminal. */
async function startShell(log: Log, tools: readonly (typeof tool)[], message?: string) {
  const said = { out: "", err: "" };
  const open = (name: "out" | "err") =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        said[name] += chunk.toString();
        done();
      },
    }) as unknown as NodeJS.WriteStream;
  const terminal = createTerminal(Readable.from([]) as unknown as NodeJS.ReadStream, open("out"), open("err"));
  const [keys, screen] = [new PassThrough(), new PassThrough()];
  let shown = "";
  screen.setEncoding("utf8").on("data", (chunk: string) => (shown += stripVTControlCharacters(chunk)));
  const person = { input: keys, output: screen, close: () => undefined } as unknown as Person;
  const options = await readRunOptions(
    parseCommand(RUN, ["--session", "s", message ?? "--resume"]),
    { stdin: { isTTY: true } } as unknown as typeof terminal,
    {},
  );
  if (message !== undefined) {
    await log.createSession("s");
    await log.submit({ commandId: message, sessionId: "s", kind: "enqueue", body: { run_id: message, message } });
  }
  // The first is asked, and those after it go on.
  const done = { text: "Done." };
  const model = new ScriptedModel(
    message === undefined ? [done] : [{ calls: [{ name: "write_file", input: {} }] }, done],
  );
  const helper = agent({ model, tools });
  const onHeld = (): void => undefined;
  const keeper = new SessionKeeper({ log, sessionId: "s", agent: helper, onError: () => undefined, onHeld });
  const target = { runId: "r", after: 0 };
  const code = new WatchedRun(log, options, target, keeper, terminal, person).watch();
  return {
    code,
    keeper,
    said,
    asked: () => vi.waitFor(() => expect(shown).toContain("show all")),
    type: (text: string) => keys.write(text),
  };
}

const statusOf = async (log: Log) => (await log.getRun("s", "r"))?.status;

describe("WatchedRun", () => {
  test("leaves a run that waits for consent waiting when it is told to end", async () => {
    const log = new MemoryLog();
    const listeners = process.listenerCount("SIGTERM");
    const { code, keeper, asked, said } = await startShell(log, [tool], "r");
    await asked();
    process.emit("SIGTERM");
    expect(await code).toBe(3);
    expect(said.err).toContain("the run is left waiting");
    await keeper[Symbol.asyncDispose]();
    expect(await statusOf(log)).toBe("live");
    expect(process.listenerCount("SIGTERM")).toBe(listeners);
    // And cancels it when the person says so.
    const next = await startShell(log, [tool]);
    await next.asked();
    next.type("\u0003");
    expect(await next.code).toBe(130);
    expect(await statusOf(log)).toBe("cancelled");
    await next.keeper[Symbol.asyncDispose]();
  });

  test("leaves a run that comes here without its tools, though somebody could answer", async () => {
    const log = new MemoryLog();
    const first = await startShell(log, [tool], "r");
    await first.asked();
    const second = await startShell(log, []);
    await second.asked();
    await first.keeper[Symbol.asyncDispose]();
    expect(await second.code).toBe(3);
    expect(second.said.err).toContain("it cannot go on here without its tools: write_file\n");
    expect(second.said.err).toContain("loom run --session s --workspace DIR --resume\n");
    await second.keeper[Symbol.asyncDispose]();
    expect(await statusOf(log)).toBe("live");
    process.emit("SIGTERM");
    expect(await first.code).toBe(3);
    // With its tools it goes on.
    const third = await startShell(log, [tool]);
    await third.asked();
    third.type("y\r");
    expect([await third.code, third.said.out]).toEqual([0, "Done.\n"]);
    await third.keeper[Symbol.asyncDispose]();
  });
});
