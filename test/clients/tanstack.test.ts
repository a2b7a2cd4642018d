// The client of TanStack AI, the real one, against a server, also through a proxy that cuts its connections.
import { toolDefinition } from "@tanstack/ai";
import { ChatClient, fetchHttpStream, fetchServerSentEvents, type UIMessage } from "@tanstack/ai-client";
import { describe, expect, test, vi } from "vitest";
import { CUT_SAMPLES, sampleCases } from "../sampling.ts";
import type { FaultPlan } from "../server/fault-proxy.ts";
import { startAgUiServer, startCutServer } from "./ag-ui-fixture.ts";

const FORMS = [
  ["server-sent events", (url: string) => fetchServerSentEvents(url, QUICK)],
  ["NDJSON", (url: string) => fetchHttpStream(`${url}?framing=ndjson`, QUICK)],
] as const;
/** Each request has its own connection, so that a cut hits only one. */
const ASK_SCHEMA = { type: "object", properties: { question: { type: "string" } } } as const;
const QUICK = { reconnect: { delayMs: 5 }, headers: { connection: "close" } };
const TURNS = [
  {
    reasoning: "I must add.",
    text: "Let me see.",
    calls: [{ name: "add", input: { a: 1, b: 2 }, id: "c1" }],
    chunk: 4,
  },
  { text: "It is 3.", chunk: 3 },
];
const REMOVAL = [{ text: "I remove.", calls: [{ name: "remove", input: { path: "a" }, id: "c1" }] }, { text: "Done." }];

/** Messages without times, and without what the stream has in addition to the loaded thread. */
function plain(messages: readonly UIMessage[]): unknown {
  const left = new Set(["createdAt", "stepId", "metadata"]);
  return JSON.parse(
    JSON.stringify(messages, (key, value: unknown) => {
      if (left.has(key)) return undefined;
      // IDs of messages of the user are random.
      return typeof value === "object" && value !== null && "role" in value && value.role === "user"
        ? { ...value, id: "user" }
        : value;
    }),
  );
}

const settled = (client: ChatClient): Promise<void> =>
  vi.waitFor(() => expect([client.getIsLoading(), client.getStatus()]).toEqual([false, "ready"]), { timeout: 20_000 });

