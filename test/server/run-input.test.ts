// The forms of a message over HTTP, on a listening server: text, text with files, messages of a conversation.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import type { LogLimits } from "../../src/log/log-limits.ts";
import type { Script } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import type { JsonObject } from "../../src/protocol/index.ts";
import type { Scope } from "../../src/server/auth/scopes.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { createMemoryBlobStore } from "../../src/server/blobs/create-memory-blob-store.ts";
import { SERVER_LIMITS, type ServerLimits } from "../../src/server/guard/server-limits.ts";
import type { LoomHandlerOptions } from "../../src/server/handler-options.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { checkResponse } from "./check-response.ts";
import { createServerFixture } from "./server-fixture.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const NOTE = { data: base64("Tea at four"), media_type: "text/plain", name: "note.txt" };
const CONVERSATION = [
  { role: "user", content: "My name is Ann." },
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "A name." },
      { type: "tool-call", toolCallId: "c1", toolName: "remember", input: { name: "Ann" } },
    ],
  },
  {
    role: "tool",
    content: [
      { type: "tool-result", toolCallId: "c1", toolName: "remember", output: { type: "text", value: "remembered" } },
    ],
  },
  { role: "assistant", content: "Hello Ann." },
];
const QUESTION = { role: "user", content: "What is my name?" };

interface ServerOptions extends Pick<LoomHandlerOptions, "fetchAttachments" | "audit"> {
  readonly script?: Script;
  readonly limits?: Partial<ServerLimits>;
  readonly logLimits?: Partial<LogLimits>;
  readonly scopes?: readonly Scope[];
  readonly hasBlobs?: boolean;
}

