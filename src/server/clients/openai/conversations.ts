/**
 * The Conversations API. A conversation is a session; its ID stays the same when a new version of it is made. Its items are
 * those that clients added, and the input and output of its responses.
 */
import type { Log, SessionInfo } from "../../../log/index.ts";
import { unknownSession } from "../../../log/rules.ts";
import type { JsonObject } from "../../../protocol/index.ts";
import { type AnyOperation, defineOperation } from "../../api/operation.ts";
import type { OpenaiConversation, OpenaiItem } from "../../api/shapes.generated.ts";
import { ensureOwnSession } from "../../commands/command-author.ts";
import { authorOf, commandHostFor } from "../../commands/command-host.ts";
import { appendToSession } from "../../endpoints/append-to-session.ts";
import { IDEMPOTENCY_HEADER, readIdempotencyKey } from "../../endpoints/command-endpoint.ts";
import { deleteConversation } from "../../endpoints/conversation-versions.ts";
import { deriveSessionId } from "../../endpoints/derive-session-id.ts";
import { openHead } from "../../endpoints/find-branch.ts";
import { refuse } from "../../endpoints/read-run-input.ts";
import { addItems, deleteItem, unknownItem } from "./add-items.ts";
import { findItem, readItemPage, readMetadata, writeMetadata } from "./conversation-items.ts";
import { assertMetadata } from "./read-openai-input.ts";

const ID = { id: "Id of the conversation" } as const;
const ITEM = { ...ID, item: "Id of the item" } as const;
const PREFIX = "conv_";
const DEFAULT_LIMIT = 20;

const createConversation = defineOperation<"Empty", "OpenaiConversationRequest">({
  id: "createConversation",
  method: "POST",
  path: "/openai/v1/conversations",
  summary: "Conversations API: create a conversation, which is a session",
  headers: IDEMPOTENCY_HEADER,
  body: "OpenaiConversationRequest",
  isBodyRequired: false,
  hasInlineFiles: true,
  action: "sessions.create",
  responses: { 200: { description: "The conversation", shape: "OpenaiConversation" } },
  async handle(core, call) {
    const { body, caller, request } = call;
    const metadata = body.metadata ?? {};
    const items = body.items ?? [];
    assertMetadata(metadata);
    const key = readIdempotencyKey(request);
    // Some clients tell conversations from responses by the prefix.
    const id = deriveSessionId(key, caller.principal.owner).replace(/^sess_/, PREFIX);
    await core.authorize({ caller, action: "sessions.create", session: id });
    const isThere = ((await core.log.getSession(id))?.lastId ?? 0) > 0;
    if (!isThere && items.length + Object.keys(metadata).length > 0)
      await addItems(core, call, { session: id, items, metadata, key });
    const info = await ensureOwnSession(core.log, authorOf(core, caller), id);
    return Response.json(await describeConversation(core.log, id, info));
  },
});

const getConversation = defineOperation({
  id: "getConversation",
  method: "GET",
  path: "/openai/v1/conversations/{id}",
  summary: "Conversations API: get a conversation",
  params: ID,
  action: "sessions.read",
  responses: { 200: { description: "The conversation", shape: "OpenaiConversation" } },
  async handle(core, { caller, params: { id = "" } }) {
    return Response.json(await describeConversation(core.log, id, await openHead(core, caller, id, "sessions.read")));
  },
});

const updateConversation = defineOperation<"Empty", "OpenaiUpdateConversation">({
  id: "updateConversation",
  method: "POST",
  path: "/openai/v1/conversations/{id}",
  summary: "Conversations API: replace the metadata of a conversation",
  params: ID,
  body: "OpenaiUpdateConversation",
  action: "sessions.write",
  responses: { 200: { description: "The conversation", shape: "OpenaiConversation" } },
  async handle(core, { caller, params: { id = "" }, body }) {
    const metadata = body.metadata ?? {};
    assertMetadata(metadata);
    const info = await openHead(core, caller, id, "sessions.write");
    await appendToSession(core, info.sessionId, { write: (draft) => draft.record(writeMetadata(metadata)) });
    return Response.json(await describe(core.log, id, info, metadata));
  },
});

