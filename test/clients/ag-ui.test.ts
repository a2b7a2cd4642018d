// Clients of AG-UI, the real ones, against a server.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Message } from "@ag-ui/client";
import { CUT_SAMPLES, LONG } from "../sampling.ts";
import { say, startAgUiServer, startCutServer, VERSIONS } from "./ag-ui-fixture.ts";

/** Messages without their metadata, which has durations. */
const plain = (messages: readonly Message[]): unknown =>
  JSON.parse(JSON.stringify(messages, (key, value: unknown) => (key === "metadata" ? undefined : value)));

const CALL = { name: "add", input: { a: 1, b: 2 }, id: "c1" };
const CALL_2 = { ...CALL, id: "c2" };
const REMOVE = { name: "remove", input: { path: "a" }, id: "c1" };

afterEach(() => {
  vi.restoreAllMocks();
});

// serve-kill.test.ts uses both versions in the short run too.
describe.each(LONG ? VERSIONS : VERSIONS.slice(0, 1))("HttpAgent %s", (version, Agent) => {
  test("receives thoughts, text and tool calls, and asks again", async () => {
    const { url, log, ran } = await startAgUiServer([
      { reasoning: "I must add.", text: "Let me see.", calls: [CALL] },
      { text: "It is 3." },
      { text: "Yes." },
    ]);
    const client = new Agent({ url, threadId: "t" });
    const { newMessages, ...answer } = await say(client, "What is 1 + 2?", "r-1");
    expect([answer.result, ran]).toEqual(["It is 3.", [["add", { a: 1, b: 2 }]]]);
    expect(newMessages.map(({ role }) => role)).toEqual(["reasoning", "assistant", "tool", "assistant"]);
    expect((await say(client, "Sure?")).result).toBe("Yes.");
    expect(client.messages.at(-1)).toMatchObject({ role: "assistant", content: "Yes." });
    const runs = await log.listRuns("t");
    expect(runs.map(({ requestId }) => requestId)).toEqual(["u-5", "u-0"]);
    expect(runs[1]?.runId).toBe("r-1");
  });

  test("sends its context and system messages to the model", async () => {
    const { url, log } = await startAgUiServer([{ text: "Oui." }]);
    const initialMessages: Message[] = [{ id: "s", role: "system", content: "Answer in French." }];
    const client = new Agent({ url, threadId: "t", initialMessages });
    client.addMessage({ id: "u", role: "user", content: "Is it?" });
    await client.runAgent({ context: [{ description: "Page", value: "Orders" }] });
    const { texts } = await log.read("t", { after: 0, limit: 1 });
    expect(JSON.parse(texts[0] ?? "")).toMatchObject({
      message: "Is it?",
      instructions: "Answer in French.\n\nPage: Orders",
      context: { "ag-ui": { context: [{ description: "Page", value: "Orders" }] } },
    });
  });

  test.each([
    ["approves", { approved: true }, ["remove", { path: "a" }], "removed a"],
    [
      "approves with other arguments",
      { approved: true, arguments: { path: "b" } },
      ["remove", { path: "b" }],
      expect.stringContaining("removed b") as string,
    ],
    ["rejects", { approved: false, reason: "Keep it" }, undefined, expect.stringContaining("Keep it") as string],
  ])("%s a call with resume, in one run of the log", async (_what, payload, call, content) => {
    const { url, log, ran } = await startAgUiServer([{ text: "I remove.", calls: [REMOVE] }, { text: "Well." }]);
    const client = new Agent({ url, threadId: "t" });
    await say(client, "Remove a", "r-1");
    expect(client.pendingInterrupts).toMatchObject([
      {
        id: "c1",
        reason: "approval_required",
        metadata: { kind: "approval", toolName: "remove", input: { path: "a" } },
      },
    ]);
    const before = client.messages.length;
    const started = vi.fn();
    const resume = [{ interruptId: "c1", status: "resolved" as const, payload }];
    await client.runAgent({ runId: "r-2", resume }, { onRunStartedEvent: ({ event }) => void started(event.runId) });
    expect(started.mock.calls).toEqual([["r-2"]]);
    expect([ran, client.pendingInterrupts]).toEqual([call === undefined ? [] : [call], []]);
    expect(plain(client.messages.slice(before))).toEqual([
      { id: expect.any(String) as string, role: "tool", toolCallId: "c1", content },
      { id: expect.any(String) as string, role: "assistant", content: "Well." },
    ]);
    expect((await log.listRuns("t")).map(({ runId, status }) => [runId, status])).toEqual([["r-1", "completed"]]);
  });

  test("receives all approvals of an answer at once, and those that follow in the next response", async () => {
    const calls = ["a", "b"].map((path, index) => ({ name: "remove", input: { path }, id: `c${index}` }));
    const { url, ran } = await startAgUiServer([
      { calls },
      { calls: [{ name: "remove", input: { path: "c" }, id: "c2" }] },
      { text: "Done." },
    ]);
    const client = new Agent({ url, threadId: "t" });
    await say(client, "Remove all");
    const resolve = () => {
      const resume = client.pendingInterrupts.map(({ id }) => ({
        interruptId: id,
        status: "resolved" as const,
        payload: true,
      }));
      return client.runAgent({ resume });
    };
    expect(client.pendingInterrupts.map(({ id }) => id)).toEqual(["c0", "c1"]);
    await resolve();
    expect(client.pendingInterrupts.map(({ id }) => id)).toEqual(["c2"]);
    expect((await resolve()).result).toBe("Done.");
    expect(ran).toHaveLength(3);
    expect(client.messages.filter(({ role }) => role === "tool")).toHaveLength(3);
  });

  test("repeats a request without starting a second run, and has each message once", async () => {
    const { url, log, ran } = await startAgUiServer([
      { reasoning: "I must add.", text: "Let me see.", calls: [CALL] },
      { text: "It is 3." },
    ]);
    const client = new Agent({ url, threadId: "t" });
    await say(client, "What is 1 + 2?", "r-1");
    const whole = plain(client.messages);
    // As after a reload in the middle of the answer, with a part of the messages.
    const other = new Agent({ url, threadId: "t", initialMessages: client.messages.slice(0, 3) });
    for (const message of other.messages.slice(1))
      message.content = typeof message.content === "string" ? message.content.slice(0, 4) : "";
    for (const repeated of [client, other]) {
      expect((await repeated.runAgent({ runId: "r-1" })).result).toBe("It is 3.");
      expect(plain(repeated.messages)).toEqual(whole);
    }
    expect([(await log.listRuns("t")).length, ran.length]).toEqual([1, 1]);
  });

  test("keeps its instructions when a request is repeated", async () => {
    const { url } = await startAgUiServer([{ text: "Hello." }]);
    const system = { id: "system-1", role: "system", content: "Be brief." } as const;
    const client = new Agent({ url, threadId: "t", initialMessages: [system] });
    await say(client, "Hi", "r-1");
    const whole = plain(client.messages);
    await client.runAgent({ runId: "r-1" });
    expect([client.messages[0], plain(client.messages)]).toEqual([system, whole]);
  });

  test("repeats an answer without carrying out the call again", async () => {
    const { url, ran } = await startAgUiServer([{ text: "I remove.", calls: [REMOVE] }, { text: "Done." }]);
    const client = new Agent({ url, threadId: "t" });
    await say(client, "Remove a", "r-1");
    const resume = [{ interruptId: "c1", status: "resolved" as const, payload: true }];
    await client.runAgent({ runId: "r-2", resume });
    const whole = plain(client.messages);
    expect((await client.runAgent({ runId: "r-2", resume })).result).toBe("Done.");
    expect([plain(client.messages), ran.length]).toEqual([whole, 1]);
    // Another client answers later: the first answer counts, and it receives the rest as well.
    const late = new Agent({ url, threadId: "t", initialMessages: client.messages.slice(0, 2) });
    await late.runAgent({ runId: "r-3", resume: [{ interruptId: "c1", status: "cancelled" }] });
    expect([plain(late.messages), ran.length]).toEqual([whole, 1]);
  });

  test("receives an error, and the end of a run that was stopped", async () => {
    const { url, origin, log } = await startAgUiServer([
      { fault: { kind: "error", error: new Error("No model") } },
      { text: "Slow", fault: { kind: "stall", after: 1 } },
    ]);
    const client = new Agent({ url, threadId: "t" });
    const failed = vi.fn();
    const errors = { onRunErrorEvent: ({ event }: { event: { code?: string } }) => void failed(event.code) };
    client.addMessage({ id: "u", role: "user", content: "Hi" });
    await client.runAgent({}, errors).catch(() => undefined);
    expect(failed).toHaveBeenCalledTimes(1);
    client.addMessage({ id: "v", role: "user", content: "Again" });
    const outcome = vi.fn();
    const stopped = client.runAgent(
      { runId: "r-2" },
      { ...errors, onRunFinishedEvent: ({ event }) => void outcome(event.outcome?.type) },
    );
    await vi.waitFor(async () => expect((await log.listRuns("t"))[0]?.status).toBe("live"), { timeout: 20_000 });
    const headers = { "content-type": "application/json" };
    const stop = await fetch(`${origin}/ag-ui/threads/t/stop`, { method: "POST", headers, body: '{"runId":"r-2"}' });
    expect(stop.ok).toBe(true);
    await stopped.catch(() => undefined);
    // Clients before 1.0 refuse the outcome `cancelled`.
    if (version === "1.0.0") expect(outcome.mock.calls).toEqual([["cancelled"]]);
    else expect(failed).toHaveBeenLastCalledWith("cancelled");
    expect((await log.listRuns("t"))[0]?.status).toBe("cancelled");
  });

  test("lets a run continue when it disconnects, unless it asks to cancel it", async () => {
    const { url, log } = await startAgUiServer([{ text: "Slow", fault: { kind: "stall", after: 1 } }]);
    const client = new Agent({ url: `${url}?on_disconnect=cancel`, threadId: "t" });
    client.addMessage({ id: "u", role: "user", content: "Hi" });
    const run = client.runAgent();
    await vi.waitFor(() => expect(client.messages).toHaveLength(2), { timeout: 20_000 });
    client.abortRun();
    await run;
    await vi.waitFor(async () => expect((await log.listRuns("t"))[0]?.status).toBe("cancelled"), { timeout: 20_000 });
  });

  test("shares a thread with another client", async () => {
    const gate = Promise.withResolvers<void>();
    const { url } = await startAgUiServer([
      { text: "One." },
      { text: "Two.", until: gate.promise },
      { text: "Three." },
    ]);
    const [one, two] = [new Agent({ url, threadId: "t" }), new Agent({ url, threadId: "t" })];
    await say(one, "1");
    const second = say(one, "2");
    const third = say(two, "3");
    gate.resolve();
    expect([(await second).result, (await third).result]).toEqual(["Two.", "Three."]);
    expect(two.messages).toHaveLength(2);
  });

  test("carries out its own tools, and sends the results with the next request", async () => {
    const ask = { name: "ask", input: { question: "Which?" }, id: "c1" };
    const { url, log } = await startAgUiServer([{ text: "I ask.", calls: [ask, CALL_2] }, { text: "Blue it is." }]);
    const client = new Agent({ url, threadId: "t" });
    const tools = [{ name: "ask", description: "Asks the user", parameters: { type: "object", properties: {} } }];
    client.addMessage({ id: "u", role: "user", content: "A colour?" });
    const outcome = vi.fn();
    await client.runAgent({ runId: "r-1", tools }, { onRunFinishedEvent: ({ event }) => void outcome(event.outcome) });
    const pending = version === "1.0.0" ? { pendingToolCallIds: ["c1"] } : {};
    expect(outcome.mock.calls).toEqual([[{ type: "success", ...pending }]]);
    expect(client.messages.at(1)).toMatchObject({ toolCalls: [{ id: "c1" }, { id: "c2" }] });
    const before = structuredClone(client.messages);
    client.addMessage({ id: "answer", role: "tool", toolCallId: "c1", content: "blue" });
    expect((await client.runAgent({ runId: "r-2", tools })).result).toBe("Blue it is.");
    // The result of the other tool may come with either response.
    const results = client.messages.filter(({ role }) => role === "tool");
    expect(new Set(results.map((message) => (message as { toolCallId: string }).toolCallId))).toEqual(
      new Set(["c1", "c2"]),
    );
    expect(await log.listRuns("t")).toHaveLength(1);
    // The same request again.
    const again = new Agent({ url, threadId: "t", initialMessages: [...before, results.at(-1) as Message] });
    await again.runAgent({ runId: "r-2" });
    expect((await log.listRuns("t")).length).toBe(1);
  });

  test("answers an edited message and an answer again in a new version of the thread", async () => {
    const { url, log } = await startAgUiServer([
      { text: "One." },
      { text: "Two." },
      { text: "Zwei." },
      { text: "Due." },
      { text: "Three." },
    ]);
    const client = new Agent({ url, threadId: "t" });
    await say(client, "1");
    await say(client, "2", "r-2");
    // The last answer again: the same message, without what followed it.
    client.setMessages(client.messages.slice(0, 3));
    expect((await client.runAgent({ runId: "again" })).result).toBe("Zwei.");
    // Another message in its place.
    client.setMessages(client.messages.slice(0, 2));
    expect((await say(client, "due")).result).toBe("Due.");
    expect((await say(client, "3")).result).toBe("Three.");
    expect(client.messages).toHaveLength(6);
    const versions = await log.listBranches("t", {});
    expect(versions.map(({ rootId, forkedFrom }) => [rootId, forkedFrom?.runId])).toEqual([
      ["t", undefined],
      ["t", "r-2"],
      ["t", "again"],
    ]);
    expect(await log.listRuns("t")).toHaveLength(2);
    expect(await log.listRuns(versions[2]?.sessionId ?? "")).toHaveLength(3);
    // A repeated request is the same run, also if it is not in the newest version.
    expect((await client.runAgent({ runId: "again" })).result).toBe("Zwei.");
    expect(await log.listBranches("t", {})).toHaveLength(3);
  });

  test("receives why a request is refused", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    const { url } = await startAgUiServer([]);
    const client = new Agent({ url: `${url}/missing`, threadId: "t" });
    await expect(say(client, "Hi")).rejects.toThrow(/404/);
    const empty = new Agent({ url, threadId: "t" });
    await expect(empty.runAgent()).rejects.toThrow(/400/);
  });

  test("reports a cut, and has the same messages when the request is repeated", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    const turns = [{ reasoning: "I must add.", text: "Let me see.", calls: [CALL], chunk: 4 }, { text: "It is 3." }];
    const { url, proxy, log } = await startCutServer((_request, turn) => turns[turn % 2] ?? {});
    const whole = new Agent({ url, threadId: "whole", headers: { connection: "close" } });
    await say(whole, "What is 1 + 2?");
    for (let frames = 1, isCut = true; isCut; frames += CUT_SAMPLES.step) {
      const threadId = `cut-${frames}`;
      proxy.setPlan((index) => (index === 0 ? { breach: { frames, how: "reset" } } : undefined));
      const client = new Agent({ url, threadId, headers: { connection: "close" } });
      // After a cut, the promise of the client may stay pending.
      const isWhole = await Promise.race([
        say(client, "What is 1 + 2?", "r-1").then(
          () => true,
          () => false,
        ),
        nextUnhandled(),
      ]);
      isCut = proxy.breaches > 0;
      expect([frames, isWhole]).toEqual([frames, !isCut]);
      const again = new Agent({ url, threadId, initialMessages: client.messages });
      if (isCut) await again.runAgent({ runId: "r-1" });
      expect([frames, plain(again.messages)]).toEqual([frames, plain(whole.messages)]);
      expect(await log.listRuns(threadId)).toHaveLength(1);
    }
  });
});

/**
 * HttpAgent leaves a promise unhandled when its connection is cut, whatever the server is. Nothing else may be
 * unhandled.
 */
const reasons: unknown[] = [];
let onUnhandled = (): void => undefined;
const note = (reason: unknown): void => {
  reasons.push(reason);
  onUnhandled();
};
const nextUnhandled = (): Promise<false> =>
  new Promise((resolve) => {
    onUnhandled = () => resolve(false);
  });
let listeners: ReturnType<typeof process.listeners<"unhandledRejection">> = [];

beforeEach(() => {
  reasons.length = 0;
  listeners = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", note);
});

afterEach(() => {
  process.off("unhandledRejection", note);
  for (const listener of listeners) process.on("unhandledRejection", listener);
  for (const reason of reasons) expect(String(reason)).toMatch(/terminated|aborted/);
});
