// Example requests for every endpoint. `ownership.test.ts` fails if an endpoint has no example.
import { formatStreamId } from "../../src/server/clients/ai-sdk/stream-id.ts";
import { formatOpenaiId } from "../../src/dialects/openai-id.ts";
import type { AnyOperation } from "../../src/server/api/operation.ts";
import type { RequestOptions, SessionIds } from "./owners-fixture.ts";

export interface Example extends RequestOptions {
  readonly path: string;
}

type Examples = (session: string, ids: SessionIds) => readonly Example[];

const at = (session: string, rest = ""): string => `/v1/sessions/${session}${rest}`;
const post = (path: string, body?: unknown, headers: { readonly [name: string]: string } = {}): Example => ({
  path,
  method: "POST",
  headers,
  ...(body === undefined ? {} : { body }),
});
const RECORD = `{"type":"run_start","run_id":"foreign","message":"Hi"}\n`;
const NDJSON = { "content-type": "application/x-ndjson" };
const command = (session: string, frame: object): Example =>
  post(at(session, "/commands"), { id: `c-${JSON.stringify(frame).length}`, session, ...frame });

const agUi = (threadId: string, more: object = {}): object => ({
  threadId,
  runId: "r",
  messages: [{ id: "m", role: "user", content: "Hi" }],
  ...more,
});
const ANSWER = { resume: [{ interruptId: "call_rm", status: "resolved", payload: { approved: true } }] };
const OPENAI = "/openai/v1";
const conversation = (s: string, rest = ""): string => `${OPENAI}/conversations/${s}${rest}`;

const response = (session: string, run: string): string =>
  `${OPENAI}/responses/${formatOpenaiId("response", { session, run, after: 0 })}`;
const answer = (session: string, run: string): object => ({
  model: "main",
  input: [
    {
      type: "mcp_approval_response",
      approval_request_id: formatOpenaiId("approval", { session, run, after: 0, call: "call_rm" }),
      approve: true,
    },
  ],
});

