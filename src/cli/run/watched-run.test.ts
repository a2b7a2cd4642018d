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
import { LocalService } from "../sessions/local-service.ts";
import { createTerminal } from "../terminal.ts";
import type { PromptTerminal } from "./prompt-for-approval.ts";
import { readRunOptions } from "./read-run-options.ts";
import { SessionHolder } from "./session-holder.ts";
import { WatchedRun } from "./watched-run.ts";

const tool = defineTool({
  name: "write_file",
  description: "Writes.",
  input: z.object({}),
  approval: "always",
  execute: () => "written",
});

/** Starts a process with an agent and a user at its terminal. */
async function startShell(log: Log, tools: readonly (typeof tool)[], message?: string, args: readonly string[] = []) {
  const written = { out: "", err: "" };
  const open = (name: "out" | "err") =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        written[name] += chunk.toString();
        done();
      },
    }) as unknown as NodeJS.WriteStream;
  const terminal = createTerminal(Readable.from([]) as unknown as NodeJS.ReadStream, open("out"), open("err"));
  const [keys, screen] = [new PassThrough(), new PassThrough()];
  let shown = "";
  screen.setEncoding("utf8").on("data", (chunk: string) => (shown += stripVTControlCharacters(chunk)));
  const promptTerminal = { input: keys, output: screen, close: () => undefined } as unknown as PromptTerminal;
  const options = await readRunOptions(
    parseCommand(RUN, ["--session", "s", ...args, message ?? "--resume"]),
    { stdin: { isTTY: true } } as unknown as typeof terminal,
    {},
  );
  if (message !== undefined) {
    await log.createSession("s");
    await log.submit({ commandId: message, sessionId: "s", kind: "enqueue", body: { run_id: message, message } });
  }
  // The first call needs approval; the answer follows.
  const done = { text: "Done." };
  const model = new ScriptedModel(
    message === undefined ? [done] : [{ calls: [{ name: "write_file", input: {} }] }, done],
  );
  const helper = agent({ model, tools });
  const onHeld = (): void => undefined;
  const holder = new SessionHolder({
    log,
    sessionId: "s",
    agent: helper,
    agentName: "react",
    cancelCommand: "loom cancel s",
    onError: () => undefined,
    onHeld,
    onOtherAgent: () => undefined,
  });
  const target = { runId: "r", after: 0 };
  const code = new WatchedRun(new LocalService(log), options, target, holder, terminal, promptTerminal).watch();
  return {
    code,
    holder,
    written,
    asked: () => vi.waitFor(() => expect(shown).toContain("[s]how all")),
    type: (text: string) => keys.write(text),
  };
}

const statusOf = async (log: Log) => (await log.getRun("s", "r"))?.status;

describe("WatchedRun", () => {
  test("leaves a run that waits for approval waiting on SIGTERM, and cancels it on Ctrl-C", async () => {
    const log = new MemoryLog();
    const listeners = process.listenerCount("SIGTERM");
    const { code, holder, asked, written } = await startShell(log, [tool], "r");
    await asked();
    process.emit("SIGTERM");
    expect(await code).toBe(3);
    expect(written.err).toContain("the run is left waiting");
    await holder[Symbol.asyncDispose]();
    expect(await statusOf(log)).toBe("live");
    expect(process.listenerCount("SIGTERM")).toBe(listeners);
    const next = await startShell(log, [tool]);
    await next.asked();
    next.type("\u0003");
    // A second signal does not wait for the run.
    const exit = vi.spyOn(process, "exit").mockReturnValue(undefined as never);
    process.emit("SIGINT");
    expect(exit).toHaveBeenCalledExactlyOnceWith(130);
    exit.mockRestore();
    expect(await next.code).toBe(130);
    expect(await statusOf(log)).toBe("cancelled");
    await next.holder[Symbol.asyncDispose]();
  });

  test("leaves a run waiting if its tools are missing here", async () => {
    const log = new MemoryLog();
    const first = await startShell(log, [tool], "r");
    await first.asked();
    const system = "word ".repeat(1000);
    const second = await startShell(log, [], undefined, ["--system", system]);
    await second.asked();
    await first.holder[Symbol.asyncDispose]();
    expect(await second.code).toBe(3);
    expect(second.written.err).toContain("it needs tools that are not available here: write_file\n");
    expect(second.written.err).toContain(`loom run --session s --system '${system}' --workspace DIR --resume\n`);
    await second.holder[Symbol.asyncDispose]();
    expect(await statusOf(log)).toBe("live");
    process.emit("SIGTERM");
    expect(await first.code).toBe(3);
    // With its tools, the run continues.
    const third = await startShell(log, [tool]);
    await third.asked();
    third.type("y\r");
    expect([await third.code, third.written.out]).toEqual([0, "Done.\n"]);
    await third.holder[Symbol.asyncDispose]();
  });
});
