// Clients ask for streams of runs that do not exist or never start, by IDs that name them. The server refuses the request,
// or ends the stream; no stream stays open without events.
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { formatOpenaiId } from "../../src/dialects/openai-id.ts";
import type { JsonObject } from "../../src/protocol/index.ts";
import { encodeRunReference } from "../../src/server/clients/ag-ui/find-run.ts";
import { formatStreamId } from "../../src/server/clients/ai-sdk/stream-id.ts";
import { createServerFixture, readSse, type ServerFixture } from "../server/server-fixture.ts";
import { LONG } from "../sampling.ts";

const post = (body: unknown, headers: { readonly [name: string]: string } = {}): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});
const user = (id: string, text: string): JsonObject => ({ id, role: "user", parts: [{ type: "text", text }] });
const WAIT = [{ calls: [{ name: "wait", input: {} }] }];

/** The status and the error code of a request; `open` if its stream does not end. */
async function refusalOf(response: Response | Promise<Response>): Promise<readonly unknown[]> {
  const { status, body } = await response;
  const read = new Response(body).text().then(
    (text) => (JSON.parse(text) as JsonObject)["code"],
    () => "cut",
  );
  return [status, await Promise.race([read, sleep(5000, "open", { ref: false })])];
}

/** The last event of a stream that ends, apart from the mark of its end. */
async function lastOf(response: Response): Promise<unknown> {
  const events = (await readSse(response)).filter(({ data }) => data !== "[DONE]");
  return JSON.parse(events.at(-1)?.data ?? "null");
}

describe("a stream of a run that does not exist", () => {
  it("is refused, also if the ID has the key of another run", async () => {
    const { fetch, log } = await createServerFixture({ script: [{ text: "Hello." }] });
    await (await fetch("/api/chat", post({ id: "c", messages: [user("u1", "Hi")] }))).text();
    const [run] = await log.listRuns("c");
    const after = run?.lastId ?? 0;
    const paths = [
      `/api/chat/${formatStreamId({ session: "c", run: "none", key: "ai-sdk:u1" })}/stream`,
      `/ag-ui?runId=${encodeRunReference("c", "none")}`,
      `/openai/v1/responses/${formatOpenaiId("response", { session: "c", run: "none", after: 0 })}?stream=true`,
      `/openai/v1/responses/${formatOpenaiId("response", { session: "c", run: run?.runId ?? "", after })}`,
    ];
    for (const path of paths) expect([path, ...(await refusalOf(fetch(path)))]).toEqual([path, 404, "unknown_run"]);
    const none = formatOpenaiId("response", { session: "c", run: "none", after: 0 });
    const cancel = fetch(`/openai/v1/responses/${none}/cancel`, { method: "POST" });
    expect(await refusalOf(cancel)).toEqual([404, "unknown_run"]);
  });

  it("is refused if the ID is that of a command which starts no run", async () => {
    const { fetch, ask } = await createServerFixture({ script: WAIT });
    await ask("POST", "/v1/sessions/t/runs", { message: "Wait", run_id: "r" }, { status: 202 });
    await ask("POST", "/v1/sessions/t/runs/r/cancel", {}, { headers: { "idempotency-key": "key" } });
    const request = { threadId: "t", runId: "key", messages: [{ id: "m", role: "user", content: "Hi" }] };
    expect(await refusalOf(fetch("/ag-ui", post(request)))).toEqual([409, "command_conflict"]);
  });
});

describe("a run that is cancelled before it starts", () => {
  async function createBusy(): Promise<ServerFixture> {
    const fixture = await createServerFixture({ script: WAIT });
    await fixture.ask("POST", "/v1/sessions/s/runs", { message: "Wait", run_id: "busy" }, { status: 202 });
    return fixture;
  }

  it("ends the stream of its response", async () => {
    const { fetch, ask } = await createBusy();
    const queued = { model: "main", input: "2", background: true, conversation: "s" };
    const { id, status } = await ask("POST", "/openai/v1/responses", queued);
    expect(status).toBe("queued");
    const stream = lastOf(await fetch(`/openai/v1/responses/${id as string}?stream=true`));
    await sleep(50);
    const headers = { "idempotency-key": "key" };
    // A repeated request has the same result.
    for (const _ of [1, 2])
      expect(await ask("POST", `/openai/v1/responses/${id as string}/cancel`, undefined, { headers })).toMatchObject({
        status: "cancelled",
      });
    expect(await stream).toMatchObject({ type: "response.incomplete", response: { id, status: "cancelled" } });
  });

  it.runIf(LONG)(
    "ends the streams in the form of each client, and refuses repeated requests with the reason",
    async () => {
      const { fetch, ask } = await createBusy();
      const agUi = { threadId: "s", runId: "r2", messages: [{ id: "m", role: "user", content: "2" }] };
      const first = await fetch("/ag-ui", post(agUi));
      const completion = await fetch(
        "/openai/v1/chat/completions",
        post({ model: "main", stream: true, messages: [{ role: "user", content: "4" }] }, { "loom-session": "s" }),
      );
      const chat = await fetch("/api/chat", post({ id: "s", messages: [user("u3", "3")] }));
      const stream = chat.headers.get("x-workflow-run-id") ?? "";
      const run = decodeURIComponent(chat.headers.get("loom-run") ?? "");
      const other = decodeURIComponent(completion.headers.get("loom-run") ?? "");
      for (const each of ["r2", run, other]) await ask("POST", `/v1/sessions/s/runs/${each}/cancel`, {});
      expect(await lastOf(first)).toMatchObject({ type: "RUN_ERROR", code: "cancelled" });
      expect((await readSse(chat)).map(({ data }) => (JSON.parse(data) as JsonObject)["type"])).toEqual([
        "data-loom-notice",
        "start",
        "start-step",
        "data-loom-cancelled",
        "finish-step",
        "abort",
        "finish",
      ]);
      expect(await lastOf(completion)).toMatchObject({ error: { type: "cancelled" } });
      expect(await refusalOf(fetch("/ag-ui", post(agUi)))).toEqual([409, "cancelled"]);
      expect(await refusalOf(fetch("/ag-ui?runId=r2"))).toEqual([409, "cancelled"]);
      expect(await refusalOf(fetch(`/api/chat/${stream}/stream`))).toEqual([409, "cancelled"]);
    },
  );
});
