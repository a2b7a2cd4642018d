// What is asked right after a message on the same socket, while the message is on its way into the log.
import { setImmediate as pause } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
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
    ask: (frame: object): void => connection.receive(JSON.stringify(frame)),
    /** What was answered, but for `hello`, when there are so many answers. */
    answers: (count: number) =>
      vi.waitFor(
        () => {
          expect(frames).toHaveLength(count + 1);
          return frames.slice(1).map(({ type, id }) => `${id} ${type}`);
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
  ["at once", {}],
  ["late", { authorize: () => pause() }],
])("a stream and a cancel find the session that the message makes, with leave given %s", async (_when, given) => {
  const { ask, answers } = connectTo(new MemoryLog(), { blobs: { get }, ...given });
  const attachments = [{ blob_id: "b" }];
  ask({ type: "run", id: "1", session: "new", message: "Hello", run_id: "mine", attachments });
  ask({ type: "cancel", id: "2", session: "new", run_id: "mine" });
  ask({ type: "subscribe", id: "3", session: "new" });
  expect((await answers(3)).toSorted()).toEqual(["1 ack", "2 ack", "3 subscribed"]);
});

it.each(["", " \n"])("a message that says nothing is refused, and makes no session: %j", async (message) => {
  const log = new MemoryLog();
  const { ask, answers } = connectTo(log);
  ask({ type: "run", id: "1", session: "new", message });
  ask({ type: "subscribe", id: "2", session: "new" });
  expect(await answers(2)).toEqual(["1 refusal", "2 refusal"]);
  expect(await log.getSession("new")).toBeUndefined();
});
