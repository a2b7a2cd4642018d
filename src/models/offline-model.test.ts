import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { callModel } from "./call-model.ts";
import type { ModelMessage, ModelTool } from "./model.ts";
import { OfflineModel } from "./offline-model.ts";
import { recordListener } from "../../test/contracts/record-listener.ts";

const tool = (name: string, properties = {}): ModelTool => ({
  name,
  description: name,
  inputSchema: { type: "object", properties },
});
const TOOLS = ["calculator", "current_time", "ask_consent", "write_file", "delete_file", "read_file"].map((name) =>
  tool(name),
);

const user = (text: string): ModelMessage => ({ role: "user", content: [{ type: "text", text }] });

async function ask(messages: readonly ModelMessage[], tools: readonly ModelTool[] = TOOLS, options = {}) {
  const { recorded, listener } = recordListener();
  const result = await callModel(new OfflineModel(), { messages, tools, ...options }, listener);
  return { ...result, recorded, made: result.calls.map(({ name, input }) => [name, input]) };
}

/** Asks and runs the calls with `answer` until there is a reply. */
async function converse(text: string, answer: (tool: string) => string, before: readonly ModelMessage[] = []) {
  const messages = [...before, user(text)];
  const made: unknown[] = [];
  for (let turn = 0; turn < 5; turn++) {
    const { content, calls, text: said } = await ask(messages);
    messages.push({ role: "assistant", content });
    if (calls.length === 0) return { said, made, messages };
    made.push(calls.map(({ name, input }) => [name, input]));
    const results = calls.map(({ callId, name }) => {
      const value = answer(name);
      const type = value.startsWith("Error") ? ("error-text" as const) : ("text" as const);
      return { type: "tool-result" as const, toolCallId: callId, toolName: name, output: { type, value } };
    });
    messages.push({ role: "tool", content: results });
  }
  throw new Error("the conversation did not end");
}

