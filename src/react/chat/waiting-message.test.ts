import { describe, expect, it } from "vitest";
import { splitWaiting, type QueuedMessage } from "./waiting-message.ts";

const message = (runId: string, status: QueuedMessage["status"] = "sending"): QueuedMessage => ({
  runId,
  text: runId,
  files: [],
  status,
});

describe("splitWaiting", () => {
  const ids = ({ next, others }: ReturnType<typeof splitWaiting<QueuedMessage>>): string[][] =>
    [next, others].map((list) => list.map(({ runId }) => runId));

  it("returns a sent message as next, but not a failed one", () => {
    expect(ids(splitWaiting([message("r1", "failed"), message("r2")], false))).toEqual([["r2"], ["r1"]]);
  });

  it("returns nothing as next while the message will be queued", () => {
    expect(ids(splitWaiting([message("r1")], true))).toEqual([[], ["r1"]]);
    expect(ids(splitWaiting([message("r1", "queued"), message("r2")], false))).toEqual([[], ["r1", "r2"]]);
  });
});
