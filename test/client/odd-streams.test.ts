/** Unusual streams: reused names, sources that come and go, noise, recreated sessions. */
import { describe, expect, it } from "vitest";
import { DIALECT_NAMES } from "../../src/dialects/index.ts";
import { createLoomReceiver, createReceiver, MessageStreamHandler } from "../../src/client/index.ts";
import type { AnyEvent } from "../../src/protocol/index.ts";
import { contentOf, framesOf, receive, type SessionView } from "./streams.ts";
import { LONG } from "../sampling.ts";

/** Creates the frames of a complete contiguous run. */
function makeRun(session_id: string, run_id: string, first: number, pieces: readonly string[], ts = 1000): string[] {
  const events: AnyEvent[] = [
    { type: "run_start", run_id, contiguous: true },
    ...pieces.map((content): AnyEvent => ({ type: "message_chunk", content, id: "think" })),
    { type: "run_end", status: "completed", frame_count: pieces.length + 3 },
  ];
  const frames: object[] = [...events, { reply: pieces.join("") }];
  return frames.map((event, index) =>
    JSON.stringify({ session_id, run_id, event_id: first + index, ts: ts + index, ...event }),
  );
}

function engine(request_id: string, sequence: number, type: string, data: object, timestamp = 1000 + sequence): string {
  return JSON.stringify({ type, data, metadata: { request_id, timestamp, sequence } });
}

function makeRequest(session_id: string, request_id: string, pieces: readonly string[], ts?: number): string[] {
  const at = (n: number): number | undefined => (ts === undefined ? undefined : ts + n);
  return [
    engine(request_id, 0, "session_start", { session_id, request_id }, at(0)),
    ...pieces.map((content, index) => engine(request_id, index + 1, "content", { content }, at(index + 1))),
    engine(request_id, pieces.length + 1, "session_end", { status: "completed" }, at(pieces.length + 1)),
  ];
}

function textsOf({ turns }: SessionView): string[] {
  return turns.map(({ messages }) => messages.at(-1)?.mainContent ?? "");
}

function pushAll(source: { push(text: string): void }, texts: readonly string[]): void {
  for (const text of texts) source.push(text);
}

const PROVED = { status: "complete", verified: true };

describe("a stream that opens with the past", () => {
  const open = () => {
    const receiver = createLoomReceiver({ notify: "sync" });
    const feed = receiver.openFeed({ session: "s", dialect: "loom" })!;
    const isCatchingUp = (): boolean => receiver.peek("s")?.state.isCatchingUp === true;
    return { feed, isCatchingUp };
  };
  const past = [...makeRun("s", "r1", 1, ["one"]), ...makeRun("s", "r2", 5, ["two"])];

  it("is catching up until its last stored record, or until the server says so", () => {
    const { feed, isCatchingUp } = open();
    feed.expectHistory(past.length);
    const seen = past.map((text) => {
      feed.take(text);
      return isCatchingUp();
    });
    expect(seen).toEqual([...past.slice(1).map(() => true), false]);
    const other = open();
    // The last record may be one that is not sent.
    other.feed.expectHistory(past.length + 1);
    pushAll({ push: (text) => other.feed.take(text) }, past);
    expect(other.isCatchingUp()).toBe(true);
    other.feed.expectHistory(undefined);
    expect(other.isCatchingUp()).toBe(false);
  });

  it("continues a live run after an interruption, but not runs that were missed", () => {
    const { feed, isCatchingUp } = open();
    feed.expectHistory(undefined);
    pushAll({ push: (text) => feed.take(text) }, past.slice(0, 2));
    feed.expectHistory(past.length);
    feed.take(past[2]!);
    expect(isCatchingUp()).toBe(false);
    pushAll({ push: (text) => feed.take(text) }, past.slice(3, 6));
    expect(isCatchingUp()).toBe(true);
    feed.finish();
    expect(isCatchingUp()).toBe(false);
  });
});

