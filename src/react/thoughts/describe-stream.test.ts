import { describe, expect, it } from "vitest";
import type { StreamState } from "../../client/index.ts";
import { describeStream } from "./describe-stream.ts";

const state = (status: StreamState["status"], code?: NonNullable<StreamState["reason"]>["code"]): StreamState => ({
  status,
  verified: false,
  cannotKnow: [],
  ...(code === undefined ? {} : { reason: { code, message: "" } }),
});

describe("the word for a stream", () => {
  it("tells a lost connection from lost frames", () => {
    expect(describeStream(state("repairing", "connection_lost"))).toMatchObject({
      word: "reconnecting",
      mayRetry: true,
    });
    expect(describeStream(state("repairing", "heartbeat_missed")).word).toBe("reconnecting");
    expect(describeStream(state("repairing", "frames_missing"))).toMatchObject({ word: "repairing", mayRetry: false });
    expect(describeStream(state("gap", "frames_missing"))).toMatchObject({ word: "gap", isBusy: false });
  });

  it("claims nothing before something was heard, and offers to try again where that may help", () => {
    expect(describeStream(undefined)).toMatchObject({ word: "connecting", isBusy: true });
    expect(describeStream(state("live")).word).toBe("live");
    expect(describeStream(state("complete"))).toMatchObject({ word: "complete", mayRetry: false });
    expect(describeStream(state("truncated", "stream_cut"))).toMatchObject({ word: "truncated", mayRetry: true });
    expect(describeStream(state("failed", "reconnect_limit"))).toMatchObject({ word: "failed", mayRetry: true });
  });
});
