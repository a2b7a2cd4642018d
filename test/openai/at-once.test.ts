// Several clients continue the same response at the same moment. Every message gets its answer, in a version of the
// conversation without the messages of the others, and a repeated request starts nothing.
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import type { ScriptedRequest } from "../../src/models/scripted-model.ts";
import { createServerFixture, type ServerFixture } from "../server/server-fixture.ts";

const post = (body: unknown, headers: { readonly [name: string]: string } = {}): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

interface Answered {
  readonly id: string;
  readonly status: string;
  readonly output: readonly { readonly content?: readonly { readonly text: string }[] }[];
}

/** Answers with the messages of the user that the model sees; asks for approval if the last one is "Remove". */
function respond({ prompt }: ScriptedRequest) {
  const asked = prompt
    .filter(({ role }) => role === "user")
    .map(({ content }) => (content as unknown as readonly { readonly text: string }[])[0]?.text);
  if (asked.at(-1) === "Remove") return { calls: [{ name: "remove", input: { path: "x" } }] };
  return { text: asked.join(" ") };
}

async function ask({ fetch }: ServerFixture, input: string, previous?: string, key?: string): Promise<Answered> {
  const body = { model: "main", input, ...(previous === undefined ? {} : { previous_response_id: previous }) };
  const headers = key === undefined ? {} : { "idempotency-key": key };
  const response = await fetch("/openai/v1/responses", post(body, headers));
  expect(response.status).toBe(200);
  return (await response.json()) as Answered;
}

async function listStatuses({ log }: ServerFixture): Promise<readonly string[]> {
  const sessions = await log.listSessions({});
  const runs = await Promise.all(sessions.map(({ sessionId }) => log.listRuns(sessionId)));
  return runs.flat().map(({ status }) => status);
}

const NAMES = ["a", "b", "c", "d", "e", "f"];

describe("messages that continue a response at once", () => {
  it.each(["Hello", "Remove"])("are all answered, without those of the others, after %s", async (first) => {
    const fixture = await createServerFixture({ script: respond });
    const { id } = await ask(fixture, first);
    const answers = await Promise.all(NAMES.map((name) => ask(fixture, name, id)));
    expect(answers.map(({ status }) => status)).toEqual(NAMES.map(() => "completed"));
    expect(answers.map(({ output }) => output[0]?.content?.[0]?.text)).toEqual(NAMES.map((name) => `${first} ${name}`));
    // Only the run that waited for an approval is cancelled, which every version has.
    const cancelled = (await listStatuses(fixture)).filter((status) => status !== "completed");
    expect(cancelled).toEqual(first === "Hello" ? [] : NAMES.map(() => "cancelled"));
  });

  it("start one run if they have the same key", async () => {
    const fixture = await createServerFixture({ script: respond });
    const { id } = await ask(fixture, "Hello");
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(fixture, "a", id, "key")));
    expect(new Set(answers.map((answer) => answer.id)).size).toBe(1);
    expect(await listStatuses(fixture)).toEqual(["completed", "completed"]);
  });

  it("are refused if a message waits for the end of the response for long", async () => {
    const script = [{ calls: [{ name: "wait", input: {} }] }];
    const fixture = await createServerFixture({ script, limits: { commandTimeoutMs: 50 } });
    const start = { model: "main", background: true, conversation: "s" };
    const { id } = (await (
      await fixture.fetch("/openai/v1/responses", post({ ...start, input: "1" }))
    ).json()) as Answered;
    await fixture.fetch("/openai/v1/responses", post({ ...start, input: "2" }));
    const third = await fixture.fetch(
      "/openai/v1/responses",
      post({ model: "main", input: "3", previous_response_id: id }),
    );
    expect([third.status, await third.json()]).toMatchObject([409, { code: "run_live" }]);
    expect(await listStatuses(fixture)).toEqual(["live"]);
  });

  it("wait without polling, and only until the client disconnects, while other messages go on", async () => {
    const isWait = ({ prompt }: ScriptedRequest) => JSON.stringify(prompt.at(-1)).includes("Wait");
    const fixture = await createServerFixture({
      script: (request) => (isWait(request) ? { calls: [{ name: "wait", input: {} }] } : respond(request)),
    });
    const { log } = fixture;
    const hello = await ask(fixture, "Hello");
    const body = { model: "main", background: true, previous_response_id: hello.id, input: "Wait" };
    const waiting = (await (await fixture.fetch("/openai/v1/responses", post(body))).json()) as Answered;
    const session = (await log.listSessions({}))[0]?.sessionId ?? "";
    const queued = { model: "main", background: true, conversation: session, input: "later" };
    await fixture.fetch("/openai/v1/responses", post(queued));
    const watch = vi.spyOn(log, "watch");
    const client = new AbortController();
    const third = { model: "main", previous_response_id: waiting.id, input: "3" };
    const left = fixture.fetch("/openai/v1/responses", { ...post(third), signal: client.signal });
    await expect.poll(() => watch).toHaveBeenCalledWith(session, expect.anything(), { hintsOnly: true });
    // Not behind the message that waits.
    expect((await ask(fixture, "a", hello.id)).output[0]?.content?.[0]?.text).toBe("Hello a");
    const calls = [vi.spyOn(log, "getCommand"), vi.spyOn(log, "listPending"), vi.spyOn(log, "listRuns")];
    await pause(100);
    const listReads = () => calls.flatMap(({ mock }) => mock.calls.filter(([name]) => name === session));
    expect(listReads()).toEqual([]);
    // Nor for each record of the live run.
    const [, notify] = watch.mock.calls.find(([name, , options]) => name === session && options?.hintsOnly) ?? [];
    for (let records = 0; records < 200; records++) {
      notify?.();
      await nextTurn();
    }
    await expect.poll(() => listReads().length).toBeGreaterThan(0);
    expect(listReads().length).toBeLessThan(50);
    client.abort();
    expect((await left).status).toBe(499);
  });
});