async function serve({ script, limits, logLimits, scopes, hasBlobs = true, ...options }: ServerOptions = {}) {
  const model = new ScriptedModel(script ?? Array.from({ length: 5 }, () => ({ text: "Yes." })));
  const log = new MemoryLog({ limits: logLimits ?? {} });
  const blobs = createMemoryBlobStore({ ...SERVER_LIMITS, ...limits });
  const credentials = openCredentials(":memory:");
  const token = scopes && (await credentials.createToken({ name: "ann", owner: "ann", scopes: [...scopes] })).secret;
  const server = await startLoomServer({
    log,
    agents: { main: agent({ model }) },
    port: 0,
    ...(hasBlobs ? { blobs } : {}),
    ...(limits === undefined ? {} : { limits }),
    ...(scopes === undefined ? {} : { auth: { credentials } }),
    ...options,
  });
  onTestFinished(async () => {
    await server.close({ graceMs: 0 });
    await credentials.close();
    await blobs.close();
  });
  const send = async (body: unknown, { path = "/v1/sessions/s/runs", key = "" } = {}) => {
    const response = await fetch(`${server.url}${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(key === "" ? {} : { "idempotency-key": key }),
      },
      body: JSON.stringify(body),
    });
    await checkResponse("POST", path, response);
    const text = await response.text();
    return { status: response.status, body: JSON.parse(text) as JsonObject & { readonly details?: JsonObject } };
  };
  const finished = async (session = "s", count = 1) => {
    await expect
      .poll(async () => (await log.listRuns(session)).map(({ status }) => status))
      .toEqual(Array.from({ length: count }, () => "completed"));
    return (await log.read(session, { after: 0 })).records.map(({ event }) => event as unknown as JsonObject);
  };
  return { log, model, blobs, send, finished, url: server.url };
}

describe("a message over HTTP", () => {
  it.each<[string, JsonObject]>([
    ["an object", { message: { text: "What is this?", attachments: [NOTE] } }],
    ["a text with attachments", { message: "What is this?", attachments: [NOTE] }],
    [
      "a `data:` URL",
      { message: "What is this?", attachments: [{ ...NOTE, data: null, url: `data:text/plain;base64,${NOTE.data}` }] },
    ],
    [
      "messages",
      {
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "What is this?" },
              { type: "file", data: NOTE.data, mediaType: "text/plain", filename: "note.txt" },
            ],
          },
        ],
      },
    ],
  ])("can be %s with a file, which is stored as a blob and reaches the model", async (_name, body) => {
    const { send, finished, model, blobs, log } = await serve();
    expect((await send(body)).status).toBe(202);
    const [start] = await finished();
    const [blob, ...others] = await blobs.list("s");
    expect(others).toEqual([]);
    expect(start).toMatchObject({
      message: "What is this?",
      attachments: [{ blob_id: blob?.blobId, name: "note.txt", media_type: "text/plain", bytes: 11 }],
    });
    expect(JSON.stringify(model.prompts[0])).toContain("Tea at four");
    expect((await log.getSession("s"))?.title).toBe("What is this?");
  });

  it("keeps the order of new files and blobs, and derives the media type", async () => {
    const { send, finished, blobs, log } = await serve();
    await log.createSession("s");
    const { blobId } = await blobs.put("s", [Buffer.from("old")], { mediaType: "text/plain", name: "old.txt" });
    const attachments = [{ data: base64("%PDF-1.7"), name: "a.pdf" }, { blob_id: blobId }, { data: base64("b,c") }];
    expect((await send({ message: "", attachments })).status).toBe(202);
    const [start] = await finished();
    expect(start?.["attachments"]).toMatchObject([
      { name: "a.pdf", media_type: "application/pdf" },
      { name: "old.txt", blob_id: blobId },
      { media_type: "application/octet-stream" },
    ]);
  });

  it("can be larger than other bodies, up to `maxInlineBytes`", async () => {
    const limits = { maxBodyBytes: 2000, maxInlineBytes: 20_000 };
    const { send, finished, blobs } = await serve({ limits });
    const large = { message: "Look", attachments: [{ data: base64("x".repeat(10_000)) }] };
    expect((await send(large)).status).toBe(202);
    await finished();
    expect((await blobs.list("s"))[0]?.bytes).toBe(10_000);
    const refused = await send({ message: "Look", attachments: [{ data: base64("x".repeat(20_000)) }] });
    expect([refused.status, refused.body["code"]]).toEqual([413, "body_too_large"]);
    expect(await send({ session_id: "x".repeat(3000) }, { path: "/v1/sessions" })).toMatchObject({ status: 413 });
  });

  it("is not read further than other bodies without a slot for uploads", async () => {
    const limits = { maxBodyBytes: 2000, maxUploads: 1, maxUploadsPerToken: 1 };
    const { core, fetch: ask } = await createServerFixture({ limits, script: [{ text: "Yes." }] });
    const release = await core.gates.uploads.enter(undefined, new AbortController().signal);
    const text = JSON.stringify({ message: "Look", attachments: [{ data: base64("x".repeat(50_000)) }] });
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (sent >= text.length) controller.close();
        else controller.enqueue(Buffer.from(text.slice(sent, (sent += 1000))));
      },
    });
    const headers = { "content-type": "application/json" };
    const answer = ask("/v1/sessions/s/runs", { method: "POST", headers, body, duplex: "half" } as RequestInit);
    await expect.poll(() => sent).toBeGreaterThan(2000);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(sent).toBeLessThan(6000);
    release();
    expect((await answer).status).toBe(202);
  });

  it("gives its slot for uploads back before the run ends", async () => {
    const gate = Promise.withResolvers<void>();
    const limits = { maxUploads: 1, maxUploadsPerToken: 1, maxBodyBytes: 1000 };
    const script = [{ text: "One.", until: gate.promise }, { text: "Two." }];
    const { send, finished, url } = await serve({ limits, script });
    const large = { message: "Look", attachments: [{ data: base64("x".repeat(5000)) }] };
    const headers = { "content-type": "application/json", accept: "text/event-stream" };
    const stream = await fetch(`${url}/v1/sessions/s/runs`, { method: "POST", headers, body: JSON.stringify(large) });
    expect((await send(large, { path: "/v1/sessions/other/runs" })).status).toBe(202);
    gate.resolve();
    expect(await stream.text()).toContain("One.");
    await finished();
  });

  it("returns the same run for the same key, and stores the file once", async () => {
    const { send, finished, blobs } = await serve();
    const first = await send({ message: { text: "Look", attachments: [NOTE] } }, { path: "/v1/runs", key: "k" });
    const again = await send({ message: "Look", attachments: [NOTE] }, { path: "/v1/runs", key: "k" });
    expect(again.body["run_id"]).toBe(first.body["run_id"]);
    const session = first.body["session_id"] as string;
    await finished(session);
    expect(await blobs.list(session)).toHaveLength(1);
    const other = await send(
      { message: "Look", attachments: [{ data: base64("other") }] },
      { path: "/v1/runs", key: "k" },
    );
    expect([other.status, other.body["code"]]).toEqual([409, "command_conflict"]);
  });

  it.each<[string, JsonObject, readonly [number, string, string?]]>([
    ["nothing", {}, [400, "invalid_request", "message"]],
    ["both forms", { message: "a", messages: [QUESTION] }, [400, "invalid_request", "message"]],
    ["a number", { message: 7 }, [400, "invalid_request", "message"]],
    ["a list", { message: [] }, [400, "invalid_request", "message"]],
    ["text that is not text", { message: { text: 7 } }, [400, "invalid_request", "message.text"]],
    ["an empty message", { message: { text: " " } }, [400, "invalid_command"]],
    [
      "an attachment without content",
      { message: "a", attachments: [{ name: "x" }] },
      [400, "invalid_request", "attachments[0]"],
    ],
    [
      "an attachment with two",
      { message: "a", attachments: [{ ...NOTE, blob_id: "b" }] },
      [400, "invalid_request", "attachments[0]"],
    ],
    [
      "a file of the server",
      { message: "a", attachments: [{ url: "file:///etc/passwd" }] },
      [400, "invalid_request", "attachments[0].url"],
    ],
    [
      "a path",
      { message: "a", attachments: [{ path: "/etc/passwd" }] },
      [400, "invalid_request", "attachments[0].path"],
    ],
    [
      "a file that is not Base64",
      { message: { attachments: [{ data: "a b!" }] } },
      [400, "invalid_request", "message.attachments[0].data"],
    ],
    [
      "a web URL",
      { message: "a", attachments: [{ url: "https://example.org/x" }] },
      [400, "url_refused", "attachments[0].url"],
    ],
    [
      "a web URL in a message",
      { messages: [{ role: "user", content: [{ type: "image", image: "https://example.org/x" }] }] },
      [400, "url_refused", "messages[0].content[0].image"],
    ],
    [
      "a file of the server in a message",
      {
        messages: [{ role: "user", content: [{ type: "file", data: "file:///etc/passwd", mediaType: "text/plain" }] }],
      },
      [400, "invalid_request", "messages[0].content[0].data"],
    ],
    [
      "a file name that is not text",
      { messages: [{ role: "user", content: [{ type: "file", data: "", mediaType: 7 }] }] },
      [400, "invalid_request", "messages[0].content[0]"],
    ],
    ["a bad file name", { message: "a", attachments: [{ ...NOTE, name: "a\u0000b" }] }, [400, "invalid_name"]],
    ["an unknown blob", { message: "a", attachments: [{ blob_id: "b" }] }, [404, "unknown_blob"]],
    ["too many files", { message: "a", attachments: Array.from({ length: 21 }, () => NOTE) }, [400, "invalid_request"]],
    ["no message", { messages: [] }, [400, "invalid_request", "messages"]],
    ["an answer as the last message", { messages: CONVERSATION }, [400, "invalid_request", "messages"]],
    [
      "a system message",
      { messages: [{ role: "system", content: "Obey." }, QUESTION] },
      [400, "invalid_request", "messages[0]"],
    ],
    ["a message without content", { messages: [{ role: "user" }] }, [400, "invalid_request", "messages[0].content"]],
    [
      "an unknown part",
      { messages: [{ role: "user", content: [{ type: "valueOf" }] }] },
      [400, "invalid_request", "messages[0].content[0]"],
    ],
    [
      "a result without a call",
      { messages: [CONVERSATION[0], CONVERSATION[2], QUESTION] as never },
      [400, "invalid_request", "messages[1].content[0]"],
    ],
  ])("is refused if it has %s", async (_name, body, [status, code, path]) => {
    const { send, log } = await serve();
    const refused = await send(body);
    expect([refused.status, refused.body["code"], refused.body.details?.["path"]]).toEqual([status, code, path]);
    if (path !== undefined) expect(refused.body.details?.["in"]).toBe("body");
    expect((await log.getSession("s"))?.lastId ?? 0).toBe(0);
    expect(await log.listPending("s").catch(() => [])).toEqual([]);
  });

  it("cannot have files without a store, or without the permission to upload", async () => {
    const bare = await serve({ hasBlobs: false });
    expect(await bare.send({ message: "a", attachments: [NOTE] })).toMatchObject({
      status: 400,
      body: { code: "invalid_request" },
    });
    const runner = await serve({ scopes: ["run", "read"] });
    expect(await runner.send({ message: "a", attachments: [NOTE] })).toMatchObject({ status: 403 });
    expect(await runner.log.getSession("s")).toBeUndefined();
    expect(await runner.send({ message: "a" })).toMatchObject({ status: 202 });
  });

  it("counts its files against the limits of uploads and the quota of the owner", async () => {
    const small = await serve({ limits: { maxBlobBytes: 10 } });
    expect(await small.send({ message: "a", attachments: [NOTE] })).toMatchObject({
      status: 413,
      body: { code: "blob_too_large" },
    });
    const poor = await serve({ scopes: ["run", "read", "write"], logLimits: { maxOwnerBlobBytes: 15 } });
    expect(await poor.send({ message: "a", attachments: [NOTE] })).toMatchObject({ status: 202 });
    const other = { message: "a", attachments: [{ data: base64("Another note") }] };
    expect(await poor.send(other)).toMatchObject({ status: 507, body: { code: "quota_exceeded" } });
  });
});

describe("earlier messages over HTTP", () => {
  it("become the history of a new session, with their files", async () => {
    const { send, finished, model, log, blobs } = await serve();
    const picture = {
      role: "user",
      content: [{ type: "file", data: NOTE.data, mediaType: "text/plain", filename: "n.txt" }],
    };
    const messages = [...CONVERSATION, picture, { role: "assistant", content: "Tea." }, QUESTION];
    expect((await send({ messages })).status).toBe(202);
    const events = await finished("s", 3);
    const starts = events.filter(({ type }) => type === "run_start");
    expect(starts.map(({ message }) => message)).toEqual(["My name is Ann.", "", "What is my name?"]);
    expect(starts.map(({ agent: name }) => name)).toEqual(["main", "main", "main"]);
    expect(starts[1]?.["attachments"]).toMatchObject([{ name: "n.txt", blob_id: (await blobs.list("s"))[0]?.blobId }]);
    const prompt = JSON.stringify(model.prompts[0]);
    for (const text of ["My name is Ann.", "remembered", "Hello Ann.", "Tea at four", "Tea.", "What is my name?"])
      expect(prompt).toContain(text);
    expect((await log.getSession("s"))?.title).toBe("My name is Ann.");
    // The session has its history now.
    expect((await send({ messages: [QUESTION] })).status).toBe(202);
    await finished("s", 4);
    expect(await send({ messages: [...CONVERSATION, QUESTION] })).toMatchObject({
      status: 409,
      body: { code: "session_exists", details: { path: "messages" } },
    });
    expect(await log.listRuns("s")).toHaveLength(4);
  });

  it("are written once for a key, in any order of events", async () => {
    const { send, finished, log } = await serve();
    const body = { messages: [...CONVERSATION, QUESTION] };
    const options = { path: "/v1/runs", key: "k" };
    // At the same time, and again when the run has ended.
    const answers = await Promise.all([send(body, options), send(body, options)]);
    const session = answers[0].body["session_id"] as string;
    await finished(session, 2);
    const third = await send(body, options);
    expect(new Set([...answers, third].map((answer) => answer.body["run_id"])).size).toBe(1);
    expect(await log.listRuns(session)).toHaveLength(2);
    const changed = { messages: [{ role: "user", content: "My name is Bo." }, CONVERSATION[3], QUESTION] };
    expect(await send(changed, options)).toMatchObject({ status: 409, body: { code: "command_conflict" } });
  });

  it("may begin with an answer and have a call without a result", async () => {
    const { send, finished, model } = await serve();
    const messages = [{ role: "assistant", content: "Welcome." }, ...CONVERSATION.slice(0, 2), QUESTION];
    expect((await send({ messages })).status).toBe(202);
    await finished("s", 3);
    expect(JSON.stringify(model.prompts[0])).toContain("Welcome.");
  });

  it("are not written for a message that is refused", async () => {
    const { send, log } = await serve();
    const messages = [...CONVERSATION, QUESTION];
    expect(await send({ messages, agent: "unknown" })).toMatchObject({ status: 404, body: { code: "unknown_agent" } });
    expect(await log.getSession("s")).toBeUndefined();
    const poor = await serve({ scopes: ["run", "read"], logLimits: { maxOwnerBytes: 100 } });
    expect((await poor.send({ message: "a" }, { path: "/v1/sessions/first/runs" })).status).toBe(202);
    await expect
      .poll(async () => (await poor.send({ messages }, { path: "/v1/runs" })).body["code"])
      .toBe("quota_exceeded");
  });

  it("belong to the owner of the credential, in a session that only they can use", async () => {
    const { send, finished, log } = await serve({ scopes: ["run", "read", "write"] });
    await log.createSession("taken", { owner: "bo" });
    const messages = [...CONVERSATION, QUESTION];
    expect(await send({ messages }, { path: "/v1/sessions/taken/runs" })).toMatchObject({ status: 409 });
    expect((await log.getSession("taken"))?.lastId).toBe(0);
    expect((await send({ messages })).status).toBe(202);
    const events = await finished("s", 2);
    expect((await log.getSession("s"))?.owner).toBe("ann");
    expect(events.filter(({ type }) => type === "run_start").map(({ actor }) => actor)).toEqual([
      expect.stringMatching(/^token:/),
      expect.stringMatching(/^token:/),
    ]);
  });
});

describe("a file at a URL", () => {
  async function serveFile(answer: () => string): Promise<{ readonly host: string; readonly count: () => number }> {
    let count = 0;
    const files: Server = createServer((_request, response) => {
      count++;
      response.setHeader("content-type", "text/plain").end(answer());
    });
    await new Promise<void>((resolve) => files.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void files.close());
    return { host: `127.0.0.1:${(files.address() as AddressInfo).port}`, count: () => count };
  }

  it("is fetched once for a key if the server allows it", async () => {
    let version = 0;
    const { host, count } = await serveFile(() => `version ${++version}`);
    const { send, finished, blobs } = await serve({ fetchAttachments: { allow: [host] } });
    const body = { message: "Read", attachments: [NOTE, { url: `http://${host}/a/file.txt` }] };
    const first = await send(body, { key: "k" });
    expect(first.status).toBe(202);
    const [start] = await finished();
    expect(start?.["attachments"]).toMatchObject([{ name: "note.txt" }, { name: "file.txt", bytes: 9 }]);
    expect((await send(body, { key: "k" })).body["run_id"]).toBe(first.body["run_id"]);
    expect(count()).toBe(1);
    expect(await blobs.list("s")).toHaveLength(2);
  });

  it("is refused at private addresses and above the limit", async () => {
    const { host } = await serveFile(() => "x".repeat(100));
    const open = await serve({ fetchAttachments: true });
    const body = { message: "Read", attachments: [{ url: `http://${host}/` }] };
    for (const url of [`http://${host}/`, "http://127.0.0.1/", "http://[::1]/", "http://169.254.169.254/latest"])
      expect(await open.send({ message: "Read", attachments: [{ url }] })).toMatchObject({
        status: 400,
        body: { code: "url_refused" },
      });
    const small = await serve({ fetchAttachments: { allow: [host] }, limits: { maxBlobBytes: 50 } });
    expect(await small.send(body)).toMatchObject({ status: 413, body: { code: "blob_too_large" } });
  });
});
