/**
 * The items of a conversation: what a client added, as it was sent, and the input and output of the runs. The runs of
 * added items have them in their context, under the IDs that the client knows.
 */
import type { RunAttachments } from "../../../agents/compose-question.ts";
import { createOpenaiResponsesEncoder, isLastResponseEvent } from "../../../dialects/openai-responses/encode.ts";
import type { Log, RunInfo, SessionInfo } from "../../../log/index.ts";
import { readPages, readRuns } from "../../../log/read-pages.ts";
import type { EventOf, Json, JsonObject, StampedRecord } from "../../../protocol/index.ts";
import { toJsonObject } from "../../../protocol/json.ts";
import type { ServerCore } from "../../api/server-core.ts";
import { findRun, findSession } from "../../endpoints/find-session.ts";
import { ResponseFold } from "./fold-response.ts";
import type { OpenaiSlice } from "./openai-run.ts";

/** Files are sent with their items; a page ends when they have this many bytes. */
const MAX_FILE_BYTES = 8 * 1024 * 1024;
const METADATA = "openai_conversation";

/** The items of one run. */
export interface RunItems {
  readonly run: RunInfo;
  readonly items: readonly JsonObject[];
  /** Those that the client sent for the responses of the run: its message, and its answers. */
  readonly inputs: readonly InputItem[];
  readonly attachments: RunAttachments;
  /** True if a client added them. */
  readonly isAdded: boolean;
}

interface InputItem {
  /** The record that ended the response before; 0 for the first. */
  readonly after: number;
  readonly item: JsonObject;
}

/** What a run stores of the items that a client added. */
export function noteItems(items: readonly JsonObject[]): JsonObject {
  return { openai: { items } };
}

/** Yields the items of the runs, those of the newest run first. */
export async function* readRunItems(log: Log, info: SessionInfo): AsyncGenerator<RunItems, void, undefined> {
  for await (const run of readRuns(log, info.sessionId)) yield await readRun(log, info, run);
}

async function readRun(log: Log, info: SessionInfo, run: RunInfo): Promise<RunItems> {
  const { firstId, lastId = info.lastId, runId } = run;
  const encoder = createOpenaiResponsesEncoder();
  const items: JsonObject[] = [];
  const inputs: InputItem[] = [];
  let after = 0;
  /** Calls and approval requests for the client, by the ID of the call in the log. */
  const asked = new Map<unknown, JsonObject>();
  let attachments: RunAttachments = [];
  let fold = new ResponseFold();
  const receive = (sent: readonly JsonObject[]): void => {
    items.push(...sent);
    inputs.push(...sent.map((item) => ({ after, item })));
  };
  const take = (): void => {
    const output = fold.finish()?.output ?? [];
    for (const item of output) if (ASKING.has(item["type"])) asked.set(toJsonObject(item["loom"])["call_id"], item);
    items.push(...output);
    fold = new ResponseFold();
  };
  for await (const { records } of readPages(log, info, firstId - 1, lastId))
    for (const record of records) {
      const { event, envelope } = record;
      if (envelope.run_id !== runId) continue;
      if (event.type === "run_start") {
        const start = event as EventOf<"run_start">;
        attachments = start.attachments ?? [];
        const { items: added } = toJsonObject(start.context?.["openai"]);
        if (Array.isArray(added))
          return { run, items: added as readonly JsonObject[], inputs: [], attachments, isAdded: true };
        receive(describeQuestion(start, envelope.event_id));
      } else receive(describeAnswer(record, asked));
      for (const text of encoder.encode(record)) {
        fold.add(text);
        if (!isLastResponseEvent(text)) continue;
        take();
        after = envelope.event_id;
      }
    }
  // A run that is live.
  take();
  return { run, items, inputs, attachments, isAdded: false };
}

/** Lists what a client sent for a response. Throws `unknown_session` and `unknown_run`. */
export async function listInputItems(log: Log, { session, run, after }: OpenaiSlice): Promise<readonly JsonObject[]> {
  const { inputs, attachments } = await readRun(log, await findSession(log, session), await findRun(log, session, run));
  const sent = inputs.filter((input) => input.after === after);
  return sent.map(({ item }) => {
    const { content } = item;
    if (!Array.isArray(content)) return item;
    return { ...item, content: (content as readonly JsonObject[]).map((part) => nameFile(part, attachments)) };
  });
}

/** A file as a reference to the one of the session. */
function nameFile(part: JsonObject, attachments: RunAttachments): JsonObject {
  const { file } = part;
  const found = typeof file === "number" ? attachments[file] : undefined;
  if (found === undefined) return part;
  return { type: "input_file", file_id: found.blob_id, filename: found.name ?? found.media_type };
}

/** Types of items that the client answers. */
const ASKING: ReadonlySet<Json | undefined> = new Set(["function_call", "mcp_approval_request"]);

function describeQuestion(
  { message = "", attachments = [] }: EventOf<"run_start">,
  eventId: number,
): readonly JsonObject[] {
  const text = message === "" ? [] : [{ type: "input_text", text: message }];
  const content = [...text, ...attachments.map((_, file) => ({ file }))];
  if (content.length === 0) return [];
  return [{ id: `msg_${eventId}`, type: "message", role: "user", status: "completed", content }];
}