describe("the offline model", () => {
  it("adds its label once per conversation", async () => {
    const first = await converse("17*23", () => "391");
    expect(first.said).toBe("Offline model: 17*23 = 391.");
    const second = await converse("1+1", () => "2", first.messages);
    expect(second.said).toBe("1+1 = 2.");
  });

  it.each<[string, ...string[]]>([
    ["write hello to b.txt and read b.txt", "write_file b.txt hello", "read_file b.txt"],
    ["compute 6*7 and write the result to c.txt", "calculator", "write_file c.txt ok"],
    ["Ask me for approval, then delete a.txt", "ask_consent", "delete_file a.txt"],
    ["What is 1+2 and 3*4?", "calculator, calculator"],
  ])("runs calls one after the other if the order matters: %s", async (text, ...rounds) => {
    const { made } = await converse(text, () => "ok");
    const shown = (made as [string, Record<string, string>][][]).map((round) =>
      round.map(([name, { path, content }]) => [name, path, content].filter(Boolean).join(" ")).join(", "),
    );
    expect(shown).toEqual(rounds);
  });

  it("does nothing else without approval", async () => {
    const refused = await converse("Ask me for approval, then delete a.txt", () => "Error: rejected");
    expect(refused.made).toHaveLength(1);
    expect(refused.said).toContain("Not done (your approval): Error: rejected. Not done (delete a.txt): not approved.");
    const { made, text } = await ask([user("Ask me first, then delete a.txt")], [tool("delete_file")]);
    expect(made).toEqual([]);
    expect(text).toContain("the tool ask_consent is not available");
  });

  it("reports a failed call and a missing tool", async () => {
    expect((await converse("read b.txt", () => "Error: no such file")).said).toBe(
      "Offline model: Not done (read b.txt): Error: no such file.",
    );
    const { made, text } = await ask([user("17*23")], []);
    expect(made).toEqual([]);
    expect(text).toContain("Not done (17*23): the tool calculator is not available.");
    expect((await ask([user("17*23")], TOOLS, { toolChoice: "none" })).made).toEqual([]);
  });

  it("answers with JSON on request", async () => {
    const plain = await ask([user("Hello")], [], { responseFormat: {} });
    expect(JSON.parse(plain.text)).toEqual({ answer: expect.stringContaining("Offline model") as string });
    const { messages } = await converse("What is 17*23?", () => "391");
    const schema = {
      type: "object",
      properties: {
        summary: { type: "string" },
        value: { type: "integer" },
        sure: { type: "boolean" },
        kind: { enum: ["number", "text"] },
      },
    };
    const filled = await ask(messages.slice(0, -1), TOOLS, { responseFormat: { schema } });
    const summary = "Offline model: 17*23 = 391.";
    expect(JSON.parse(filled.text)).toEqual({
      summary,
      value: 391,
      sure: false,
      kind: "number",
    });
  });

  it("makes a required call", async () => {
    const answer = tool("final_answer", { result: { type: "number" }, note: { type: "string", maxLength: 9 } });
    const toolChoice = { toolName: "final_answer" };
    const { messages } = await converse("What is 17*23?", () => "391");
    expect((await ask(messages, [...TOOLS, answer], { toolChoice })).made).toMatchObject([
      ["final_answer", { result: 391 }],
    ]);
    const required = { toolChoice: "required" };
    expect((await ask([user("1+1")], [...TOOLS, answer], required)).made).toEqual([
      ["calculator", { expression: "1+1" }],
    ]);
    expect((await ask([user("Hello")], [answer], required)).made).toMatchObject([["final_answer", {}]]);
  });

  it("streams word by word after some reasoning, and counts tokens", async () => {
    const { recorded, usage } = await ask([user("17*23")]);
    const kinds = recorded.map(([what]) => what);
    expect(kinds.indexOf("reasoning")).toBe(1);
    expect(kinds.filter((what) => what === "input").length).toBeGreaterThan(2);
    expect(usage.completionTokens).toBeGreaterThan(5);
    const chinese = await ask([user("你好")]);
    const deltas = chinese.recorded.filter(([what]) => what === "text").map(([, delta]) => delta as string);
    expect(deltas.length).toBeGreaterThan(10);
  });

  it("waits delayMs before each delta and stops when cancelled", async () => {
    const model = new OfflineModel({ delayMs: 5 });
    const abort = new AbortController();
    const { listener } = recordListener({ onText: () => abort.abort() });
    const timers = vi.spyOn(globalThis, "setTimeout");
    const call = callModel(model, { messages: [user("Hello")] }, listener, { signal: abort.signal });
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    const pauses = timers.mock.calls.filter(([, ms]) => ms === 5);
    timers.mockRestore();
    expect(pauses).not.toEqual([]);
  });

  const STEP = "Question:\nGame of 24: 4 9 10 13\n\nSteps so far:\n(none)\n\nWrite the next step only.";

  it("answers the prompts of a search faster", async () => {
    const listPauses = async (text: string): Promise<readonly unknown[]> => {
      const timers = vi.spyOn(globalThis, "setTimeout");
      await callModel(new OfflineModel({ delayMs: 10 }), { messages: [user(text)] }, recordListener().listener);
      const pauses = timers.mock.calls.map(([, ms]) => ms).filter((ms) => ms !== undefined && ms < 100);
      timers.mockRestore();
      return [...new Set(pauses)];
    };
    expect(await listPauses("Hello")).toEqual([10]);
    expect(await listPauses(STEP)).toEqual([4]);
  });

  it("gives the same answer to the same prompt", async () => {
    const word = fc.constantFrom(
      ...'what is 1 + ( ) 23 * / save delete file a.txt to it 写入 把 几点 的 " “ ? \n'.split(" "),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string(),
          fc.array(word).map((words) => words.join(" ")),
        ),
        async (text) => {
          const { recorded, ...first } = await ask([user(text)]);
          const { recorded: recordedAgain, ...second } = await ask([user(text)]);
          expect(second).toEqual(first);
          expect(recordedAgain).toEqual(recorded);
          expect(first.text !== "" || first.made.length > 0).toBe(true);
        },
      ),
    );
  });

  it("uses its own seed or that of the call", async () => {
    const sample = async (own: number | undefined, seed?: number): Promise<string> => {
      const model = new OfflineModel(own === undefined ? {} : { seed: own });
      const settings = seed === undefined ? {} : { settings: { seed } };
      return (await callModel(model, { messages: [user(STEP)], ...settings }, recordListener().listener)).text;
    };
    const seeds = Array.from({ length: 10 }, (_, seed) => seed);
    const own = await Promise.all(seeds.map((seed) => sample(seed)));
    expect(new Set(own).size).toBeGreaterThan(2);
    expect(await Promise.all(seeds.map((seed) => sample(99, seed)))).toEqual(own);
    expect(await sample(undefined)).toBe(own[1]);
  });

  // With a quadratic cost, the test would time out.
  it("reads long messages", async () => {
    const text = "write ".repeat(20_000) + "把".repeat(20_000) + "((((".repeat(20_000) + "1+".repeat(200_000);
    expect((await ask([user(text)])).text).not.toBe("");
  });
});
