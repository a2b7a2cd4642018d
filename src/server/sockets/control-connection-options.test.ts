import { expect, it } from "vitest";
import { makeRun, writeRecords } from "../../../test/log-sessions.ts";
import { MemoryLog } from "../../log/index.ts";
import { ControlConnection, type ControlConnectionOptions } from "./control-connection.ts";

it("takes both options for room or neither, and undefined as neither", async () => {
  const log = new MemoryLog();
  await writeRecords(log, makeRun("run-1"));
  const frames: unknown[] = [];
  const send = (text: string): void => void frames.push(JSON.parse(text));
  const absent = { hasRoom: undefined, whenRoom: undefined } as unknown as Partial<ControlConnectionOptions>;
  const connection = new ControlConnection({ log, heartbeatMs: 0, ...absent, send });
  connection.receive(JSON.stringify({ type: "subscribe", id: "1", session: "s", follow: false }));
  await expect.poll(() => frames.at(-1)).toMatchObject({ type: "end" });
  connection.close();
  for (const alone of [{ hasRoom: () => true }, { whenRoom: (act: () => void) => act() }])
    expect(() => new ControlConnection({ log, send, ...alone })).toThrow(
      expect.objectContaining({ code: "invalid_arguments" }),
    );
});
