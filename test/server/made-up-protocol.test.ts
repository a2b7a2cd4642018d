// A made-up client protocol with resume, stop and approval: all that a new protocol needs.
import { expect, it } from "vitest";
import { formatOpaqueId, parseOpaqueId } from "../../src/dialects/opaque-id.ts";
import { parseCursor } from "../../src/log/cursor.ts";
import type { StreamFrame } from "../../src/log/index.ts";
import type { JsonObject } from "../../src/protocol/index.ts";
import { type AnyOperation, type ApiCall, defineOperation } from "../../src/server/api/operation.ts";
import type { ServerCore } from "../../src/server/api/server-core.ts";
import * as protocol from "../../src/server/clients/client-protocol.ts";
import { sendRunSlice } from "../../src/server/clients/send-run-slice.ts";
import { readIdempotencyKey, respondToCommand } from "../../src/server/endpoints/command-endpoint.ts";
import { findHead } from "../../src/server/endpoints/find-branch.ts";
import { assertRunStarts } from "../../src/server/endpoints/find-session.ts";
import { refuse } from "../../src/server/endpoints/read-run-input.ts";
import { readLastEventId } from "../../src/server/endpoints/stream-endpoint.ts";
import { type MapFrames, mapReader } from "../../src/server/streams/wrap-reader.ts";
import { createServerFixture, followSse, readSse, type SseEvent } from "./server-fixture.ts";

type ChirpCall = ApiCall<"DisconnectOptions", "Empty">;

/** A message to a conversation, or the answer to a question. */
type ChirpInput =
  | { readonly conversation: string; readonly id: string; readonly text: string }
  | { readonly question: ChirpSlice; readonly call: string; readonly yes: boolean };

/** The records of a run after `after`, up to the next question or its end. */
type ChirpSlice = protocol.RunSlice & { readonly after: number };

const CHIRP: protocol.ClientProtocol<ChirpCall, ChirpInput, ChirpSlice> = {
  readInput(_core, { body }) {
    const { conversation, id, text, question, call, yes } = body as JsonObject;
    if (typeof call === "string") return { question: readSlice(question), call, yes: yes === true };
    if (typeof conversation === "string" && typeof id === "string" && typeof text === "string")
      return { conversation, id, text };
    throw refuse("A message needs `conversation`, `id` and `text`", "conversation");
  },
  async startOrAnswer(core, call, input) {
    const { caller } = call;
    if ("question" in input) {
      const { session, run: run_id, after } = input.question;
      const about = { id: `chirp:${after}`, run_id, call_id: input.call } as const;
      const decision = input.yes ? "approved" : "rejected";
      await core.authorize({ caller, action: "sessions.read", session });
      await protocol.sendAnswers(core, caller, session, [{ ...about, type: "approve", decision }]);
      return input.question;
    }
    const session = (await findHead(core, caller, input.conversation))?.sessionId ?? input.conversation;
    await protocol.authorizeStart(core, caller, session);
    const message = { session, key: input.id, body: { message: input.text } };
    return { ...(await protocol.startMessageRun(core, call, message)), after: 0 };
  },
  sendSlice: sendChirps,
};

function sendChirps(core: ServerCore, call: ChirpCall, slice: ChirpSlice, leave = {}): Promise<Response> {
  return sendRunSlice(core, call, slice, {
    dialect: "loom",
    framing: "sse",
    after: readLastEventId(call.request) ?? String(slice.after),
    headers: { "chirp-slice": formatSlice(slice) },
    adapt: (reader) => mapReader(reader, chirp(slice)),
    ...leave,
  });
}

/** A text, a question or the end. A response ends with a question. */
function chirp(slice: ChirpSlice): MapFrames {
  return (frames) => {
    const chirps: StreamFrame[] = [];
    for (const { text, cursor } of frames) {
      const { type, content, call_id, name, status } = JSON.parse(text) as JsonObject;
      const add = (frame: object) => chirps.push({ text: JSON.stringify(frame), cursor });
      if (type === "message_chunk") add({ say: content });
      if (type === "run_end") add({ over: status });
      if (type !== "tool_approval") continue;
      add({ ask: name, question: formatSlice({ ...slice, after: parseCursor(cursor).eventId }), call: call_id });
      return { frames: chirps, isLast: true };
    }
    return { frames: chirps, isLast: false };
  };
}