/** Requests that name the session in the path. */
export const BY_PATH: { readonly [operation: string]: Examples } = {
  getSession: (s) => [{ path: at(s) }, { path: at(s), method: "HEAD" }],
  listBranches: (s) => [{ path: at(s, "/branches") }, { path: at(s, "/branches?limit=1&after=bobs-own") }],
  updateSession: (s) => [
    { path: at(s), method: "PATCH", body: { title: "Mine" } },
    { path: at(s), method: "PATCH", body: { is_pinned: true, is_archived: true } },
    { path: at(s), method: "PATCH", body: { title: 1 } },
  ],
  deleteSession: (s) => [
    { path: at(s), method: "DELETE" },
    { path: at(s, "?versions=all"), method: "DELETE" },
  ],
  forkSession: (s, { checkpoint }) => [
    post(at(s, "/fork"), {}),
    post(at(s, "/fork"), { session_id: "fork-of-hers" }, { "idempotency-key": "k" }),
    post(at(s, "/fork"), { checkpoint_id: checkpoint }),
    post(at(s, "/fork"), { after_event: 5 }),
    post(at(s, "/fork"), { before_run: "second" }),
    post(at(s, "/fork"), { before_run: "no run of this name" }),
  ],
  exportSession: (s) => [{ path: at(s, "/export") }],
  listRuns: (s) => [{ path: at(s, "/runs") }, { path: at(s, "/runs?after=first") }],
  getRun: (s, { run }) => [{ path: at(s, `/runs/${run}`) }, { path: at(s, "/runs/none") }],
  readEvents: (s, { cursor, run }) => [
    { path: at(s, "/events") },
    { path: at(s, "/events"), headers: { accept: "application/x-ndjson" } },
    { path: at(s, "/events?follow=true") },
    { path: at(s, `/events?after=${encodeURIComponent(cursor)}`) },
    { path: at(s, "/events"), headers: { "last-event-id": cursor } },
    { path: at(s, `/events?run=${run}`), headers: { "last-event-id": cursor } },
    { path: at(s, "/events?dialect=none") },
    { path: at(s, "/events?after=99999999") },
  ],
  cancelRun: (s, { run }) => [post(at(s, `/runs/${run}/cancel`)), post(at(s, "/runs/none/cancel"), { reason: "so" })],
  listApprovals: (s) => [{ path: at(s, "/approvals") }],
  answerApproval: (s, { run }) => [
    post(at(s, "/approvals/call_rm"), { decision: "approved" }),
    post(at(s, "/approvals/call_rm"), { decision: "approved", run_id: run }, { "idempotency-key": "yes" }),
    post(at(s, "/approvals/none"), { decision: "rejected" }),
    post(at(s, "/approvals/call_rm"), { decision: "perhaps" }),
  ],
  listClientCalls: (s) => [{ path: at(s, "/calls") }],
  sendToolResult: (s, { run }) => [
    post(at(s, "/calls/call_rm/result"), { output: "done" }),
    post(at(s, "/calls/call_rm/result"), { output: { a: 1 }, run_id: run }, { "idempotency-key": "result" }),
    post(at(s, "/calls/none/result"), {}),
    post(at(s, "/calls/call_rm/result"), { is_error: "perhaps" }),
  ],
  setToolPermission: (s) => [
    { path: at(s, "/permissions/rm"), method: "PUT", body: { rule: "ask" } },
    { path: at(s, "/permissions/rm"), method: "PUT", body: { rule: "deny" } },
  ],
  rateRun: (s, { run }) => [
    { path: at(s, `/runs/${run}/feedback`), method: "PUT", body: { rating: "good", comment: "yes" } },
    { path: at(s, "/runs/none/feedback"), method: "PUT", body: { rating: "none" } },
  ],
  changeTodo: (s) => [{ path: at(s, "/todos/list/item"), method: "PATCH", body: { completed: true } }],
  listModelCalls: (s, { run }) => [
    { path: at(s, `/runs/${run}/model-calls`) },
    { path: at(s, "/runs/none/model-calls") },
  ],
  getModelCall: (s, { run }) => [{ path: at(s, `/runs/${run}/model-calls/none`) }],
  listCheckpoints: (s) => [{ path: at(s, "/checkpoints") }],
  getCheckpoint: (s, { checkpoint }) => [
    { path: at(s, `/checkpoints/${checkpoint}`) },
    { path: at(s, "/checkpoints/none") },
  ],
  listBlobs: (s) => [{ path: at(s, "/blobs") }],
  getBlob: (s, { blob }) => [
    { path: at(s, `/blobs/${blob}`) },
    { path: at(s, `/blobs/${blob}`), method: "HEAD" },
    { path: at(s, `/blobs/${blob}`), headers: { range: "bytes=0-1" } },
    { path: at(s, `/blobs/${blob}`), headers: { "if-none-match": `"${blob}"` } },
    { path: at(s, "/blobs/none") },
  ],
  createShare: (s) => [post(at(s, "/shares"), {})],
  listShares: (s) => [{ path: at(s, "/shares") }],
  deleteShare: (s, { share }) => [
    { path: at(s, `/shares/${share}`), method: "DELETE" },
    { path: at(s, "/shares/none"), method: "DELETE" },
  ],
  sendCommand: (s, { run }) => [
    command(s, { type: "cancel", run_id: run }),
    command(s, { type: "approve", call_id: "call_rm", decision: "approved" }),
    command(s, { type: "tool_result", call_id: "call_rm", output: "done" }),
    command(s, { type: "permission", name: "rm", rule: "ask" }),
    command(s, { type: "feedback", run_id: run, rating: "bad" }),
    command(s, { type: "todo", list_id: "l", item_id: "i", completed: true }),
  ],
  startRun: () => [],
  putBlob: () => [],
  ingestRun: () => [],
};

/** Endpoints of AI SDK chats answer for a chat that does not exist as for one without messages. */
export function hasEmptyAnswer({ path }: Example): boolean {
  return /^\/api\/chat\/(?!wrun_)[^/]+\//.test(path);
}