function describeAnswer(
  { event, envelope }: StampedRecord,
  asked: ReadonlyMap<unknown, JsonObject>,
): readonly JsonObject[] {
  if (event.type === "tool_approval_result") {
    const { call_id, decision } = event as EventOf<"tool_approval_result">;
    const { id, type } = asked.get(call_id) ?? {};
    if (id === undefined || type !== "mcp_approval_request") return [];
    const answer = { id: `mcprsp_${envelope.event_id}`, type: "mcp_approval_response", approval_request_id: id };
    return [{ ...answer, approve: decision === "approved" }];
  }
  if (event.type !== "tool_end") return [];
  const { call_id, result } = event as EventOf<"tool_end">;
  const { call_id: id, type } = asked.get(call_id) ?? {};
  if (id === undefined || type !== "function_call") return [];
  const answer = { id: `fco_${envelope.event_id}`, type: "function_call_output", call_id: id };
  return [{ ...answer, status: "completed", output: result }];
}

interface ItemPageOptions {
  readonly order: "asc" | "desc";
  readonly limit: number;
  readonly after?: string | undefined;
}

/** Undefined if there is no item `after`. */
export async function readItemPage(
  core: Pick<ServerCore, "log" | "blobs">,
  info: SessionInfo,
  { order, limit, after }: ItemPageOptions,
): Promise<{ readonly items: readonly JsonObject[]; readonly hasMore: boolean } | undefined> {
  const files = new FileReader(core.blobs, info.sessionId);
  const found: JsonObject[] = [];
  let isAfter = after === undefined;
  for await (const { items, attachments } of order === "desc"
    ? readRunItems(core.log, info)
    : readOldestFirst(core.log, info))
    for (const item of order === "desc" ? items.toReversed() : items) {
      if (!isAfter) isAfter = item["id"] === after;
      else if (found.length === limit || files.bytes > MAX_FILE_BYTES) return { items: found, hasMore: true };
      else found.push(await files.fill(item, attachments));
    }
  return isAfter ? { items: found, hasMore: false } : undefined;
}

async function* readOldestFirst(log: Log, info: SessionInfo): AsyncGenerator<RunItems, void, undefined> {
  const runs: RunInfo[] = [];
  for await (const run of readRuns(log, info.sessionId)) runs.push(run);
  for (const run of runs.toReversed()) yield await readRun(log, info, run);
}

/** Returns the item with this ID; undefined if there is none. */
export async function findItem(
  { log, blobs }: Pick<ServerCore, "log" | "blobs">,
  info: SessionInfo,
  id: string,
): Promise<JsonObject | undefined> {
  for await (const { items, attachments } of readRunItems(log, info)) {
    const item = items.find((each) => each["id"] === id);
    if (item !== undefined) return new FileReader(blobs, info.sessionId).fill(item, attachments);
  }
  return undefined;
}

/** Puts the files of messages in place of the references to them. */
class FileReader {
  bytes = 0;
  readonly #blobs: ServerCore["blobs"];
  readonly #session: string;

  constructor(blobs: ServerCore["blobs"], session: string) {
    this.#blobs = blobs;
    this.#session = session;
  }

  async fill(item: JsonObject, attachments: RunAttachments): Promise<JsonObject> {
    const { content } = item;
    if (attachments.length === 0 || !Array.isArray(content) || item["role"] !== "user") return item;
    const parts: JsonObject[] = [];
    for (const part of content as readonly JsonObject[]) {
      const { file } = part;
      const attachment = typeof file === "number" ? attachments[file] : undefined;
      parts.push(attachment === undefined ? part : await this.#describe(attachment));
    }
    return { ...item, content: parts };
  }

  async #describe({ blob_id, media_type, name, bytes }: RunAttachments[number]): Promise<JsonObject> {
    const about = media_type.startsWith("image/")
      ? { type: "input_image", detail: "auto" }
      : { type: "input_file", filename: name ?? media_type };
    const found = await this.#blobs?.get(this.#session, blob_id);
    if (this.#blobs === undefined || found === undefined) return { ...about, file_id: blob_id };
    this.bytes += bytes;
    const { bytes: content } = await this.#blobs.read(this.#session, blob_id);
    const chunks: Uint8Array[] = [];
    for await (const chunk of content) chunks.push(chunk);
    const url = `data:${media_type};base64,${Buffer.concat(chunks).toString("base64")}`;
    return { ...about, ...(about.type === "input_image" ? { image_url: url } : { file_data: url }) };
  }
}

/** The record that keeps the metadata of a conversation. */
export function writeMetadata(metadata: JsonObject): EventOf<"custom"> {
  return { type: "custom", value: { [METADATA]: { metadata } } };
}

/** The metadata that was written last. */
export async function readMetadata(log: Log, info: SessionInfo): Promise<JsonObject> {
  let metadata: JsonObject = {};
  for await (const { texts } of readPages(log, info, info.firstId - 1))
    for (const text of texts) {
      if (!text.includes(`"${METADATA}"`)) continue;
      const { type, value, run_id } = JSON.parse(text) as JsonObject;
      const noted = type === "custom" && run_id === undefined ? toJsonObject(value)[METADATA] : undefined;
      if (noted !== undefined) metadata = toJsonObject(toJsonObject(noted)["metadata"]);
    }
  return metadata;
}