describe("reused names", () => {
  it("a recreated session is detected, also after a long one", () => {
    for (const length of [2, 1500]) {
      const receiver = createReceiver();
      const old = receiver.open({ dialect: "loom" });
      pushAll(
        old,
        makeRun(
          "s",
          "r1",
          1,
          Array.from({ length }, () => "x"),
        ),
      );
      old.end();
      const fresh = receiver.open({ dialect: "loom" });
      pushAll(fresh, makeRun("s", "r2", 1, ["a new session"], 9_000_000));
      fresh.end();
      const [session] = receiver.getSnapshot().sessions;
      expect(session?.state, String(length)).toMatchObject({ status: "gap", reason: { code: "id_conflict" } });
    }
  });

  it("two frames that differ only in content are a conflict", () => {
    const texts = makeRun("s", "r", 1, ["yes"]);
    const other = (texts[1] as string).replace('"yes"', '"no, not at all"');
    expect(receive([texts[0] as string, texts[1] as string, other, ...texts.slice(2)])[0]?.state).toMatchObject({
      status: "gap",
      reason: { code: "id_conflict" },
    });
  });

  // 001 has no times, so only the content tells two frames with one number apart.
  it("frames with the same numbers are a conflict, even if they look alike and have no times", () => {
    const makeTimeless = (run: string, answer: string): string[] =>
      [
        { event_id: 1, type: "run_start", run_id: run, message: "Hi" },
        { node_id: "run-think-1", event_id: 2, type: "node_enter", id: "think" },
        { node_id: "run-think-1", event_id: 3, type: "message_chunk", content: answer, id: "think" },
        { node_id: "run-think-1", event_id: 4, type: "node_exit", id: "think", result: "Ok" },
        { node_id: "run-think-1", event_id: 5, reply: answer },
      ].map((frame) => JSON.stringify({ session_id: "s", ...frame }));
    const first = makeTimeless("run-1", "Yes");
    // The `run_start` of a new run starts another numbering.
    const [, ...others] = makeTimeless("run-2", "Yes");
    for (const [index, text] of [...others, ...makeTimeless("run-1", "Yet")].entries()) {
      const isSame = first.includes(text);
      expect(receive([...first, text])[0]?.state, String(index)).toMatchObject(
        isSame ? { status: "complete" } : { status: "gap", reason: { code: "id_conflict" } },
      );
    }
  });

  it("a request ID may be reused after a long request", () => {
    const long = makeRequest(
      "s",
      "q",
      Array.from({ length: 1500 }, () => "x"),
    );
    const [session] = receive([...long, ...makeRequest("s", "q", ["again"], 9_000_000)], { dialect: "engine" });
    expect(textsOf(session as SessionView)[1]).toBe("again");
    expect(session?.state).toMatchObject(PROVED);
  });

  it("a request ID of two sessions belongs to the session its source names", () => {
    const receiver = createReceiver();
    const [a, b] = [receiver.open({ dialect: "engine" }), receiver.open({ dialect: "engine" })];
    const [ofA, ofB] = [makeRequest("A", "q", ["secret of A"], 1), makeRequest("B", "q", ["answer of B"], 1)];
    for (const [index, text] of ofA.entries()) {
      a.push(text);
      b.push(ofB[index] as string);
    }
    const { sessions } = receiver.getSnapshot();
    expect(sessions.map((session) => [session.id, textsOf(session), session.state.verified])).toEqual([
      ["A", ["secret of A"], true],
      ["B", ["answer of B"], true],
    ]);
  });

  it.runIf(LONG)("more requests than can be remembered are no longer verified", () => {
    const texts = Array.from({ length: 10_001 }, (_, index) => makeRequest("s", `q${index}`, [])).flat();
    expect(receive(texts, { dialect: "engine" })[0]?.state).toMatchObject({ status: "complete", verified: false });
  });
});

