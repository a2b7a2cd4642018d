import { PassThrough } from "node:stream";
import { expect, it, vi } from "vitest";
import { TestTerminal } from "../../../test/test-terminal.ts";
import { openSession } from "../../engine/index.ts";
import { MemoryLog } from "../../log/index.ts";
import { LocalService } from "../sessions/local-service.ts";
import type { ChatBackend } from "./chat-backend.ts";
import { InputHistory } from "./input-history.ts";
import { ScreenChat } from "./screen-chat.ts";

it("shows no more of a run that is being cancelled before it has ended", async () => {
  const log = new MemoryLog();
  const session = await openSession(log, "s");
  const run = await session.startRun({ message: "Count" });
  const node = run.enter("think");
  await node.write("One");
  const service = new LocalService(log);
  const cancelled = Promise.withResolvers<void>();
  const send = service.send.bind(service);
  service.send = async (command) => cancelled.promise.then(() => send(command));
  let delivered = 0;
  const follow = service.followRecords.bind(service);
  service.followRecords = async function* (...args) {
    for await (const batch of follow(...args)) {
      yield batch;
      delivered = batch.lastId;
    }
  };
  const unused = async (): Promise<void> => undefined;
  const held = { agentName: "main", modelName: undefined, runFields: {}, hold: unused, release: unused };
  const backend = { ...held, service, missingTools: [] } as unknown as ChatBackend;
  const stdin = Object.assign(new PassThrough(), { setRawMode: () => stdin }) as unknown as NodeJS.ReadStream;
  const terminal = new TestTerminal(60, 20);
  const stdout = Object.assign(terminal, { on: () => stdout, off: () => stdout }) as unknown as NodeJS.WriteStream;
  const chat = new ScreenChat({
    backend,
    stdin,
    stdout,
    paint: (_style, text) => text,
    history: new InputHistory(),
    describeChat: (id) => `loom chat ${id}`,
    onReady: () => undefined,
  });
  const code = chat.run("s");
  await vi.waitFor(() => expect(terminal.shown).toContain("One"));
  stdin.push("\u0003");
  await vi.waitFor(() => expect(terminal.shown).toContain("cancelling"));
  await node.write(" two");
  const { lastId = 0 } = (await log.getSession("s")) ?? {};
  await vi.waitFor(() => expect(delivered).toBe(lastId));
  // Longer than it takes to draw.
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(terminal.shown).toContain("One");
  cancelled.resolve();
  await vi.waitFor(() => expect(terminal.shown).toContain("One two"));
  stdin.push("\u0004");
  expect(await code).toBe(0);
  await session.close();
});
