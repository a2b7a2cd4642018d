// Bad requests: to the endpoints of the API, and to those of AI SDK, AG-UI and OpenAI clients.
import { onTestFinished } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { LoomError } from "../../src/protocol/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import {
  createLoomHandler,
  createMemoryBlobStore,
  type LoomHandler,
  type LoomHandlerOptions,
  openCredentials,
  SERVER_LIMITS,
} from "../../src/server/index.ts";
import { type BadInputs, describeError } from "./describe-refusal.ts";

const TEXT = { type: "text", text: "Hi" };
const ORIGIN = "http://localhost:8080";

interface SentRequest {
  readonly method?: string;
  readonly headers?: { readonly [name: string]: string };
  /** Sent as it is if it is a string, otherwise as JSON. */
  readonly body?: unknown;
}

type Ask = (path: string, request?: SentRequest) => Promise<string | undefined>;

function createAsk(fetch: (request: Request) => Promise<Response>): Ask {
  return async (path, { method, headers = {}, body } = {}) => {
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const sent = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
    const response = await fetch(
      new Request(`${ORIGIN}${path}`, {
        method: method ?? (body === undefined ? "GET" : "POST"),
        headers: { ...type, ...headers },
        ...sent,
      }),
    );
    return describeResponse(response);
  };
}

interface Problem {
  readonly code: string;
  readonly detail: string;
  readonly details?: object;
  /** The form of the error that OpenAI clients read. */
  readonly error?: object;
}

/** Returns the status, the headers that advise the client, and the error in the body; undefined for an accepted request. */
async function describeResponse(response: Response): Promise<string | undefined> {
  const { status, headers } = response;
  const text = await response.text();
  if (response.ok) return undefined;
  const advice = ["retry-after", "allow", "accept", "www-authenticate"].flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [`${name}: ${value}`];
  });
  const isProblem = headers.get("content-type")?.includes("json") === true;
  return [status, ...advice, isProblem ? describeProblem(JSON.parse(text) as Problem) : text].join("\n");
}

function describeProblem({ code, detail, details, error }: Problem): string {
  return [
    describeError({ code, message: detail, details }),
    ...(error === undefined ? [] : [JSON.stringify(error)]),
  ].join("\n");
}