describe("order", () => {
  it("is restored completely, even if few frames may be held", () => {
    const runs = [1, 2, 3, 4].map((n) => makeRun("s", `r${n}`, (n - 1) * 6 + 1, ["a", "b", "c"], n * 1000));
    const all = runs.flat();
    const sent = [...all.slice(6, 12), ...all.slice(13), ...all.slice(0, 6), all[12] as string];
    const [session] = receive(sent, { dialect: "loom" }, { limits: { maxHeldFrames: 11 } });
    expect(session?.turns.length).toBe(4);
    expect(contentOf([session as SessionView])).toEqual(contentOf(receive(all)));
  });

  it("is not affected by a frame that names a later predecessor", () => {
    const texts = makeRun("s", "r", 1, ["a", "b", "c"]);
    const odd = JSON.stringify({ ...(JSON.parse(texts[2] as string) as object), prev_event_id: 4 });
    const [session] = receive([...texts.slice(0, 4), odd, ...texts.slice(3)]);
    expect(textsOf(session as SessionView)).toEqual(["abc"]);
    expect(session?.state).toMatchObject(PROVED);
  });

  it("is verified after a record outside any run", () => {
    const todo = { session_id: "s", event_id: 1, ts: 1, type: "todo_list", list_id: "l", items: [] };
    const [session] = receive([JSON.stringify(todo), ...makeRun("s", "r", 2, ["hi"])]);
    expect(session?.state).toEqual({ status: "complete", verified: true, undetectable: [] });
  });
});

describe("noise", () => {
  const run = makeRun("s", "r", 1, ["hi"]);

  it("on two feeds is ignored, and counted only if frames have no numbers", () => {
    const receiver = createReceiver();
    const [a, b] = [
      receiver.openFeed({ session: "s", dialect: "loom" }),
      receiver.openFeed({ session: "s", dialect: "loom" }),
    ];
    for (const feed of [a, b]) {
      for (const text of run) feed?.take(text);
      feed?.take("keep-alive");
    }
    expect(a?.position).toEqual({ after: "4" });
    for (const feed of [a, b]) feed?.finish();
    expect(receiver.getSnapshot().sessions[0]?.state).toMatchObject(PROVED);
    const lumine = createReceiver().openFeed({ session: "s", dialect: "lumine" });
    for (const text of ['{"type":"session_id","session_id":"s"}', "ping", '{"type":"chunk","content":"x"}'])
      lumine?.take(text);
    expect(lumine?.position).toEqual({ skip: 3 });
    lumine?.begin("1.AAAAAAAA.0");
    expect(lumine?.position).toEqual({ after: "1.AAAAAAAA.0", skip: 3 });
  });

  it("at the start does not prevent dialect detection or create a session", () => {
    for (const form of DIALECT_NAMES) {
      const receiver = createReceiver();
      const source = receiver.open();
      source.fault("some bytes were not text");
      source.push("hello?");
      pushAll(source, framesOf("react-tools", form));
      source.end();
      const { sessions } = receiver.getSnapshot();
      expect(contentOf(sessions), form).toEqual(contentOf(receive(framesOf("react-tools", form), { dialect: form })));
      expect(sessions[0]?.issueCount, form).toBeGreaterThanOrEqual(2);
    }
  });
});