describe.each(sampleCases(FORMS))("TanStack AI over %s", (_form, connect) => {
  test("receives thoughts, text and calls, and loads the same thread again", async () => {
    const { url } = await startAgUiServer([...TURNS, { text: "Yes." }]);
    const client = new ChatClient({ connection: connect(url), threadId: "t" });
    await client.sendMessage("What is 1 + 2?");
    await client.sendMessage("Sure?");
    expect(client.getMessages().at(-1)?.parts).toMatchObject([{ type: "text", content: "Yes." }]);
    const reloaded = new ChatClient({ connection: connect(url), threadId: "t", persistence: true });
    reloaded.attach();
    await vi.waitFor(() => expect(reloaded.getMessages()).toHaveLength(client.getMessages().length));
    expect(plain(reloaded.getMessages())).toEqual(plain(client.getMessages()));
    expect(client.getError()).toBeUndefined();
  });

  test("answers again in a new version of the thread", async () => {
    const { url, log } = await startAgUiServer([{ text: "One." }, { text: "Two." }, { text: "Three." }]);
    const client = new ChatClient({ connection: connect(url), threadId: "t" });
    await client.sendMessage("Hi");
    await client.reload();
    await client.sendMessage("More");
    const texts = JSON.stringify(client.getMessages().map(({ parts }) => parts));
    expect([texts.includes("One."), texts.includes("Two."), texts.includes("Three.")]).toEqual([false, true, true]);
    const reloaded = new ChatClient({ connection: connect(url), threadId: "t", persistence: true });
    reloaded.attach();
    await vi.waitFor(() => expect(plain(reloaded.getMessages())).toEqual(plain(client.getMessages())));
    expect(await log.listBranches("t", {})).toHaveLength(2);
  });

  test("approves a call, also after a reload", async () => {
    const { url, ran, log } = await startAgUiServer([...REMOVAL, ...REMOVAL]);
    const client = new ChatClient({ connection: connect(url), threadId: "t" });
    await client.sendMessage("Remove a");
    await client.addToolApprovalResponse({ id: "c1", approved: true });
    await vi.waitFor(() => expect(client.getMessages().at(-1)?.parts).toMatchObject([{ content: "Done." }]));
    await settled(client);
    await client.sendMessage("Again");
    const reloaded = new ChatClient({ connection: connect(url), threadId: "t", persistence: true });
    reloaded.attach();
    await vi.waitFor(() => expect(reloaded.getInterrupts()).toHaveLength(1));
    await reloaded.addToolApprovalResponse({ id: reloaded.getInterrupts()[0]?.id ?? "", approved: false });
    await vi.waitFor(() => expect(reloaded.getMessages().at(-1)?.parts).toMatchObject([{ content: "Done." }]));
    await settled(reloaded);
    expect([ran.length, (await log.listRuns("t")).length]).toEqual([1, 2]);
  });

  test("carries out its own tools", async () => {
    const { url, log } = await startAgUiServer([
      { text: "I ask.", calls: [{ name: "ask", input: { question: "Which?" }, id: "c1" }] },
      { text: "Blue it is." },
    ]);
    const ask = toolDefinition({ name: "ask", description: "Asks the user", inputSchema: ASK_SCHEMA }).client(() => ({
      colour: "blue",
    }));
    const client = new ChatClient({ connection: connect(url), threadId: "t", tools: [ask] });
    await client.sendMessage("A colour?");
    await vi.waitFor(() => expect(client.getMessages().at(-1)?.parts).toMatchObject([{ content: "Blue it is." }]));
    await settled(client);
    const [first] = await log.listRuns("t");
    expect([first?.status, (await log.listRuns("t")).length]).toEqual(["completed", 1]);
    expect(JSON.stringify(client.getMessages())).toContain('"output":{"colour":"blue"}');
    const reloaded = new ChatClient({ connection: connect(url), threadId: "t", persistence: true });
    reloaded.attach();
    await vi.waitFor(() => expect(reloaded.getMessages()).toHaveLength(client.getMessages().length));
    for (const { parts } of [client, reloaded].flatMap((each) => each.getMessages().slice(1, 2)))
      expect(parts.filter(({ type }) => type === "tool-result")).toHaveLength(1);
  });

  test("joins a live run after a reload", async () => {
    const gate = Promise.withResolvers<void>();
    const [first, second] = TURNS;
    const { url, log } = await startAgUiServer([{ ...first }, { ...second, until: gate.promise }]);
    const client = new ChatClient({ connection: connect(url), threadId: "t" });
    const sent = client.sendMessage("What is 1 + 2?");
    await vi.waitFor(() => expect(JSON.stringify(client.getMessages())).toContain("tool-result"), { timeout: 20_000 });
    const reloaded = new ChatClient({ connection: connect(url), threadId: "t", persistence: true });
    reloaded.attach();
    await vi.waitFor(() => expect(reloaded.getIsLoading()).toBe(true), { timeout: 20_000 });
    gate.resolve();
    await sent;
    await settled(reloaded);
    expect(plain(reloaded.getMessages())).toEqual(plain(client.getMessages()));
    expect(await log.listRuns("t")).toHaveLength(1);
  });

  test("has the same messages wherever its connections are cut", async () => {
    const { url, proxy, log } = await startCutServer((_request, turn) => TURNS[turn % 2] ?? {});
    const ask = async (threadId: string) => {
      const client = new ChatClient({ connection: connect(url), threadId });
      await client.sendMessage("What is 1 + 2?");
      return [plain(client.getMessages()), client.getError()];
    };
    const whole = await ask("whole");
    for (let frames = 1, cut = 1; cut > 0; frames += CUT_SAMPLES.step) {
      proxy.setPlan(cutFirst(frames));
      expect([frames, ...(await ask(`cut-${frames}`))]).toEqual([frames, ...whole]);
      cut = proxy.breaches;
      expect(await log.listRuns(`cut-${frames}`)).toHaveLength(1);
    }
  });

  test("approves a call once wherever its connections are cut", async () => {
    const { url, proxy, ran } = await startCutServer((_request, turn) => REMOVAL[turn % 2] ?? {});
    const ask = async (threadId: string, plans: readonly FaultPlan[]) => {
      const client = new ChatClient({ connection: connect(url), threadId });
      proxy.setPlan(plans[0] ?? NO_FAULTS);
      await client.sendMessage("Remove a");
      const isCut = [proxy.breaches > 0];
      proxy.setPlan(plans[1] ?? NO_FAULTS);
      const id = client.getInterrupts()[0]?.id ?? "";
      await client.addToolApprovalResponse({ id, approved: true });
      await expect.poll(() => client.getMessages().at(-1)?.parts).toMatchObject([{ content: "Done." }]);
      await settled(client);
      isCut.push(proxy.breaches > 0);
      return { seen: JSON.stringify(plain(client.getMessages())).replaceAll(id, "call"), isCut };
    };
    const whole = await ask("whole", []);
    let [frames, isCut] = [1, true];
    for (; isCut; frames += CUT_SAMPLES.step) {
      const cut = await ask(`cut-${frames}`, [cutFirst(frames), cutFirst(frames)]);
      expect([frames, withoutNumbers(cut.seen)]).toEqual([frames, withoutNumbers(whole.seen)]);
      isCut = cut.isCut.includes(true);
    }
    expect(ran).toHaveLength(1 + Math.ceil((frames - 1) / CUT_SAMPLES.step));
  });
});

const NO_FAULTS: FaultPlan = () => undefined;

/** Cuts the first connection after some frames. */
const cutFirst =
  (frames: number): FaultPlan =>
  (index) =>
    index === 0 ? { breach: { frames, how: frames % 2 === 0 ? "reset" : "end" } } : undefined;

/** IDs of messages have the number of a record, and a call may take another ID. */
const withoutNumbers = (text: string): string => text.replaceAll(/"message-\d+"/g, '"message"');
