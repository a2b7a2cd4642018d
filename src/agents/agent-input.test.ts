// The input of `run`, `stream` and `events`: text, files, and messages of a conversation.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ModelMessage as SdkMessage } from "ai";
import { describe, expect, expectTypeOf, it, onTestFinished } from "vitest";
import { createFacadeFixture, expectNothingLeft, failureOf } from "../../test/agents/facade-fixture.ts";
import { ScriptedModel } from "../models/testing.ts";
import type { ModelMessage } from "../models/model.ts";
import { agent } from "./agent.ts";
import { type AgentInput, checkInput } from "./agent-input.ts";

const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);
const done = (count: number) => Array.from({ length: count }, () => ({ text: "Done." }));

function lastPrompt(model: ScriptedModel): readonly ModelMessage[] {
  return model.prompts.at(-1) ?? [];
}

describe("attachments", () => {
  it("reach the model without a blob store: bytes, a path and a data URL", async () => {
    const folder = await mkdtemp(join(tmpdir(), "loom-input-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, "notes.md"), "# Notes");
    const { agent: actor, model, log } = await createFacadeFixture(done(1));
    const input: AgentInput = {
      text: "What is this?",
      attachments: [
        { data: PNG, name: "pixel.png" },
        { path: join(folder, "notes.md") },
        { url: "data:text/csv;base64,YSxi", name: "table.csv" },
      ],
    };
    await actor.run(input, { sessionId: "chat-1" });
    const content = lastPrompt(model).at(-1)?.content;
    expect(content).toMatchObject([
      { type: "text", text: "What is this?" },
      { type: "file", mediaType: "image/png", filename: "pixel.png" },
      { type: "text", text: expect.stringContaining("# Notes") as string },
      { type: "text", text: expect.stringContaining("a,b") as string },
    ]);
    const { records } = await log.read("chat-1", { after: 0 });
    expect(records[0]?.event).toMatchObject({
      message: "What is this?",
      attachments: [
        { media_type: "image/png", bytes: PNG.length, name: "pixel.png" },
        { media_type: "text/markdown", bytes: 7, name: "notes.md" },
        { media_type: "text/csv", bytes: 3, name: "table.csv" },
      ],
    });
  });

  it("are stored as blobs where the agent has them, so that later turns have them too", async () => {
    const saved = new Map<string, Uint8Array>();
    const blobs = {
      read: async (_: string, blobId: string) => saved.get(blobId),
      save: async (_: string, bytes: Uint8Array) => {
        saved.set("b1", bytes);
        return { blob_id: "b1", url: "/blobs/b1" };
      },
    };
    const { agent: actor, model } = await createFacadeFixture(done(2), { blobs });
    await actor.run({ attachments: [{ data: PNG }] }, { sessionId: "chat-1" });
    await actor.run("And now?", { sessionId: "chat-1" });
    expect([...saved]).toEqual([["b1", PNG]]);
    expect(JSON.stringify(lastPrompt(model)[0])).toContain('"mediaType":"image/png"');
  });

  it.each<[string, AgentInput, object]>([
    ["too many", { attachments: Array.from({ length: 21 }, () => ({ data: PNG })) }, { code: "invalid_command" }],
    ["too large", { attachments: [{ data: PNG }, { data: PNG }] }, { code: "blob_too_large" }],
    ["missing", { attachments: [{ path: "/nowhere/notes.md" }] }, { code: "invalid_command" }],
    ["at a private address", { attachments: [{ url: "http://127.0.0.1:9/x" }] }, { code: "url_refused" }],
    ["not decodable", { attachments: [{ url: "data:image/png;base64,A" }] }, { code: "invalid_command" }],
    ["of an unknown form", { attachments: [{} as never] }, { code: "invalid_command" }],
  ])("are refused if they are %s, and no run starts", async (_, input, error) => {
    const { agent: actor, log } = await createFacadeFixture(done(1), { attachments: { maxBytes: 20 } });
    expect(await failureOf(actor.run(input, { sessionId: "chat-1" }))).toMatchObject(error);
    expect(await log.listRuns("chat-1").catch(() => [])).toEqual([]);
    await expectNothingLeft(log);
  });
});

describe("messages", () => {
  const conversation: AgentInput = [
    { role: "user", content: "Add 1 and 2" },
    {
      role: "assistant",
      content: [{ type: "tool-call", toolCallId: "c1", toolName: "add", input: { a: 1, b: 2 } }],
    },
    {
      role: "tool",
      content: [{ type: "tool-result", toolCallId: "c1", toolName: "add", output: { type: "json", value: 3 } }],
    },
    { role: "assistant", content: [{ type: "text", text: "It is 3." }] },
    { role: "user", content: [{ type: "text", text: "And 4 more?" }] },
  ];

  it("before the question become the history of a new session, in the log", async () => {
    const seen: string[] = [];
    const callbacks = [{ onEvent: (type: string) => seen.push(type) }];
    const { agent: actor, model, log } = await createFacadeFixture([{ text: "7" }, { text: "8" }], { callbacks });
    await actor.run(conversation, { sessionId: "chat-1" });
    expect(lastPrompt(model)).toMatchObject([
      { role: "user", content: [{ text: "Add 1 and 2" }] },
      { role: "assistant", content: [{ type: "tool-call", toolName: "add", input: { a: 1, b: 2 } }] },
      { role: "tool", content: [{ type: "tool-result", output: { type: "text", value: "3" } }] },
      { role: "assistant", content: [{ type: "text", text: "It is 3." }] },
      { role: "user", content: [{ text: "And 4 more?" }] },
    ]);
    expect(await log.listRuns("chat-1")).toMatchObject([{ status: "completed" }, { status: "completed" }]);
    // Callbacks hear only of the run that this call started.
    expect(seen).toEqual(["request_start", "agent_finish"]);
    await expectNothingLeft(log);
  });

  it("before the question are ignored in a session that has records", async () => {
    const { agent: actor, model } = await createFacadeFixture(done(2));
    await actor.run("Hello", { sessionId: "chat-1" });
    await actor.run(conversation, { sessionId: "chat-1" });
    expect(lastPrompt(model)).toMatchObject([
      { role: "user", content: [{ text: "Hello" }] },
      { role: "assistant" },
      { role: "user", content: [{ text: "And 4 more?" }] },
    ]);
  });

  it("may be model messages of the AI SDK", () => {
    expectTypeOf<SdkMessage[]>().toExtend<AgentInput>();
  });

  it("can have images", async () => {
    const model = new ScriptedModel(done(1));
    await using actor = agent({ model });
    const image = Buffer.from(PNG).toString("base64");
    await actor.run([
      {
        role: "user",
        content: [
          { type: "image", image },
          { type: "text", text: "What?" },
        ],
      },
    ]);
    expect(lastPrompt(model)).toMatchObject([
      { role: "user", content: [{ text: "What?" }, { type: "file", mediaType: "image/png" }] },
    ]);
  });

  it.each<[unknown, string]>([
    [7, "must be a string"],
    [null, "must be a string"],
    [{ text: 7 }, "must be a string"],
    [[], "The last message must be the user's"],
    [[{ role: "assistant", content: "Hi" }], "The last message must be the user's"],
    [[{ role: "system", content: "Be brief" }], "systemInstructions"],
    [[{ role: "user", content: [{ type: "video" }] }], "messages[0].content[0]"],
    [[{ role: "robot", content: "Hi" }], "user, assistant or tool"],
    [Array.from({ length: 1001 }, () => ({ role: "user", content: "Hi" })), "At most 1000"],
  ])("of another form are refused: %#", (input, message) => {
    expect(() => checkInput(input as AgentInput)).toThrow(message);
  });
});
