// A run with agents as tools, in every dialect: the stream breaks no rule, and clients show only the answer of the run as
// its answer.
import { readUIMessageStream, type UIMessageChunk } from "ai";
import { expect, it } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { listNodes, playGot } from "../contracts/got-script.ts";
import { RECEIVER_LIMITS } from "../../src/client/limits.ts";
import { SessionFold } from "../../src/client/view/session-fold.ts";
import { createStreamCheck, DIALECT_NAMES, DIALECTS, type DialectName } from "../../src/dialects/index.ts";
import type { ScriptedTurn } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import type { StampedRecord } from "../../src/protocol/index.ts";
import { createAgentFixture, SESSION } from "./agent-fixture.ts";
import { createTools } from "./counted-tools.ts";

const HIDDEN = "only for the caller";
const plan = listNodes([{ id: "a" }, { id: "b" }, { id: "end", needs: ["a", "b"], operation: "aggregate" }]);

async function recordRun(): Promise<readonly StampedRecord[]> {
  const { tools } = createTools();
  const turns: readonly ScriptedTurn[] = [
    {
      reasoning: "The helper thinks.",
      text: `Text ${HIDDEN}. `,
      calls: [
        { name: "add", input: { a: 1, b: 2 }, id: "n1" },
        { name: "remove", input: { path: "x" }, id: "n2" },
        { name: "fail", input: {}, id: "n3" },
      ],
    },
    { text: `An answer ${HIDDEN}.` },
  ];
  const helper = agent({ model: new ScriptedModel(turns), tools });
  const answer = (): ScriptedTurn => ({ text: `Graph ${HIDDEN}.` });
  const thinker = agent({ kind: "got", model: new ScriptedModel(playGot({ plan, answer })), retryMs: 0 });
  const fixture = await createAgentFixture(
    [
      {
        reasoning: "The caller thinks.",
        text: "One moment. ",
        calls: [
          { name: "help", input: { message: "Add" }, id: "p1" },
          { name: "think", input: { message: "Think" }, id: "p2" },
        ],
      },
      { text: "All is done." },
    ],
    {
      tools: [
        helper.asTool({ name: "help", description: "Helps." }),
        thinker.asTool({ name: "think", description: "Thinks." }),
      ],
    },
  );
  const asked = fixture.wait("tool_approval");
  const run = await fixture.ask("Go");
  await asked;
  run.answerApproval({ callId: "n2", decision: "approved" });
  expect(await run.ended).toMatchObject({ status: "completed" });
  return fixture.read();
}

let recording: Promise<readonly StampedRecord[]> | undefined;

async function encode(name: DialectName): Promise<readonly string[]> {
  const encoder = DIALECTS[name].createEncoder();
  return (await (recording ??= recordRun())).flatMap((record) => encoder.encode(record));
}

it.each(DIALECT_NAMES)("%s: the stream breaks no rule", async (name) => {
  const check = createStreamCheck(DIALECTS[name]);
  const issues = (await encode(name)).flatMap((frame) => check.check(frame).issues);
  expect([...issues, ...check.end()].map(({ rule, message }) => `${rule}: ${message}`)).toEqual([]);
});

it.each(DIALECT_NAMES)("%s: only the answer of the run is its answer", async (name) => {
  const decoder = DIALECTS[name].createDecoder();
  const fold = new SessionFold(SESSION, RECEIVER_LIMITS);
  for (const frame of await encode(name)) for (const record of decoder.decode(frame).records) fold.apply(record, true);
  const { turns } = fold.snapshot();
  const messages = turns.flatMap((turn) => turn.messages.filter(({ role }) => role === "assistant"));
  expect(messages.map(({ mainContent }) => mainContent).join("")).toMatch(/^(?:One moment\. (?:\n\n)?)?All is done\.$/);
  const text = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : [])));
  expect(text.join("")).not.toContain(HIDDEN);
  const thoughts = messages.map(({ thinkingContent }) => thinkingContent).join("");
  expect(thoughts).not.toContain(HIDDEN);
  const calls = messages.flatMap(({ toolCalls }) => toolCalls.map(({ toolName }) => toolName));
  expect(calls).toEqual(expect.arrayContaining(["help", "think", "add", "remove", "fail"]));
});

it("ai-sdk: the AI SDK reads the message", async () => {
  const chunks = (await encode("ai-sdk")).map((frame) => JSON.parse(frame) as UIMessageChunk);
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  let last;
  for await (const message of readUIMessageStream({ stream, terminateOnError: true })) last = message;
  const parts = last?.parts ?? [];
  const text = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  expect(text.join("")).toBe("One moment. All is done.");
  const reasoning = parts.flatMap((part) => (part.type === "reasoning" ? [part.text] : []));
  expect(reasoning).toEqual(expect.arrayContaining(["The caller thinks.", "The helper thinks."]));
  expect(JSON.stringify(parts.find((part) => "toolCallId" in part && part.toolCallId === "p1"))).toContain(HIDDEN);
});
