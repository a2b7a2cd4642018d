// The results of tools that clients of AG-UI carry out: each is in the messages exactly once, with any number of calls,
// requests and clients.
import type { Message, Tool } from "@ag-ui/client";
import { describe, expect, test } from "vitest";
import { startAgUiServer, VERSIONS } from "./ag-ui-fixture.ts";

const ASK = { name: "ask", input: { question: "Which?" } };
const ADD = { name: "add", input: { a: 1, b: 2 }, id: "c2" };
const TOOLS: Tool[] = [{ name: "ask", description: "Asks", parameters: { type: "object", properties: {} } }];
const QUESTION: Message = { id: "u", role: "user", content: "A colour?" };

const answer = (toolCallId: string, content: string): Message => ({
  id: `own-${toolCallId}`,
  role: "tool",
  toolCallId,
  content,
});

/** Tool messages as `call: content`. */
const resultsOf = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap((message) =>
    message.role === "tool" ? [`${message.toolCallId}: ${message.content as string}`] : [],
  );

const rolesOf = (messages: readonly Message[]): readonly string[] => messages.map(({ role }) => role);

describe.each(VERSIONS)("results of the tools of HttpAgent %s", (_version, Agent) => {
  const load = (url: string, initialMessages: readonly Message[]) =>
    new Agent({ url, threadId: "t", initialMessages: structuredClone(initialMessages) as Message[] });

  test("are there once: live, when the request is repeated, and in a snapshot", async () => {
    const calls = [{ ...ASK, id: "c1" }, ADD];
    const { url } = await startAgUiServer([{ text: "I ask.", calls }, { text: "Blue it is." }, { text: "Yes." }]);
    const client = load(url, [QUESTION]);
    await client.runAgent({ runId: "r-1", tools: TOOLS });
    client.addMessage(answer("c1", "blue"));
    const sent = structuredClone(client.messages);
    expect((await client.runAgent({ runId: "r-2", tools: TOOLS })).result).toBe("Blue it is.");
    const live = client.messages;
    expect(resultsOf(live).toSorted()).toEqual(["c1: blue", "c2: 3"]);
    // The client keeps its own message.
    expect(live.map(({ id }) => id)).toContain("own-c1");
    // Again, by the same client, by one that was reloaded before the answer, and by one that has only the question.
    const reloaded = load(url, sent);
    for (const [again, runId] of [
      [client, "r-2"],
      [reloaded, "r-2"],
      [load(url, [QUESTION]), "r-1"],
    ] as const) {
      await again.runAgent({ runId, tools: TOOLS });
      expect(resultsOf(again.messages).toSorted()).toEqual(["c1: blue", "c2: 3"]);
      expect(rolesOf(again.messages)).toEqual(["user", "assistant", "tool", "tool", "assistant"]);
    }
    reloaded.addMessage({ id: "u2", role: "user", content: "Sure?" });
    expect((await reloaded.runAgent({ runId: "r-3", tools: TOOLS })).result).toBe("Yes.");
    expect(resultsOf(reloaded.messages)).toHaveLength(2);
  });

  test("count one by one, each in its own request", async () => {
    const calls = ["c1", "c2", "c3"].map((id) => ({ ...ASK, id }));
    const { url, log } = await startAgUiServer([{ text: "I ask.", calls }, { text: "Done." }]);
    const client = load(url, [QUESTION]);
    await client.runAgent({ runId: "r-1", tools: TOOLS });
    for (const call of ["c2", "c1", "c3"]) {
      client.addMessage(answer(call, `for ${call}`));
      await client.runAgent({ runId: `r-${call}`, tools: TOOLS });
    }
    expect(client.messages.at(-1)).toMatchObject({ role: "assistant", content: "Done." });
    expect(resultsOf(client.messages)).toEqual(["c2: for c2", "c1: for c1", "c3: for c3"]);
    expect(await log.listRuns("t")).toMatchObject([{ status: "completed" }]);
  });

  test("are those of the run if another client was faster", async () => {
    const { url } = await startAgUiServer([{ text: "I ask.", calls: [{ ...ASK, id: "c1" }] }, { text: "Blue it is." }]);
    const first = load(url, [QUESTION]);
    await first.runAgent({ runId: "r-1", tools: TOOLS });
    const second = load(url, first.messages);
    first.addMessage(answer("c1", "blue"));
    await first.runAgent({ runId: "r-2", tools: TOOLS });
    second.addMessage(answer("c1", "red"));
    expect((await second.runAgent({ runId: "r-3", tools: TOOLS })).result).toBe("Blue it is.");
    expect(resultsOf(second.messages)).toEqual(["c1: blue"]);
    expect(rolesOf(second.messages)).toEqual(rolesOf(first.messages));
  });

  test("are there once if the call failed, is empty, or is not a text", async () => {
    const calls = ["c1", "c2", "c3"].map((id) => ({ ...ASK, id }));
    const { url } = await startAgUiServer([{ text: "I ask.", calls }, { text: "Done." }]);
    const client = load(url, [QUESTION]);
    await client.runAgent({ runId: "r-1", tools: TOOLS });
    client.addMessages([
      { ...answer("c1", ""), error: "No user" } as Message,
      answer("c2", ""),
      answer("c3", '{"colour":"blue"}'),
    ]);
    expect((await client.runAgent({ runId: "r-2", tools: TOOLS })).result).toBe("Done.");
    expect(resultsOf(client.messages)).toEqual(["c1: ", "c2: ", 'c3: {"colour":"blue"}']);
  });

  test("and approvals of the same answer do not hide each other", async () => {
    const calls = ["a", "b"].map((path, index) => ({ name: "remove", input: { path }, id: `c${index}` }));
    const { url, ran } = await startAgUiServer([{ text: "I remove.", calls }, { text: "Done." }]);
    const client = load(url, [QUESTION]);
    await client.runAgent({ runId: "r-1" });
    const other = load(url, client.messages);
    const approve = (id: string) => ({ interruptId: id, status: "resolved" as const, payload: true });
    await other.runAgent({ runId: "r-2", resume: [approve("c0")] });
    // This client does not know that one of the two is answered.
    expect((await client.runAgent({ runId: "r-3", resume: [approve("c0"), approve("c1")] })).result).toBe("Done.");
    expect(ran).toHaveLength(2);
    expect(resultsOf(client.messages).toSorted()).toEqual(["c0: removed a", "c1: removed b"]);
  });
});
