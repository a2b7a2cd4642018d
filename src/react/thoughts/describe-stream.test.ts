import { describe, expect, it } from "vitest";
import type { SessionView, StreamState } from "../../client/index.ts";
import { describeStream, findRunPhase } from "./describe-stream.ts";

const state = (status: StreamState["status"], code?: NonNullable<StreamState["reason"]>["code"]): StreamState => ({
  status,
  verified: false,
  undetectable: [],
  ...(code === undefined ? {} : { reason: { code, message: "" } }),
});

describe("describeStream", () => {
  it("distinguishes a lost connection from lost frames", () => {
    expect(describeStream(state("repairing", "connection_lost"))).toMatchObject({
      phase: "reconnecting",
      canRetry: true,
    });
    expect(describeStream(state("repairing", "heartbeat_missed")).phase).toBe("reconnecting");
    expect(describeStream(state("repairing", "frames_missing"))).toMatchObject({ phase: "repairing", canRetry: false });
    expect(describeStream(state("gap", "frames_missing"))).toMatchObject({ phase: "gap", isBusy: false });
  });

  it("is offline if the connection is lost and the device is offline", () => {
    expect(describeStream(state("repairing", "connection_lost"), true)).toMatchObject({
      phase: "offline",
      canRetry: true,
    });
    // A server on the device itself is reachable.
    expect(describeStream(state("live"), true).phase).toBe("live");
    expect(describeStream(state("repairing", "frames_missing"), true).phase).toBe("repairing");
  });

  it("knows the phase of a run only when the stream has caught up", () => {
    const turns = [{ status: "running", messages: [], nodes: [], modelCalls: [] }];
    const show = (isCatchingUp?: true) =>
      findRunPhase({ turns, state: { ...state("live"), isCatchingUp } } as unknown as SessionView);
    expect([show(true), show()]).toEqual([undefined, "running"]);
  });

  it("is connecting before the first event and offers a retry where it may help", () => {
    expect(describeStream(undefined)).toMatchObject({ phase: "connecting", isBusy: true });
    expect(describeStream(state("live")).phase).toBe("live");
    expect(describeStream(state("complete"))).toMatchObject({ phase: "complete", canRetry: false });
    expect(describeStream(state("truncated", "stream_cut"))).toMatchObject({ phase: "truncated", canRetry: true });
    expect(describeStream(state("failed", "reconnect_limit"))).toMatchObject({ phase: "failed", canRetry: true });
  });
});
