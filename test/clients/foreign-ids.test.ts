// Another owner knows every ID of a session: of the chat, the stream, the thread, the run, the response and the calls. No
// endpoint for third-party clients lets them read, continue, stop, fork or answer, whatever the IDs are combined with.
import { afterAll, beforeAll, expect, it } from "vitest";
import { formatOpenaiId } from "../../src/dialects/openai-id.ts";
import { encodeRunReference } from "../../src/server/clients/ag-ui/find-run.ts";
import { formatStreamId } from "../../src/server/clients/ai-sdk/stream-id.ts";
import {
  ALICE_SESSION as SESSION,
  createOwnersFixture,
  fillSession,
  type OwnersFixture,
  SECRET,
} from "../security/owners-fixture.ts";

const RUN = "second";
const CALL = "call_rm";
const OWN = "bob-session";
let fixture: OwnersFixture;

beforeAll(async () => {
  fixture = await createOwnersFixture();
  await fillSession(fixture);
  const { askJson, tokens } = fixture;
  await askJson(tokens.bob, `/v1/sessions/${OWN}/runs`, { method: "POST", body: { message: "Hi", run_id: "own" } });
});
afterAll(() => fixture.close());

const part = { session: SESSION, run: RUN, after: 0 };
const response = formatOpenaiId("response", part);
const approval = { type: "mcp_approval_response", approval_request_id: "", approve: true };
const approvalId = formatOpenaiId("approval", { ...part, call: CALL });
const callId = formatOpenaiId("call", { ...part, call: CALL });
const message = { id: "m", role: "user", content: "Hi", parts: [{ type: "text", text: "Hi" }] };
const answered = {
  id: RUN,
  role: "assistant",
  parts: [
    { type: "tool-remove", toolCallId: CALL, state: "approval-responded", approval: { id: CALL, approved: true } },
    { type: "tool-remove", toolCallId: CALL, state: "output-available", output: "x" },
  ],
};
const resume = [{ interruptId: CALL, status: "resolved", payload: true }];
const streams = [
  formatStreamId({ session: SESSION, run: RUN }),
  formatStreamId({ session: SESSION, run: RUN, key: "k", waitFromId: 0 }),
  formatStreamId({ session: OWN, run: RUN }),
];

/** Reads, which must show nothing of the session. */
const READS = [
  ...[SESSION, ...streams].flatMap((id) => [`/api/chat/${id}/stream`, `/api/chat/${id}/stream?startIndex=-5`]),
  `/api/chat/${SESSION}/messages`,
  `/ag-ui?threadId=${SESSION}`,
  `/ag-ui?runId=${RUN}`,
  `/ag-ui?runId=${encodeRunReference(SESSION, RUN)}`,
  `/ag-ui?threadId=${OWN}&runId=${encodeRunReference(SESSION, RUN)}`,
  `/ag-ui?threadId=${OWN}&before=${RUN}`,
  ...["", "?stream=true", "/input_items"].map((path) => `/openai/v1/responses/${response}${path}`),
];

/** Requests that would change the session, or read it as history. */
const WRITES: readonly (readonly [string, object, { readonly [name: string]: string }?])[] = [
  ["/api/chat", { id: SESSION, messages: [message] }],
  ["/api/chat", { id: SESSION, messages: [message], trigger: "regenerate-message", messageId: RUN }],
  ["/api/chat", { id: SESSION, messages: [answered] }],
  ["/api/chat", { id: OWN, messages: [answered] }],
  ...[SESSION, ...streams].map((id) => [`/api/chat/${id}/stop`, {}] as const),
  ["/ag-ui", { threadId: SESSION, runId: "b1", messages: [message] }],
  ["/ag-ui", { threadId: SESSION, runId: RUN, messages: [message] }],
  ["/ag-ui", { threadId: SESSION, runId: "b2", messages: [], resume }],
  ["/ag-ui", { threadId: OWN, runId: "b3", messages: [], resume }],
  [`/ag-ui/threads/${SESSION}/stop`, {}],
  [`/ag-ui/threads/${SESSION}/stop`, { runId: RUN }],
  ["/openai/v1/responses", { model: "main", input: "Hi", previous_response_id: response }],
  ["/openai/v1/responses", { model: "main", input: "Hi", conversation: SESSION }],
  ["/openai/v1/responses", { model: "main", input: "Hi", conversation: { id: SESSION } }],
  ["/openai/v1/responses", { model: "main", input: [{ ...approval, approval_request_id: approvalId }] }],
  [
    "/openai/v1/responses",
    { model: "main", conversation: OWN, input: [{ ...approval, approval_request_id: approvalId }] },
  ],
  ["/openai/v1/responses", { model: "main", input: [{ type: "function_call_output", call_id: callId, output: "x" }] }],
  [`/openai/v1/responses/${response}/cancel`, {}],
  ["/openai/v1/chat/completions", { model: "main", messages: [message], metadata: { session_id: SESSION } }],
  ["/openai/v1/chat/completions", { model: "main", messages: [message] }, { "loom-session": SESSION }],
];

it.each(READS)("shows nothing: %s", async (path) => {
  const { status, text } = await fixture.ask(fixture.tokens.bob, path);
  expect([status, text.includes(SECRET)]).toEqual([expect.any(Number), false]);
  // A page asks for its chat before the first message, so a chat that is not the caller's looks empty.
  if (!path.startsWith(`/api/chat/${SESSION}/`)) expect(status).toBeGreaterThanOrEqual(400);
  expect(status).toBeLessThan(500);
});

it.each(WRITES.map(([path, body, headers = {}]) => ({ path, body, headers })))(
  "changes nothing: $path $body",
  async (write) => {
    const { path, ...request } = write;
    const before = await fixture.dumpSession(SESSION);
    const { status, text } = await fixture.ask(fixture.tokens.bob, path, { method: "POST", ...request });
    expect([status === 204 || (status >= 400 && status < 500), text.includes(SECRET)]).toEqual([true, false]);
    expect(await fixture.dumpSession(SESSION)).toBe(before);
    expect(fixture.ran).toEqual([]);
    expect(fixture.reported).toEqual([]);
  },
);

it("deletes nothing", async () => {
  const { status } = await fixture.ask(fixture.tokens.bob, `/openai/v1/responses/${response}`, { method: "DELETE" });
  expect([status, await fixture.dumpSession(SESSION)]).toEqual([404, expect.stringContaining(SECRET)]);
});

it("ignores results of foreign calls in a new conversation", async () => {
  const messages = [{ role: "tool", tool_call_id: callId, content: "x" }];
  const before = await fixture.dumpSession(SESSION);
  const body = { model: "main", messages };
  const { status, headers } = await fixture.ask(fixture.tokens.bob, "/openai/v1/chat/completions", {
    method: "POST",
    body,
  });
  expect([status, headers["loom-session"] === SESSION]).toEqual([200, false]);
  expect(await fixture.dumpSession(SESSION)).toBe(before);
});