const formatSlice = ({ session, run, after, key }: ChirpSlice) =>
  formatOpaqueId("chirp_", { session, run, after, key });

function readSlice(id: unknown): ChirpSlice {
  const { session, run, after, key } = (parseOpaqueId("chirp_", id) ?? {}) as JsonObject;
  if (typeof session !== "string" || typeof run !== "string" || typeof after !== "number")
    throw refuse("The ID is not one of this server", "slice");
  return { session, run, after, key: typeof key === "string" ? key : undefined };
}

/** The slice that a path names, for a caller who may do this with it. */
async function openSlice(core: ServerCore, { caller, params }: ChirpCall, action: "sessions.read" | "runs.control") {
  const slice = readSlice(params["slice"]);
  await core.authorize({ caller, action, session: slice.session });
  await assertRunStarts(core.log, slice);
  return slice;
}

const ABOUT = { summary: "Chirp", query: "DisconnectOptions", responses: {} } as const;
const START = { ...ABOUT, id: "chirp", method: "POST", path: "/chirp", body: "Empty", action: "runs.start" } as const;
const RESUME = { ...ABOUT, id: "resume", method: "GET", path: "/chirp/{slice}", action: "sessions.read" } as const;
const STOP = { ...ABOUT, id: "stop", method: "POST", path: "/chirp/{slice}/stop", action: "runs.control" } as const;
const operations: readonly AnyOperation[] = [
  defineOperation({ ...START, handle: (core, call: ChirpCall) => protocol.answerClient(core, call, CHIRP) }),
  defineOperation({
    ...RESUME,
    handle: async (core, call: ChirpCall) => sendChirps(core, call, await openSlice(core, call, "sessions.read")),
  }),
  defineOperation({
    ...STOP,
    async handle(core, call: ChirpCall) {
      const { session, run } = await openSlice(core, call, "runs.control");
      const id = readIdempotencyKey(call.request);
      return respondToCommand(core, call.caller, { type: "cancel", id, session, run_id: run });
    },
  }),
];

it("serves a made-up protocol with resume, approval and stop", async () => {
  const ask = { text: "Ask", calls: [{ name: "remove", input: { path: "x" } }] };
  const sing = { text: "La", calls: [{ name: "wait", input: {} }] };
  const { fetch, ran } = await createServerFixture({ script: [ask, { text: "Gone" }, sing], operations });
  const init = { method: "POST", headers: { "content-type": "application/json" } };
  const post = (path: string, body = {}) => fetch(path, { ...init, body: JSON.stringify(body) });
  const pathOf = (response: Response) => `/chirp/${response.headers.get("chirp-slice")}`;
  const parse = (event?: SseEvent) => JSON.parse(event?.data ?? "{}") as JsonObject;

  const first = await post("/chirp", { conversation: "c", id: "m1", text: "Remove it" });
  const events = await readSse(first);
  const question = parse(events.at(-1));
  expect(question).toMatchObject({ ask: "remove" });
  expect(await readSse(await fetch(pathOf(first)))).toEqual(events);
  const headers = { "last-event-id": events.at(-2)?.id ?? "" };
  expect(await readSse(await fetch(pathOf(first), { headers }))).toEqual(events.slice(-1));

  const answered = await readSse(await post("/chirp", { ...question, yes: true }));
  expect(answered.map(parse)).toEqual([{ say: "Gone" }, { over: "completed" }]);
  expect(ran).toEqual([["remove", { path: "x" }]]);

  const song = await post("/chirp", { conversation: "c", id: "m2", text: "Sing" });
  const sung: JsonObject[] = [];
  for await (const event of followSse(song)) {
    sung.push(parse(event));
    if (sung.length === 1) expect((await post(`${pathOf(song)}/stop`)).status).toBe(200);
  }
  expect([sung[0], sung.at(-1)]).toEqual([{ say: "La" }, { over: "cancelled" }]);
});
