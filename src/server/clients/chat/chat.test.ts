import { describe, expect, it } from "vitest";
import { ENCODER_VERSION, formatCursor } from "../../../log/cursor.ts";
import { followSse, readSse, createServerFixture, type SseEvent } from "../../../../test/server/server-fixture.ts";
import { gather } from "../../../../test/log-sessions.ts";
import { DIALECTS } from "../../../dialects/index.ts";
import { openStream } from "../../../log/index.ts";

interface Message {
  readonly type: string;
  readonly data: { readonly [name: string]: unknown };
  readonly metadata: { readonly sequence: number; readonly request_id: string; readonly timestamp: number };
}

const parse = ({ data }: SseEvent): Message => JSON.parse(data) as Message;
const say = (body: unknown, headers: { readonly [name: string]: string } = {}, signal?: AbortSignal): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
  ...(signal === undefined ? {} : { signal }),
});

describe("a server that shuts down", () => {
  it("cuts the response to a message, and asks an EventSource to return soon", async () => {
    const { fetch, core } = await createServerFixture({ script: [{ text: "Never", fault: { kind: "stall" } }] });
    const sent = await fetch("/api/chat", say({ session_id: "s", content: "Hi" }));
    const cursor = formatCursor((await core.log.getSession("s"))?.incarnation ?? "", 1);
    const resumed = await fetch("/api/chat", say({ session_id: "s" }, { "last-event-id": cursor }));
    const followed = await fetch("/api/chat?session_id=s");
    await core.streams.close();
    for (const posted of [sent, resumed]) await expect(posted.text()).rejects.toThrow("interrupted");
    expect(await followed.text()).toMatch(/retry: 1000\n\ndata: \{$/);
  });
});

describe("a misspelled field", () => {
  it("is reported on the stream, and the message runs", async () => {
    const { fetch, log } = await createServerFixture({ script: [{ text: "Hello." }] });
    const given = { session_id: "s", content: "Hi", agnet: "tot", strategy: { bean: 3 }, theme: "dark" };
    const messages = (await readSse(await fetch("/api/chat", say(given)))).map(parse);
    expect(messages.slice(1, 3).map(({ type, data }) => [type, data])).toEqual(
      ["`agnet`; did you mean `agent`?", "`strategy.bean`; did you mean `strategy.beam`?"].map((what): unknown => [
        "error",
        expect.objectContaining({
          error_type: "validation",
          message: `Ignored the unknown field ${what}`,
          code: "unknown_field",
          recoverable: true,
        }),
      ]),
    );
    expect(messages.at(-1)).toMatchObject({ type: "session_end", data: { status: "completed" } });
    const { records } = await log.read("s", { after: 0, limit: 3 });
    expect(records.map(({ event }) => event.type)).toEqual(["run_start", "error", "error"]);
  });
});

describe("POST /api/chat", () => {
  it("creates a session and streams the messages of specification 003", async () => {
    const script = [
      { text: "Let me add. ", calls: [{ name: "add", input: { a: 1, b: 2 }, id: "t1" }] },
      { text: "It is 3." },
    ];
    const { fetch, log } = await createServerFixture({ script });
    const events = await readSse(await fetch("/api/chat", say({ content: "1 + 2?" })));
    const messages = events.map(parse);
    expect(messages[0]).toMatchObject({ type: "session_start", data: { session_id: expect.any(String) as unknown } });
    expect(messages.map(({ metadata }) => metadata.sequence)).toEqual(messages.map((_, index) => index));
    expect(new Set(messages.map(({ metadata }) => metadata.request_id)).size).toBe(1);
    const types = messages.map(({ type }) => type);
    expect(messages.find(({ type }) => type === "tool_call_start")?.data).toEqual({
      tool_id: "t1",
      tool_name: "add",
      description: "Adds two numbers.",
      arguments: { a: 1, b: 2 },
    });
    expect(types).toContain("tool_call_end");
    expect(types.at(-1)).toBe("session_end");
    expect(messages.at(-1)?.data["status"]).toBe("completed");
    const session = String(messages[0]?.data["session_id"]);
    const frames = (await gather(openStream(log, session, { dialect: "engine" }))).flat();
    expect(events).toEqual(frames.map(({ text, cursor }) => ({ id: cursor, data: text })));
  });

  it("sends the stage of thinking, the format of content and its last piece", async () => {
    const script = [
      { reasoning: "They greet me.", text: "Hm. ", calls: [{ name: "add", input: { a: 1, b: 2 }, id: "t1" }] },
      { text: "Hello, world." },
    ];
    const { fetch } = await createServerFixture({ script });
    const messages = (await readSse(await fetch("/api/chat", say({ content: "Hi" })))).map(parse);
    const thinking = messages.filter(({ type }) => type === "thinking");
    expect(thinking.length).toBeGreaterThan(0);
    for (const { data } of thinking) expect(data["stage"]).toBe("reasoning");
    const contents = messages.filter(({ type }) => type === "content").map(({ data }) => data);
    expect(contents.map(({ content }) => content).join("")).toBe("Hm. \n\nHello, world.");
    for (const { format } of contents) expect(format).toBe("markdown");
    expect(contents.map(({ is_complete }) => is_complete)).toEqual(contents.map((_, at) => at === contents.length - 1));
    expect(messages.slice(-2).map(({ type }) => type)).toEqual(["content", "session_end"]);
  });

  it("marks the last piece of a run that failed too", async () => {
    const script = [{ text: "Half an answer", chunk: 4, fault: { kind: "error", after: 8, message: "no" } }] as const;
    const { fetch } = await createServerFixture({ script });
    const messages = (await readSse(await fetch("/api/chat", say({ content: "Hi" })))).map(parse);
    expect(messages.at(-1)).toMatchObject({ type: "session_end", data: { status: "error" } });
    const marks = messages.filter(({ type }) => type === "content").map(({ data }) => data["is_complete"]);
    expect(marks.length).toBeGreaterThan(1);
    expect(marks).toEqual(marks.map((_, at) => at === marks.length - 1));
  });

  it("sends the stage `analyzing` once there are results", async () => {
    const calls = [{ name: "add", input: { a: 1, b: 2 }, id: "t1" }];
    const script = [
      { reasoning: "I add.", calls },
      { reasoning: "It is 3.", text: "3" },
    ];
    const { fetch } = await createServerFixture({ script });
    const messages = (await readSse(await fetch("/api/chat", say({ content: "1 + 2?" })))).map(parse);
    const stages = messages.filter(({ type }) => type === "thinking").map(({ data }) => data["stage"]);
    expect([...new Set(stages)]).toEqual(["reasoning", "analyzing"]);
  });

  it("sends the start, description, duration and code of every failed call, in the language of the chat", async () => {
    const calls = [
      { name: "remove", input: { path: "x" }, id: "t1" },
      { name: "invented", input: {}, id: "t2" },
    ];
    const { fetch } = await createServerFixture({ script: [{ calls }, { text: "好的。" }] });
    const messages = (await readSse(await fetch("/api/chat", say({ content: "请删除文件 x" })))).map(parse);
    for (const [id, code] of [
      ["t1", "approval_unavailable"],
      ["t2", "unknown_tool"],
    ]) {
      const [start, end, ...more] = messages.filter(({ data }) => data["tool_id"] === id);
      expect(more).toEqual([]);
      expect(start).toMatchObject({ type: "tool_call_start", data: { description: expect.any(String) as string } });
      const error = { code, message: expect.stringMatching(/^\p{Script=Han}/u) as string };
      expect(end).toMatchObject({ type: "tool_call_end", data: { status: "failed", error } });
      expect(end?.metadata).toHaveProperty("duration_ms", expect.any(Number));
    }
    const invented = messages.find(({ data }) => data["tool_id"] === "t2");
    expect(invented?.data["description"]).toBe("调用 invented");
  });

  it("sends times in seconds on request of the operator, which receivers recognize", async () => {
    const { fetch, log } = await createServerFixture({
      script: [{ text: "Hello." }],
      timestamps: "seconds",
    });
    const events = await readSse(await fetch("/api/chat", say({ session_id: "s", content: "Hi" })));
    const decoder = DIALECTS.engine.createDecoder();
    const { records } = await log.read("s", { after: 0 });
    const startedAt = records[0]?.envelope.ts ?? 0;
    expect(parse(events[0] as SseEvent).metadata.timestamp).toBe(Math.floor(startedAt / 1000));
    const [first] = events.flatMap(({ data }) => decoder.decode(data).records);
    expect(first?.envelope.ts).toBe(Math.floor(startedAt / 1000) * 1000);
  });

  it("uses the caller's request id on every message", async () => {
    const { fetch } = await createServerFixture({ script: () => ({ text: "Hello." }) });
    const idsOf = async (body: object, headers: { readonly [name: string]: string } = {}) => {
      const messages = (await readSse(await fetch("/api/chat", say({ content: "Hi", ...body }, headers)))).map(parse);
      expect(messages[0]?.data["request_id"]).toBe(messages[0]?.metadata.request_id);
      return [...new Set(messages.map(({ metadata }) => metadata.request_id))];
    };
    expect(await idsOf({ request_id: "req-1" })).toEqual(["req-1"]);
    expect(await idsOf({}, { "x-request-id": "req-2" })).toEqual(["req-2"]);
    expect(await idsOf({ request_id: "req-3" }, { "x-request-id": "req-4" })).toEqual(["req-3"]);
    const [made] = await idsOf({}, { "x-request-id": "not an id" });
    expect(made).not.toBe("not an id");
  });

  it("continues a session with a separate stream per message", async () => {
    const { fetch, ask } = await createServerFixture({ script: [{ text: "One." }, { text: "Two." }] });
    await readSse(await fetch("/api/chat", say({ session_id: "s", content: "1" })));
    const second = (await readSse(await fetch("/api/chat", say({ session_id: "s", content: "2" })))).map(parse);
    expect(second[0]).toMatchObject({ type: "session_start", data: { session_id: "s" }, metadata: { sequence: 0 } });
    expect(second.filter(({ type }) => type === "session_end")).toHaveLength(1);
    expect(await ask("GET", "/v1/sessions/s/runs")).toHaveProperty("runs.length", 2);
  });

  it("refuses a call that needs approval at once, unless the request declares that its client can answer", async () => {
    const turns = [{ calls: [{ name: "remove", input: { path: "x" }, id: "t1" }] }, { text: "Done." }];
    const { fetch, ask } = await createServerFixture({ script: [...turns, ...turns] });
    const silent = (await readSse(await fetch("/api/chat", say({ session_id: "a", content: "Remove x" })))).map(parse);
    expect(silent.filter(({ type }) => type === "data")).toEqual([]);
    expect(silent.find(({ type }) => type === "tool_call_end")?.data).toMatchObject({
      status: "failed",
      error: { code: "approval_unavailable", message: expect.stringContaining("cannot answer approvals") as unknown },
    });
    expect(silent.at(-1)?.data["status"]).toBe("completed");

    const capable = { session_id: "b", content: "Remove x", capabilities: ["approval"] };
    const types: unknown[] = [];
    for await (const event of followSse(await fetch("/api/chat", say(capable)))) {
      const { type, data } = parse(event);
      // The answer is sent as `data` too.
      const isRequest = type === "data" && !types.includes("data");
      types.push(type, data["status"]);
      if (isRequest) await ask("POST", "/v1/sessions/b/approvals/t1", { decision: "approved" });
    }
    expect(types).toEqual(expect.arrayContaining(["data", "tool_call_end", "success", "completed"]));
  });

  it("resumes after any message without starting a run", async () => {
    const { fetch, log } = await createServerFixture({
      script: [{ text: "A few words to cut." }, { text: "Another." }],
    });
    const events = await readSse(await fetch("/api/chat", say({ session_id: "s", content: "Hi" })));
    await readSse(await fetch("/api/chat", say({ session_id: "s", content: "And?" })));
    for (const [index, { id = "" }] of events.entries()) {
      const rest = events.slice(index + 1);
      const again = say({ session_id: "s", content: "Hi" }, { "last-event-id": id });
      expect(await readSse(await fetch("/api/chat", again))).toEqual(rest);
      const source = await fetch("/api/chat?session_id=s", { headers: { "last-event-id": id } });
      if (rest.length === 0) expect(source.status).toBe(204);
      else expect(await readSse(source)).toEqual(rest);
    }
    expect(await log.listRuns("s")).toHaveLength(2);
  });

  it("resumes a live run until it ends", async () => {
    const gate = Promise.withResolvers<void>();
    const { fetch, log } = await createServerFixture({ script: [{ text: "Slowly said.", until: gate.promise }] });
    const leaver = new AbortController();
    const seen: SseEvent[] = [];
    const first = await fetch("/api/chat", say({ session_id: "s", content: "Hi" }, {}, leaver.signal));
    for await (const event of followSse(first)) {
      seen.push(event);
      break;
    }
    leaver.abort();
    const rest = await fetch("/api/chat?session_id=s", { headers: { "last-event-id": seen[0]?.id ?? "" } });
    const whole = await fetch("/api/chat?session_id=s");
    gate.resolve();
    const all = [...seen, ...(await readSse(rest))];
    expect(await readSse(whole)).toEqual(all);
    const frames = (await gather(openStream(log, "s", { dialect: "engine" }))).flat();
    expect(all.map(({ data }) => data)).toEqual(frames.map(({ text }) => text));
  });

  it("returns the same stream for a repeated key", async () => {
    const { fetch, log } = await createServerFixture({ script: [{ text: "Once." }] });
    const init = say({ content: "Hi" }, { "idempotency-key": "k" });
    const response = await fetch("/api/chat", init);
    const events = await readSse(response);
    expect(await readSse(await fetch("/api/chat", init))).toEqual(events);
    expect(await log.listRuns(String(parse(events[0] as SseEvent).data["session_id"]))).toHaveLength(1);
  });

  it("rejects invalid requests with a JSON error", async () => {
    const { ask, log } = await createServerFixture();
    const refuse = (body: unknown, status: number, headers = {}) => ask("POST", "/api/chat", body, { status, headers });
    expect(await refuse({ session_id: "s" }, 400)).toMatchObject({ code: "invalid_request" });
    expect(await refuse({ content: 1 }, 400)).toMatchObject({ code: "invalid_request" });
    for (const content of ["", " \n"])
      expect(await refuse({ content }, 400)).toMatchObject({ code: "invalid_command", detail: "`content` is empty" });
    expect(await refuse({ content: "x", agent: "unknown" }, 404)).toMatchObject({ code: "unknown_agent" });
    const cursor = { "last-event-id": `${ENCODER_VERSION}.AAAAAAAA.1` };
    expect(await refuse({ content: "x" }, 400, cursor)).toMatchObject({ code: "invalid_request" });
    expect(await refuse({ session_id: "unknown" }, 404, cursor)).toMatchObject({ code: "unknown_session" });
    await log.createSession("s");
    expect(await refuse({ session_id: "s" }, 410, cursor)).toMatchObject({ code: "cursor_stale" });
    expect(await refuse({ session_id: "s" }, 400, { "last-event-id": "x" })).toMatchObject({ code: "cursor_invalid" });
    await ask("GET", "/api/chat", undefined, { status: 400 });
    await ask("GET", "/api/chat?session_id=unknown", undefined, { status: 404 });
    await ask("GET", "/api/chat?session_id=s", undefined, { status: 204 });
  });
});