describe("sources and feeds", () => {
  it("a source that joins a request late shows it at once if it knows the session", () => {
    const receiver = createReceiver();
    const source = receiver.open({ dialect: "engine", session: "s" });
    source.push(engine("q", 5, "content", { content: "late" }));
    expect(receiver.getSnapshot().sessions[0]?.state.status).toBe("gap");
  });

  it("frames of unknown requests are not added to other sessions", () => {
    const receiver = createReceiver();
    const source = receiver.open({ dialect: "engine" });
    pushAll(source, [...makeRequest("A", "a", ["one"]), ...makeRequest("B", "b", ["two"])]);
    source.push(engine("c", 1, "content", { content: "whose?" }));
    source.end();
    const { sessions } = receiver.getSnapshot();
    expect(sessions.slice(0, 2).map((session) => [session.id, session.state.verified])).toEqual([
      ["A", true],
      ["B", true],
    ]);
    expect(sessions[2]?.state.status).not.toBe("complete");
  });

  it("frames after the greeting of another session are not shown", () => {
    const receiver = createReceiver();
    const feed = receiver.openFeed({ session: "mine", dialect: "lumine" });
    for (const text of framesOf("react-tools", "lumine")) feed?.take(text);
    feed?.finish();
    expect(receiver.getSnapshot().sessions[0]?.turns).toEqual([]);
  });

  it("a failed feed does not affect a complete one", () => {
    const receiver = createReceiver();
    const [a, b] = [
      receiver.openFeed({ session: "s", dialect: "loom" }),
      receiver.openFeed({ session: "s", dialect: "loom" }),
    ];
    a?.fail({ code: "reconnect_limit", message: "no more" });
    for (const text of makeRun("s", "r", 1, ["hi"])) b?.take(text);
    b?.finish();
    expect(receiver.getSnapshot().sessions[0]?.state).toMatchObject(PROVED);
  });

  it("a feed that gives up does not give up for another", () => {
    const receiver = createReceiver();
    const [a, b] = [
      receiver.openFeed({ session: "s", dialect: "loom" }),
      receiver.openFeed({ session: "s", dialect: "loom" }),
    ];
    const run = makeRun("s", "r", 1, ["a", "b"]);
    for (const text of [run[0], run[2], run[3]]) a?.take(text as string);
    a?.giveUp();
    a?.finish();
    for (const text of run) b?.take(text);
    b?.finish();
    a?.take(JSON.stringify({ session_id: "s", event_id: 99, type: "custom", value: 1 }));
    expect(receiver.getSnapshot().sessions[0]?.state).toMatchObject(PROVED);
  });

  it("frames given up by the last feed are requested by the next", () => {
    const receiver = createReceiver();
    const first = receiver.openFeed({ session: "s", dialect: "loom" });
    const run = makeRun("s", "r", 1, ["a", "b", "c"]);
    for (const text of run.filter((_, index) => index !== 2)) first?.take(text);
    first?.finish();
    expect(receiver.getSnapshot().sessions[0]?.state.status).toBe("gap");
    const second = receiver.openFeed({ session: "s", dialect: "loom" });
    expect(second?.position).toEqual({});
    for (const text of run) second?.take(text);
    expect(receiver.getSnapshot().sessions.map(textsOf)).toEqual([["abc"]]);
    expect(second?.state).toMatchObject(PROVED);
  });

  it("held frames beyond the limit are discarded if they can be requested again", () => {
    const receiver = createReceiver({ limits: { maxHeldFrames: 3 } });
    const feed = receiver.openFeed({ session: "s", dialect: "loom" });
    if (feed === undefined) throw new Error("the feed should open");
    let overflows = 0;
    feed.onOverflow = () => overflows++;
    const run = makeRun("s", "r", 1, ["a", "b", "c", "d", "e", "f"]);
    for (const text of run.filter((_, index) => index !== 1).slice(0, 5)) feed.take(text);
    expect(overflows).toBe(1);
    expect(feed.position).toEqual({ after: "1" });
    expect(feed.missing).toBeUndefined();
    for (const text of run.slice(1)) feed.take(text);
    expect(feed.state).toMatchObject(PROVED);
  });

  it("a position has the start cursor, once it is known", () => {
    const receiver = createReceiver();
    const feed = receiver.openFeed({ session: "s", dialect: "loom" });
    feed?.begin("1.AAAAAAAA.0");
    feed?.take(makeRun("s", "r", 1, ["a"])[0] as string);
    expect(feed?.position).toEqual({ after: "1", of: "1.AAAAAAAA.0" });
  });

  it("unreadable frames are skipped and reported", () => {
    const receiver = createReceiver();
    const feed = receiver.openFeed({ session: "s", dialect: "engine" });
    const [start, content, end] = makeRequest("s", "q", ["a"]);
    feed?.take(start as string);
    feed?.refuse("the line is too long");
    expect(feed?.position).toEqual({ skip: 2 });
    for (const text of [content, end]) feed?.take(text as string);
    expect(feed?.state).toMatchObject({ status: "gap", reason: { code: "frame_refused" } });
  });

  it("a restart keeps the old view until new records arrive", () => {
    const receiver = createReceiver();
    const feed = receiver.openFeed({ session: "s", dialect: "loom" });
    const run = makeRun("s", "r", 1, ["hi"]);
    for (const text of run) feed?.take(text);
    feed?.restart();
    expect(textsOf(receiver.getSnapshot().sessions[0] as SessionView)).toEqual(["hi"]);
    feed?.take(run[0] as string);
    expect(textsOf(receiver.getSnapshot().sessions[0] as SessionView)).toEqual([""]);
    feed?.restart();
    feed?.finish();
    expect(receiver.getSnapshot().sessions[0]?.turns).toEqual([]);
  });

  it("records no longer stored are reported, and the old turns stay", () => {
    const receiver = createReceiver();
    const feed = receiver.openFeed({ session: "s", dialect: "loom" });
    for (const text of makeRun("s", "r1", 1, ["first"])) feed?.take(text);
    feed?.skipTo(9);
    expect(feed?.position).toEqual({ after: "8" });
    for (const text of makeRun("s", "r3", 9, ["third"])) feed?.take(text);
    const [session] = receiver.getSnapshot().sessions;
    expect(textsOf(session as SessionView)).toEqual(["first", "third"]);
    expect(session?.state).toMatchObject({ status: "gap", reason: { code: "frames_missing" }, verified: false });
  });

  it("ended sessions are removed before live ones, and their feeds are notified", () => {
    const receiver = createReceiver({ limits: { maxSessions: 2 } });
    const source = receiver.open({ dialect: "loom" });
    source.push(makeRun("live", "r", 1, ["x"])[0] as string);
    pushAll(source, makeRun("done", "r", 1, ["x"]));
    pushAll(source, makeRun("third", "r", 1, ["x"]));
    expect(receiver.getSnapshot().sessions.map(({ id }) => id)).toEqual(["live", "third"]);
    const one = createReceiver({ limits: { maxSessions: 1 } });
    const feed = one.openFeed({ session: "a", dialect: "loom" });
    one.openFeed({ session: "b", dialect: "loom" });
    expect(feed?.state).toMatchObject({ status: "failed", reason: { code: "too_many_sessions" } });
  });

  it("a dropped session can be received again", () => {
    const receiver = createReceiver();
    const source = receiver.open({ dialect: "loom" });
    pushAll(source, makeRun("s", "r", 1, ["hi"]));
    receiver.drop("s");
    expect(receiver.getSnapshot().sessions).toEqual([]);
    pushAll(source, makeRun("s", "r2", 5, ["again"]));
    expect(receiver.getSnapshot().sessions.map(textsOf)).toEqual([["again"]]);
  });
});

