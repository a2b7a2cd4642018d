// The order of frames on a socket: after a message that is not in the log yet, and at the end of what is stored.
import { setImmediate as pause } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import { openSession } from "../../engine/index.ts";
import { MemoryLog } from "../../log/index.ts";
import type { BlobInfo } from "../blobs/blob-store.ts";
import { ControlConnection, type ControlConnectionOptions } from "./control-connection.ts";

type Frame = { readonly type: string; readonly id?: string };

function connectTo(log: MemoryLog, options: Partial<ControlConnectionOptions> = {}) {
  const frames: Frame[] = [];
  const send = (text: string): void => void frames.push(JSON.parse(text) as Frame);
  const connection = new ControlConnection({ log, heartbeatMs: 0, commands: { timeoutMs: 0 }, ...options, send });
  onTestFinished(() => connection.close());
  return {
    frames,
    ask: (frame: object): void => connection.receive(JSON.stringify(frame)),
    /** Resolves to all replies except `hello` and `caught_up` when there are `count` of them. */
    answers: (count: number) =>
      vi.waitFor(
        () => {
          const answers = frames.slice(1).filter(({ type }) => type !== "caught_up");
          expect(answers).toHaveLength(count);
          return answers.map(({ type, id }) => `${id} ${type}`);
        },
        { interval: 2 },
      ),
  };
}

async function get(_session: string, blobId: string): Promise<BlobInfo> {
  await pause();
  return { blobId, mediaType: "image/png", bytes: 1 } as BlobInfo;
}

it.each([
  ["immediately", {}],
  ["late", { authorize: () => pause() }],
])("a subscribe and a cancel find the session that the message creates, authorized %s", async (_when, given) => {
  const { ask, answers } = connectTo(new MemoryLog(), { blobs: { get }, ...given });
  const attachments = [{ blob_id: "b" }];
  ask({ type: "run", id: "1", session: "new", message: "Hello", run_id: "mine", attachments });
  ask({ type: "cancel", id: "2", session: "new", run_id: "mine" });
  ask({ type: "subscribe", id: "3", session: "new" });
  expect((await answers(3)).toSorted()).toEqual(["1 ack", "2 ack", "3 subscribed"]);
});

it.each(["", " \n"])("refuses an empty message without creating a session: %j", async (message) => {
  const log = new MemoryLog();
  const { ask, answers } = connectTo(log);
  ask({ type: "run", id: "1", session: "new", message });
  ask({ type: "subscribe", id: "2", session: "new" });
  expect(await answers(2)).toEqual(["1 refusal", "2 refusal"]);
  expect(await log.getSession("new")).toBeUndefined();
});

it("reports once that everything stored was sent", async () => {
  const log = new MemoryLog();
  await using session = await openSession(log, "s");
  await session.record({ type: "custom", value: 1 });
  const { ask, frames } = connectTo(log);
  ask({ type: "subscribe", id: "1", session: "s" });
  await vi.waitFor(() => expect(frames.at(-1)).toEqual({ type: "caught_up", session: "s", dialect: "loom" }));
  expect(frames.map(({ type }) => type)).toEqual(["hello", "subscribed", "frames", "caught_up"]);
  await session.record({ type: "custom", value: 2 });
  await vi.waitFor(() => expect(frames.at(-1)?.type).toBe("frames"));
  expect(frames.filter(({ type }) => type === "caught_up")).toHaveLength(1);
});
