import { describe, expect, it } from "vitest";
import { createElement, type ReactNode } from "react";
import { renderToString } from "react-dom/server";
import { createReceiver, type ReadableStore, type Receiver, type SessionView } from "../client/index.ts";
import { createTurnSelector, useReceiver, useStore } from "./use-receiver.ts";
import { useMessage, useRun, useSession } from "./index.ts";

/** A session with these runs, which counts how often a run is read. */
function createSession(...keys: readonly string[]) {
  let reads = 0;
  const turns = keys.map((key) => ({
    get key(): string {
      reads++;
      return key;
    },
  }));
  return { session: { turns } as unknown as SessionView, countReads: () => reads };
}

describe("a turn selector", () => {
  it("finds a run wherever it moves", () => {
    const select = createTurnSelector("b");
    expect(select(createSession("a", "b", "c").session)?.key).toBe("b");
    expect(select(createSession("b", "c").session)?.key).toBe("b");
    expect(select(createSession("c").session)).toBeUndefined();
    expect(select(createSession("c", "b").session)?.key).toBe("b");
  });

  it("does not search for a missing run again until a run is added", () => {
    const select = createTurnSelector("missing");
    const keys = Array.from({ length: 1000 }, (_, n) => `run-${n}`);
    const { session, countReads } = createSession(...keys);
    select(session);
    const before = countReads();
    for (let token = 0; token < 100; token++) expect(select(session)).toBeUndefined();
    expect(countReads() - before).toBeLessThan(500);
    expect(select(createSession(...keys, "missing").session)?.key).toBe("missing");
  });
});

function createFilled(): Receiver {
  const receiver = createReceiver();
  const source = receiver.open({ dialect: "loom" });
  const frames = [
    { type: "run_start", message: "hi", agent: "react", contiguous: true },
    { type: "node_enter", node_id: "run-think-1", id: "think" },
    { type: "message_chunk", node_id: "run-think-1", id: "think", content: "hello" },
  ];
  for (const [index, frame] of frames.entries()) {
    source.push(JSON.stringify({ session_id: "s", run_id: "r", event_id: index + 1, ts: index, ...frame }));
  }
  return receiver;
}

const render = (component: () => ReactNode): string => renderToString(createElement(component));

describe("server rendering", () => {
  it("shows the view of the receiver", () => {
    const receiver = createFilled();
    expect(render(() => useReceiver(receiver).sessions.length)).toBe("1");
    expect(render(() => useSession(receiver, "s")?.state.status)).toBe("live");
    expect(render(() => useRun(receiver, "s", "r")?.status)).toBe("running");
    const turn = receiver.session("s").getSnapshot()?.turns[0];
    const texts = turn?.messages.map(({ messageId }) =>
      render(() => useMessage(receiver, "s", turn.key, messageId)?.mainContent),
    );
    expect(texts).toEqual(["hi", "hello"]);
  });

  it("renders nothing for an unknown session", () => {
    const receiver = createFilled();
    expect(render(() => useSession(receiver, "other")?.id)).toBe("");
    expect(render(() => useRun(receiver, "s", "other")?.key)).toBe("");
    expect(render(() => useRun(receiver, "other", "r")?.key)).toBe("");
    expect(render(() => useMessage(receiver, "s", "r", "other")?.messageId)).toBe("");
  });

  it("leaves no listener subscribed", () => {
    let listeners = 0;
    const store: ReadableStore<string> = {
      subscribe: () => {
        listeners++;
        return () => listeners--;
      },
      getSnapshot: () => "text",
    };
    expect(render(() => useStore(store, (text) => text.length))).toBe("4");
    expect(listeners).toBe(0);
  });

  it("runs a selector once per value, so that a selector that builds objects does not loop", () => {
    const store: ReadableStore<readonly number[]> = { subscribe: () => () => undefined, getSnapshot: () => numbers };
    const numbers = [1, 2];
    let runs = 0;
    const double = (list: readonly number[]): number[] => {
      runs++;
      return list.map((number) => number * 2);
    };
    expect(render(() => useStore(store, double).join())).toBe("2,4");
    expect(runs).toBe(1);
  });
});