/** State of a tool call in a message of the AI SDK that the user allowed. */
const ANSWERED = { state: "approval-responded", approval: { id: "call_rm", approved: true } };

/** Requests that name the session in the body or the query. */
export const BY_PARAMETER: { readonly [operation: string]: Examples } = {
  chat: (s, { cursor, run }) => [
    post("/api/chat", { session_id: s }, { "last-event-id": cursor }),
    post("/api/chat", {
      id: s,
      messages: [{ id: run, role: "assistant", parts: [{ type: "tool-rm", toolCallId: "call_rm", ...ANSWERED }] }],
    }),
  ],
  resumeChat: (s, { cursor, run }) => [
    { path: `/api/chat?session_id=${s}` },
    { path: `/api/chat?session_id=${s}&run=${run}` },
    { path: `/api/chat?session_id=${s}`, headers: { "last-event-id": cursor } },
  ],
  stopAgUi: (s, { run }) => [
    post(`/ag-ui/threads/${s}/stop`),
    post(`/ag-ui/threads/${s}/stop`, { runId: run }),
    post(`/ag-ui/threads/${s}/stop`, { runId: "none" }),
  ],
  runAgUi: (s) => [post("/ag-ui", agUi(s, ANSWER))],
  readAgUi: (s, { cursor, run }) => [
    { path: `/ag-ui?threadId=${s}` },
    { path: `/ag-ui?threadId=${s}&limit=1&before=second` },
    { path: `/ag-ui?runId=loom.${Buffer.from(JSON.stringify([s, run])).toString("base64url")}` },
    {
      path: `/ag-ui?runId=loom.${Buffer.from(JSON.stringify([s, run])).toString("base64url")}`,
      headers: { "last-event-id": cursor },
    },
  ],
  readAgUiAgent: (s) => [{ path: `/ag-ui/main?threadId=${s}` }],
  readChat: (s, { run, cursor }) => [
    { path: `/api/chat/${s}/stream` },
    { path: `/api/chat/${s}/stream?startIndex=0` },
    { path: `/api/chat/${formatStreamId({ session: s, run })}/stream?startIndex=-1` },
    { path: `/api/chat/${formatStreamId({ session: s, run })}/stream`, headers: { "last-event-id": cursor } },
  ],
  stopChat: (s, { run }) => [
    post(`/api/chat/${s}/stop`, {}),
    post(`/api/chat/${formatStreamId({ session: s, run })}/stop`, {}),
  ],
  readChatMessages: (s) => [{ path: `/api/chat/${s}/messages` }],
  createResponse: (s, { run }) => [
    post(`${OPENAI}/responses`, { model: "main", input: "Hi", previous_response_id: response(s, run).slice(21) }),
    post(`${OPENAI}/responses`, answer(s, run)),
  ],
  getResponse: (s, { run }) => [
    { path: response(s, run) },
    { path: `${response(s, run)}?stream=true&starting_after=1` },
    { path: response(s, "none") },
  ],
  cancelResponse: (s, { run }) => [post(`${response(s, run)}/cancel`)],
  deleteResponse: (s, { run }) => [{ path: response(s, run), method: "DELETE" }],
  listResponseInputItems: (s, { run }) => [{ path: `${response(s, run)}/input_items` }],
  getConversation: (s) => [{ path: conversation(s) }],
  updateConversation: (s) => [post(conversation(s), { metadata: { mine: "yes" } })],
  deleteConversation: (s) => [{ path: conversation(s), method: "DELETE" }],
  createConversationItems: (s) => [
    post(conversation(s, "/items"), { items: [{ role: "user", content: "Hi" }] }),
    post(conversation(s, "/items"), { items: [] }),
  ],
  listConversationItems: (s) => [
    { path: conversation(s, "/items") },
    { path: conversation(s, "/items?order=asc&limit=1&after=msg_1") },
  ],
  getConversationItem: (s) => [{ path: conversation(s, "/items/msg_1") }],
  deleteConversationItem: (s) => [{ path: conversation(s, "/items/msg_1"), method: "DELETE" }],
  createTicket: (s) => [post("/v1/auth/tickets", { session_id: s })],
  listSessions: (s) => [{ path: `/v1/sessions?after=${s}` }, { path: `/v1/sessions?q=xylophone&after=${s}` }],
  listActiveRuns: (s) => [{ path: `/v1/runs?after=${s}` }, { path: `/v1/runs?state=waiting&after=${s}` }],
};

