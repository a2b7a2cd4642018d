import { onTestFinished, describe, expect, it } from "vitest";
import { agent } from "../../agents/index.ts";
import { createTitleWriter, type TitleRequest, type WriteTitle } from "../../agents/create-title-writer.ts";
import { type Log, MemoryLog } from "../../log/index.ts";
import { OfflineModel } from "../../models/index.ts";
import { ScriptedModel } from "../../models/testing.ts";
import { executeCommand } from "../commands/execute-command.ts";
import { createRunDispatcher } from "./create-run-dispatcher.ts";
import { until, untilEnded } from "../../../test/contracts/run-dispatcher-fixture.ts";

function start(writeTitle: WriteTitle, answers: readonly string[] = []) {
  const counted: (readonly [actor: string, tokens: number])[] = [];
  const log = new MemoryLog();
  const texts = [...answers];
  const model = new ScriptedModel(() => ({ text: texts.shift() ?? "An answer" }));
  const errors: unknown[] = [];
  const dispatcher = createRunDispatcher({
    log,
    agents: { main: { agent: agent({ model }), writeTitle }, plain: agent({ model }) },
    onUsage: (actor, tokens) => counted.push([actor, tokens]),
    onError: (error) => errors.push(error),
  });
  onTestFinished(() => dispatcher.close({ graceMs: 0 }));
  let count = 0;
  const say = async (message: string, more: object = {}): Promise<void> => {
    const run_id = `run ${++count}`;
    const command = { type: "run", id: `c${count}`, session: "s", message, run_id, ...more } as const;
    const author = { owner: "local", isAdmin: true, actor: "token:a" } as const;
    await executeCommand({ log, dispatch: (id) => dispatcher.dispatch(id), author }, command);
    await untilEnded(log, "s", run_id);
  };
  return { log, dispatcher, say, errors, counted };
}

const titleOf = async (log: Log): Promise<string | undefined> => (await log.getSession("s"))?.title;

describe("the title of a session", () => {
  it("is written by the model after the first answer, and only then", async () => {
    const asked: Omit<TitleRequest, "signal">[] = [];
    const { log, say, counted } = start(
      async ({ question, answer, onUsage }) => {
        asked.push({ question, answer });
        onUsage?.(42);
        return "Capital of Portugal";
      },
      ["Lisbon."],
    );
    await say("What is the capital of Portugal?");
    await until(async () => (await titleOf(log)) === "Capital of Portugal");
    await say("And of Spain?");
    await say("And of France?");
    expect(asked).toEqual([{ question: "What is the capital of Portugal?", answer: "Lisbon." }]);
    expect(counted).toEqual([["token:a", 42]]);
    expect(await titleOf(log)).toBe("Capital of Portugal");
  });

  it("is not replaced if the user chose one, also while the model writes", async () => {
    const gate = Promise.withResolvers<undefined>();
    const asked: string[] = [];
    const { log, say } = start(async ({ question }) => {
      asked.push(question);
      await gate.promise;
      return "By the model";
    });
    await say("What is the capital of Portugal?");
    await until(() => asked.length === 1);
    await log.updateSession("s", { title: "Mine" });
    gate.resolve(undefined);
    await say("And of Spain?");
    expect(await titleOf(log)).toBe("Mine");
  });

  it("stays as derived without a writer, and if the model fails", async () => {
    const { log, say, errors } = start(async () => {
      throw new Error("no title");
    });
    await say("Hello to all of you", { agent: "plain" });
    expect([await titleOf(log), errors]).toEqual(["Hello to all of you", []]);
    const second = start(async () => {
      throw new Error("no title");
    });
    await second.say("Hello to all of you");
    await until(() => second.errors.length === 1);
    expect(await titleOf(second.log)).toBe("Hello to all of you");
  });

  it("does not keep a server from closing", async () => {
    const { dispatcher, say, errors } = start(
      ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted")))),
    );
    await say("Hello to all of you");
    await dispatcher.close({ graceMs: 0 });
    expect(errors).toEqual([]);
  });
});

describe("createTitleWriter", () => {
  const request = { question: "Q".repeat(5000), answer: "A", signal: new AbortController().signal };

  it.each([
    ["Lisbon in spring", "Lisbon in spring"],
    ['\n"Lisbon in spring."\nmore', "Lisbon in spring"],
    ["## Title: **Lisbon**", "Lisbon"],
    ["《里斯本的春天》。", "里斯本的春天"],
    ["word ".repeat(40), `${"word ".repeat(16).trim()}…`],
    ["", undefined],
  ])("reads %j as %j", async (text, title) => {
    const model = new ScriptedModel([
      { text, usage: { promptTokens: 30, completionTokens: 5, totalTokens: undefined } },
    ]);
    const used: number[] = [];
    expect(await createTitleWriter(model)({ ...request, onUsage: (tokens) => used.push(tokens) })).toBe(title);
    expect(used).toEqual([35]);
    expect(JSON.stringify(model.prompts[0]).length).toBeLessThan(2000);
  });

  it("keeps the title with the offline model, which writes none", async () => {
    expect(await createTitleWriter(new OfflineModel())(request)).toBeUndefined();
  });
});