describe("a receiver of loom only", () => {
  it("reads loom, and rejects other dialects", () => {
    const receiver = createLoomReceiver();
    const source = receiver.open();
    pushAll(source, framesOf("react-tools", "loom"));
    source.end();
    expect(receiver.getSnapshot().sessions).toEqual(receive(framesOf("react-tools", "loom")));
    expect(() => receiver.open({ dialect: "engine" })).toThrow("This receiver reads loom, not engine");
    expect(() => receiver.openFeed({ session: "s", dialect: "lumine" })).toThrow("not lumine");
    const other = receiver.open();
    pushAll(other, framesOf("react-tools", "engine"));
    other.end();
    expect(receiver.getSnapshot().sessions.at(-1)?.state.status).not.toBe("complete");
  });
});

describe("MessageStreamHandler", () => {
  it("shows the request of the last event, whatever its session", () => {
    const handler = new MessageStreamHandler();
    for (const [session, request, text] of [
      ["A", "a", "one"],
      ["B", "b", "two"],
      ["A", "c", "three"],
    ] as const)
      for (const frame of makeRequest(session, request, [text])) handler.handleEvent(frame);
    expect(handler.message.mainContent).toBe("three");
  });

  it("is not streaming after the end without events", () => {
    const handler = new MessageStreamHandler();
    handler.end();
    expect(handler.message.isStreaming).toBe(false);
    expect(handler.state.status).toBe("truncated");
  });
});

describe("listeners", () => {
  it("removed during a notification are not called, and double subscriptions count twice", () => {
    const receiver = createReceiver({ notify: "sync" });
    const calls: string[] = [];
    const both = (): void => void calls.push("both");
    const [first] = [receiver.subscribe(both), receiver.subscribe(both)];
    first?.();
    let leave: () => void = () => undefined;
    receiver.subscribe(() => leave());
    leave = receiver.subscribe(() => void calls.push("gone"));
    receiver.open().push(makeRun("s", "r", 1, ["hi"])[0] as string);
    expect(calls).not.toContain("gone");
    expect(calls).toContain("both");
  });
});
