// Agents respect the traits that the offline model declares. The compressor's own test covers `canSummarize`.
import { expect, it } from "vitest";
import { OfflineModel } from "../../src/models/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { createAgentFixture, eventsOf } from "../agents/agent-fixture.ts";

it("receives every file and describes it", async () => {
  const blobs = { read: async () => new TextEncoder().encode("tide") };
  const { session, agent, log, read } = await createAgentFixture([], { model: new OfflineModel(), blobs });
  const attachments = [
    { blob_id: "a", media_type: "text/plain", bytes: 4, name: "sea.txt" },
    { blob_id: "b", media_type: "audio/mp3", bytes: 4, name: "waves.mp3" },
  ];
  const run = await session.startRun({ message: "What is in these files?", attachments });
  await agent.executeRun(log, run);
  const [reply] = eventsOf(await read(), "reply").map((event) => event.reply);
  expect(reply).toContain("I received the file “sea.txt” (text/plain, 4 bytes). It begins: “tide”");
  expect(reply).toContain("I received the file “waves.mp3” (audio/mp3, 4 bytes), but I cannot read this format.");
});

it.each([
  ["joins", undefined, [2]],
  ["keeps", new OfflineModel().traits, [1, 1]],
])("%s consecutive user messages for a model with the traits %o", async (_, traits, expected) => {
  const error = Object.assign(new Error("no"), { statusCode: 400, isRetryable: false });
  const model = new ScriptedModel([{ fault: { kind: "throw", error } }, { text: "Yes." }]);
  const { ask } = await createAgentFixture([], { model: Object.assign(model, { traits }) });
  for (const question of ["Now?", "And now?"]) await (await ask(question)).ended;
  const sent = model.requests.at(-1)?.prompt.filter(({ role }) => role === "user") ?? [];
  expect(sent.map(({ content }) => content.length)).toEqual(expected);
});