const removeConversation = defineOperation({
  id: "deleteConversation",
  method: "DELETE",
  path: "/openai/v1/conversations/{id}",
  summary: "Conversations API: delete a conversation with all its versions and items",
  params: ID,
  action: "sessions.delete",
  audit: "session.delete",
  responses: { 200: { description: "Deleted", shape: "OpenaiDeleted" } },
  async handle(core, { caller, params: { id = "" } }) {
    const authorize = (session: string): void | Promise<void> =>
      core.authorize({ caller, action: "sessions.delete", session });
    if (!(await deleteConversation(commandHostFor(core, caller), core.blobs, id, authorize))) throw unknownSession(id);
    return Response.json({ id, object: "conversation.deleted", deleted: true });
  },
});

const createItems = defineOperation<"Empty", "OpenaiAddItems">({
  id: "createConversationItems",
  method: "POST",
  path: "/openai/v1/conversations/{id}/items",
  summary: "Conversations API: add items to a conversation",
  description: "No agent answers them. Agents read them with the next response of the conversation.",
  params: ID,
  headers: IDEMPOTENCY_HEADER,
  body: "OpenaiAddItems",
  hasInlineFiles: true,
  action: "sessions.write",
  responses: { 200: { description: "The items", shape: "OpenaiList" } },
  async handle(core, call) {
    const { body, caller, params, request } = call;
    const { sessionId: session } = await openHead(core, caller, params["id"] ?? "", "sessions.write");
    // The key may also be the one with which the conversation was created.
    const key = `items:${readIdempotencyKey(request)}`;
    return listOf(await addItems(core, call, { session, items: body.items, key }), false);
  },
});

const listItems = defineOperation<"OpenaiListItems">({
  id: "listConversationItems",
  method: "GET",
  path: "/openai/v1/conversations/{id}/items",
  summary: "Conversations API: list the items of a conversation",
  params: ID,
  query: "OpenaiListItems",
  action: "sessions.read",
  responses: { 200: { description: "Items", shape: "OpenaiList" } },
  async handle(core, { caller, params: { id = "" }, query: { after, limit = DEFAULT_LIMIT, order = "desc" } }) {
    const info = await openHead(core, caller, id, "sessions.read");
    const page = await readItemPage(core, info, { order, limit, after });
    if (page === undefined) throw refuse("The conversation has no such item", "after");
    return listOf(page.items, page.hasMore);
  },
});

const getItem = defineOperation({
  id: "getConversationItem",
  method: "GET",
  path: "/openai/v1/conversations/{id}/items/{item}",
  summary: "Conversations API: get an item of a conversation",
  params: ITEM,
  action: "sessions.read",
  responses: { 200: { description: "The item", shape: "OpenaiItem" } },
  async handle(core, { caller, params: { id = "", item = "" } }) {
    const found = await findItem(core, await openHead(core, caller, id, "sessions.read"), item);
    if (found === undefined) throw unknownItem(item);
    return Response.json(found as unknown as OpenaiItem);
  },
});

const removeItem = defineOperation({
  id: "deleteConversationItem",
  method: "DELETE",
  path: "/openai/v1/conversations/{id}/items/{item}",
  summary: "Conversations API: delete an item that a client added after the last response",
  description: "The conversation gets a new version without the item; the old one stays in its session.",
  params: ITEM,
  headers: IDEMPOTENCY_HEADER,
  action: "sessions.write",
  responses: { 200: { description: "The conversation", shape: "OpenaiConversation" } },
  async handle(core, call) {
    const { caller, request, params } = call;
    const { id = "", item = "" } = params;
    const info = await openHead(core, caller, id, "sessions.write");
    await deleteItem(core, call, info, { id: item, key: readIdempotencyKey(request) });
    return Response.json(await describeConversation(core.log, id, await openHead(core, caller, id, "sessions.read")));
  },
});

async function describeConversation(log: Log, id: string, head: SessionInfo): Promise<OpenaiConversation> {
  return describe(log, id, head, await readMetadata(log, head));
}

async function describe(log: Log, id: string, head: SessionInfo, metadata: JsonObject): Promise<OpenaiConversation> {
  const { createdAt } = (await log.getSession(id)) ?? head;
  return { id, object: "conversation", created_at: Math.floor(createdAt / 1000), metadata };
}

/** Responds with items. */
export function listOf(data: readonly JsonObject[], hasMore: boolean): Response {
  const ids = data.map((item) => item["id"]);
  const ends = data.length === 0 ? {} : { first_id: ids[0] ?? null, last_id: ids.at(-1) ?? null };
  return Response.json({ object: "list", data, ...ends, has_more: hasMore });
}

export const OPENAI_CONVERSATION_OPERATIONS: readonly AnyOperation[] = [
  createConversation,
  getConversation,
  updateConversation,
  removeConversation,
  createItems,
  listItems,
  getItem,
  removeItem,
];