/** Opens servers without authentication and one with it, in this process. They close when the test ends. */
export function createHttpInputs(): BadInputs {
  const log = new MemoryLog();
  const credentials = openCredentials(":memory:");
  onTestFinished(() => credentials.close());
  const serve = (options: Partial<LoomHandlerOptions>): LoomHandler => {
    const agents = {
      main: agent({ model: new ScriptedModel(() => ({ text: "Hello." })) }),
      tot: agent({ kind: "tot", model: new ScriptedModel(() => ({ text: "Hello." })) }),
    };
    const handler = createLoomHandler({ log, agents, notify: () => undefined, ...options });
    onTestFinished(() => handler.close({ graceMs: 0 }));
    return handler;
  };
  const limits = { maxBodyBytes: 4096, maxBlobBytes: 100, maxInlineBytes: 4096 };
  const blobs = createMemoryBlobStore({ ...SERVER_LIMITS, maxBlobBytes: 100 });
  const open = serve({ allowPublic: true, limits, blobs });
  const closed = serve({ auth: { credentials } });
  const ask = createAsk(open.fetch);
  const askClosed = createAsk(closed.fetch);

  let ready: Promise<unknown> | undefined;
  const prepare = async (): Promise<void> => {
    // The answer ends with the run.
    const headers = { "content-type": "application/json", accept: "text/event-stream" };
    const body = JSON.stringify({ message: "Hi", run_id: "r" });
    const run = new Request(`${ORIGIN}/v1/sessions/s/runs`, { method: "POST", headers, body });
    await (await open.fetch(run)).text();
    for (const [name, limit] of Object.entries({ reader: 100, guest: 100, hurried: 1 })) {
      const token = { name, owner: name, scopes: ["read"], limits: { requestsPerMinute: limit } } as const;
      secrets[name] = (await credentials.createToken(token)).secret;
    }
    await askClosed("/v1/sessions", { headers: bearer("hurried") });
  };
  const secrets: { [name: string]: string } = {};
  const to =
    (path: string, request?: SentRequest | (() => SentRequest), asking = ask) =>
    async () => {
      await (ready ??= prepare());
      return asking(path, typeof request === "function" ? request() : request);
    };
  const toClosed = (path: string, request?: SentRequest | (() => SentRequest)) => to(path, request, askClosed);
  const bearer = (name: string) => ({ authorization: `Bearer ${secrets[name]}` });
  const send = (path: string, body: unknown, headers: SentRequest["headers"] = {}) => to(path, { body, headers });
  const run = (fields: object) => send("/v1/sessions/s/runs", { message: "Hi", ...fields });
  const command = (fields: object) => send("/v1/sessions/s/commands", { id: "c", session: "s", ...fields });

  const api: BadInputs = {
    "body: not JSON": send("/v1/runs", '{"message": "Hi",'),
    "body: a list": send("/v1/runs", []),
    "body: none": to("/v1/runs", { method: "POST" }),
    "body: another content type": send("/v1/runs", "message=Hi", {
      "content-type": "application/x-www-form-urlencoded",
    }),
    "body: too large": send("/v1/runs", { message: "x".repeat(5000) }),
    "body: too deep": send("/v1/runs", `{"message":"Hi","context":${"[".repeat(2000)}${"]".repeat(2000)}}`),
    "body: an unknown field": run({ mesage: "Hi" }),
    "body: a missing field": send("/v1/runs", {}),
    "body: a field of another type": run({ message: 7 }),
    "run: an unknown agent": run({ agent: "man" }),
    "run: an unknown level": run({ reasoning: "lots" }),
    "run: an unknown setting": run({ agent: "tot", strategy: { beem: 3 } }),
    "run: a setting of another agent": run({ agent: "main", strategy: { beam: 3 } }),
    "run: a setting above its limit": run({ agent: "tot", strategy: { beam: 100_000 } }),
    "run: a choice that does not exist": run({ when_busy: "wait" }),
    "run: a file that does not exist": run({ attachments: [{ blob_id: "none" }] }),
    "run: a client tool without a name": run({ client_tools: [{ description: "d" }] }),
    "run: an output schema that is a list": run({ output_schema: [] }),
    "run: an idempotency key that is too long": send(
      "/v1/sessions/s/runs",
      { message: "Hi" },
      { "idempotency-key": "k".repeat(300) },
    ),
    "query: a limit that is not a number": to("/v1/sessions?limit=many"),
    "query: an unknown name": to("/v1/sessions?limt=1"),
    "query: a cursor of a list that does not exist": to("/v1/sessions?after=none"),
    "query: a state that does not exist": to("/v1/runs?state=resting"),
    "session: an unknown one": to("/v1/sessions/none"),
    "session: an ID that cannot be decoded": to("/v1/sessions/%E0%A4%A"),
    "session: an ID that is too long": send("/v1/sessions", { session_id: "s".repeat(257) }),
    "session: a title that is too long": to("/v1/sessions/s", { method: "PATCH", body: { title: "t".repeat(1001) } }),
    "session: a title of another type": to("/v1/sessions/s", { method: "PATCH", body: { title: 7 } }),
    "fork: an unknown checkpoint": send("/v1/sessions/s/fork", { checkpoint_id: "none" }),
    "fork: an unknown run": send("/v1/sessions/s/fork", { before_run: "none" }),
    "fork: two positions": send("/v1/sessions/s/fork", { before_run: "r", after_event: 1 }),
    "events: a cursor that is not one": to("/v1/sessions/s/events?after=abc"),
    "events: a position after the end": to("/v1/sessions/s/events?after=9999"),
    "events: a header that is not a cursor": to("/v1/sessions/s/events", { headers: { "last-event-id": "abc" } }),
    "events: an unknown dialect": to("/v1/sessions/s/events?dialect=lom"),
    "events: an unknown mode": to("/v1/sessions/s/events?modes=state"),
    "events: an unknown run": to("/v1/sessions/s/events?run=none"),
    "events: an unknown session": to("/v1/sessions/none/events"),
    "runs: an unknown one": to("/v1/sessions/s/runs/none"),
    "runs: the end of an unknown one": send("/v1/sessions/s/runs/none/cancel", { reason: 7 }),
    "approval: an unknown call": send("/v1/sessions/s/approvals/none", { decision: "approved" }),
    "approval: a decision that does not exist": send("/v1/sessions/s/approvals/none", { decision: "perhaps" }),
    "call: a result for an unknown one": send("/v1/sessions/s/calls/none/result", { output: "" }),
    "permission: a rule that does not exist": to("/v1/sessions/s/permissions/rm", {
      method: "PUT",
      body: { rule: "no" },
    }),
    "feedback: a rating that does not exist": to("/v1/sessions/s/runs/r/feedback", {
      method: "PUT",
      body: { rating: "fine" },
    }),
    "feedback: an unknown run": to("/v1/sessions/s/runs/none/feedback", { method: "PUT", body: { rating: "good" } }),
    "to-do: no change": to("/v1/sessions/s/todos/l/i", { method: "PATCH", body: {} }),
    "command: an unknown type": command({ type: "stop" }),
    "command: no ID": send("/v1/sessions/s/commands", { session: "s", type: "cancel" }),
    "command: another session": command({ session: "t", type: "cancel", run_id: "r" }),
    "command: a field of another command": command({ type: "cancel", run_id: "r", decision: "approved" }),
    "command: an approval without a call": command({ type: "approve", decision: "approved" }),
    "checkpoint: an unknown one": to("/v1/sessions/s/checkpoints/none"),
    "model call: an unknown one": to("/v1/sessions/s/runs/r/model-calls/none"),
    "blob: an unknown one": to("/v1/sessions/s/blobs/none"),
    "blob: too large": send("/v1/sessions/s/blobs", "x".repeat(200), { "content-type": "text/plain" }),
    "ingest: a line that is not JSON": send(
      "/v1/sessions/new/ingest",
      '{"type":"run_start","run_id":"f","message":"Hi"}\n{"a":\n',
      { "content-type": "application/x-ndjson" },
    ),
    "ingest: another content type": send("/v1/sessions/new/ingest", {}),
    "ingest: an unknown dialect": send("/v1/sessions/new/ingest?dialect=lom", "{}", {
      "content-type": "application/x-ndjson",
    }),
    "image: an address that is not public": to("/v1/images?url=http%3A%2F%2F127.0.0.1%2Fa.png"),
    "image: no address": to("/v1/images"),
    "knowledge: none": to("/v1/knowledge/search?q=a"),
    "share: a negative time": send("/v1/sessions/s/shares", { expires_in_ms: -1 }),
    "path: an unknown one": to("/v1/session"),
    "path: another method": to("/v1/agents", { method: "DELETE" }),
    "path: metrics without a register": to("/metrics"),
  };

  const auth: BadInputs = {
    "auth: no token": toClosed("/v1/sessions"),
    "auth: an unknown token": toClosed("/v1/sessions", { headers: { authorization: "Bearer loom_x_y" } }),
    "auth: another scheme": toClosed("/v1/sessions", { headers: { authorization: "Basic YTpi" } }),
    "auth: a scope that is missing": toClosed("/v1/runs", () => ({
      body: { message: "Hi" },
      headers: bearer("reader"),
    })),
    "auth: the session of another owner": toClosed("/v1/sessions/s", () => ({ headers: bearer("guest") })),
    "auth: the data of another owner": toClosed("/v1/owners/erin", () => ({
      method: "DELETE",
      headers: bearer("guest"),
    })),
    "auth: a wrong sign-in": toClosed("/v1/auth/sign-in", {
      body: { credential: "loom_x_y" },
      headers: { origin: ORIGIN },
    }),
    "auth: a ticket that does not exist": toClosed("/v1/sessions/s/events?ticket=loom_x_y"),
    "auth: too many requests": toClosed("/v1/sessions", () => ({ headers: bearer("hurried") })),
    "auth: another origin": toClosed("/v1/runs", { body: {}, headers: { origin: "https://evil.example" } }),
    "auth: a host that is not one": toClosed("/v1/runs", { headers: { host: "a b" } }),
  };

  const chat = (fields: object) => send("/api/chat", { id: "s", messages: [], ...fields });
  const aiSdk: BadInputs = {
    "AI SDK: not JSON": send("/api/chat", "{"),
    "AI SDK: no messages": chat({}),
    "AI SDK: messages of another type": chat({ messages: "Hi" }),
    "AI SDK: a message without a role": chat({ messages: [{ id: "m", parts: [] }] }),
    "AI SDK: a message without a text": chat({ messages: [{ id: "m", role: "user", parts: [] }] }),
    "AI SDK: a part of an unknown type": chat({ messages: [{ id: "m", role: "user", parts: [{ type: "video" }] }] }),
    "AI SDK: a file with a URL": chat({
      messages: [
        {
          id: "m",
          role: "user",
          parts: [{ type: "file", mediaType: "image/png", url: "https://a.example.com/a.png" }],
        },
      ],
    }),
    "AI SDK: an approval of an unknown call": chat({
      messages: [
        {
          id: "r",
          role: "assistant",
          parts: [
            {
              type: "tool-rm",
              toolCallId: "none",
              state: "approval-responded",
              input: {},
              approval: { id: "none", approved: true },
            },
          ],
        },
      ],
    }),
    "AI SDK: an unknown version": send("/api/chat?version=4", { id: "s", messages: [] }),
    "AI SDK: an unknown agent": chat({
      id: "t",
      agent: "man",
      messages: [{ id: "m", role: "user", parts: [TEXT] }],
    }),
    "AI SDK: a start that is not a number": to("/api/chat/s/stream?startIndex=x"),
    "003: a content of another type": send("/api/chat", { session_id: "s", content: 7 }),
    "003: a cursor that is not one": send("/api/chat", { session_id: "s" }, { "last-event-id": "abc" }),
  };

  const agUi = (fields: object, path = "/ag-ui") =>
    send(path, { threadId: "s", runId: "f", messages: [{ id: "m", role: "user", content: "Hi" }], ...fields });
  const agUiInputs: BadInputs = {
    "AG-UI: not JSON": send("/ag-ui", "{"),
    "AG-UI: no thread": agUi({ threadId: undefined }),
    "AG-UI: no messages": agUi({ messages: undefined }),
    "AG-UI: a message of another type": agUi({ messages: [{ id: "m", role: "user", content: 7 }] }),
    "AG-UI: no message of the user": agUi({ threadId: "t", messages: [{ id: "m", role: "assistant", content: "Hi" }] }),
    "AG-UI: a tool without a name": agUi({ tools: [{ description: "d" }] }),
    "AG-UI: an answer to nothing": agUi({ resume: [{ interruptId: "none", status: "resolved" }] }),
    "AG-UI: an answer of an unknown status": agUi({ resume: [{ interruptId: "none", status: "perhaps" }] }),
    "AG-UI: an unknown agent": agUi({}, "/ag-ui/man"),
    "AG-UI: an unknown framing": agUi({}, "/ag-ui?framing=xml"),
    "AG-UI: an unknown thread": to("/ag-ui?threadId=none"),
    "AG-UI: neither thread nor run": to("/ag-ui"),
    "AG-UI: a run that is not one": to("/ag-ui?runId=loom.abc"),
    "AG-UI: the end of an unknown thread": send("/ag-ui/threads/none/stop", {}),
  };

  const v1 = "/openai/v1";
  const completion = (fields: object) =>
    send(`${v1}/chat/completions`, { model: "main", messages: [{ role: "user", content: "Hi" }], ...fields });
  const response = (fields: object) => send(`${v1}/responses`, { model: "main", input: "Hi", ...fields });
  const openai: BadInputs = {
    "OpenAI: not JSON": send(`${v1}/responses`, "{"),
    "OpenAI: an unknown model": completion({ model: "man" }),
    "OpenAI: no messages": completion({ messages: [] }),
    "OpenAI: a message of an unknown role": completion({ messages: [{ role: "boss", content: "Hi" }] }),
    "OpenAI: a content of another type": completion({ messages: [{ role: "user", content: 7 }] }),
    "OpenAI: two answers": completion({ n: 2 }),
    "OpenAI: a tool without a function": completion({ tools: [{ type: "function" }] }),
    "OpenAI: a format that does not exist": completion({ response_format: { type: "xml" } }),
    "OpenAI: a file with a URL": completion({
      messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "https://a.example.com/a.png" } }] }],
    }),
    "OpenAI: no input": response({ input: undefined }),
    "OpenAI: an item of an unknown type": response({ input: [{ type: "video" }] }),
    "OpenAI: an earlier response that does not exist": response({ previous_response_id: "resp_none" }),
    "OpenAI: two ways to continue": response({ conversation: "s", previous_response_id: "resp_none" }),
    "OpenAI: an approval that does not exist": response({
      input: [{ type: "mcp_approval_response", approval_request_id: "none", approve: true }],
    }),
    "OpenAI: an unknown response": to(`${v1}/responses/resp_none`),
    "OpenAI: a model that does not exist": to(`${v1}/models/man`),
    "OpenAI: items of another type": send(`${v1}/conversations/s/items`, { items: "Hi" }),
    "OpenAI: metadata of another type": send(`${v1}/conversations`, { metadata: { a: 7 } }),
    "OpenAI: an item that does not exist": to(`${v1}/conversations/s/items/none`),
    "OpenAI: an unknown path": to(`${v1}/embeddings`, { body: {} }),
    "OpenAI: no token": toClosed(`${v1}/models`),
  };

  const servers: BadInputs = {
    "server: a log that fails": async () => {
      const failing = Object.assign(new MemoryLog(), {
        listSessions: () => Promise.reject(new Error("The disk burns")),
      });
      return createAsk(serve({ log: failing, allowPublic: true }).fetch)("/v1/sessions");
    },
    "server: a store that is full": async () => {
      const createSession = () =>
        Promise.reject(new LoomError("store_full", "The disk is full", { path: "/data/loom.db" }));
      const full = Object.assign(new MemoryLog(), { createSession });
      return createAsk(serve({ log: full, allowPublic: true }).fetch)("/v1/sessions", { body: { session_id: "t" } });
    },
    "server: stopped": async () => {
      const stopped = serve({ allowPublic: true });
      await stopped.close({ graceMs: 0 });
      return createAsk(stopped.fetch)("/v1/runs", { body: { message: "Hi" } });
    },
  };

  return { ...api, ...auth, ...servers, ...aiSdk, ...agUiInputs, ...openai };
}