/**
 * Requests that create the session if it does not exist. For a session of another owner they must fail and change
 * nothing.
 */
export const CREATING: { readonly [operation: string]: Examples } = {
  startRun: (s) => [
    post(at(s, "/runs"), { message: "Hi" }),
    post(at(s, "/runs"), { message: "Hi", when_busy: "interrupt" }),
    post(at(s, "/runs"), { message: "Hi" }, { accept: "text/event-stream" }),
  ],
  putBlob: (s) => [{ path: at(s, "/blobs"), method: "POST", raw: "mine", headers: { "content-type": "text/plain" } }],
  ingestRun: (s) => [{ path: at(s, "/ingest"), method: "POST", raw: RECORD, headers: NDJSON }],
  sendCommand: (s) => [command(s, { type: "run", message: "Hi" })],
  createSession: (s) => [post("/v1/sessions", { session_id: s, title: "Mine" })],
  runAgUi: (s) => [
    post("/ag-ui", agUi(s)),
    post("/ag-ui?on_disconnect=cancel&framing=ndjson", agUi(s, { protocolVersion: "1.0" })),
  ],
  runAgUiAgent: (s) => [post("/ag-ui/main", agUi(s))],
  chat: (s) => [
    post("/api/chat", { session_id: s, content: "Hi" }),
    post("/api/chat", { id: s, messages: [{ id: "m", role: "user", parts: [{ type: "text", text: "Hi" }] }] }),
  ],
  createChatCompletion: (s) => [
    post(
      `${OPENAI}/chat/completions`,
      { model: "main", messages: [{ role: "user", content: "Hi" }] },
      { "loom-session": s },
    ),
  ],
  createResponse: (s) => [post(`${OPENAI}/responses`, { model: "main", input: "Hi", conversation: s })],
  forkSession: (s) => [post(at("bobs-own", "/fork"), { session_id: s })],
};

/** Requests that name no session. */
export const WITHOUT_SESSION: { readonly [operation: string]: Example } = {
  startRunInNewSession: post("/v1/runs", { message: "Hi" }),
  listAgents: { path: "/v1/agents" },
  listModels: { path: "/v1/models" },
  createConversation: post(`${OPENAI}/conversations`, {}),
  listOpenaiModels: { path: `${OPENAI}/models` },
  getOpenaiModel: { path: `${OPENAI}/models/main` },
  getImage: { path: "/v1/images?url=https%3A%2F%2F127.0.0.1%2F" },
  listKnowledge: { path: "/v1/knowledge" },
  addDocument: post("/v1/knowledge?name=x.md"),
  searchKnowledge: { path: "/v1/knowledge/search?q=x" },
  readDocument: { path: "/v1/knowledge/none/text" },
  removeDocument: { path: "/v1/knowledge/none", method: "DELETE" },
  getMetrics: { path: "/metrics" },
  getVersion: { path: "/version" },
  getAuth: { path: "/v1/auth" },
  signIn: post("/v1/auth/sign-in", { credential: "" }),
  signOut: post("/v1/auth/sign-out"),
  eraseOwner: { path: "/v1/owners/erin", method: "DELETE" },
  checkHealth: { path: "/healthz" },
  checkReadiness: { path: "/readyz" },
  getOpenApi: { path: "/openapi.json" },
};

/** One request for this operation; about this session if the operation is about a session. */
export function findExample({ id }: AnyOperation, session: string, ids: SessionIds): Example | undefined {
  const examples = [BY_PATH[id], BY_PARAMETER[id], CREATING[id]].flatMap((list) => list?.(session, ids) ?? []);
  return WITHOUT_SESSION[id] ?? examples[0];
}
