/** Endpoints for the checkpoints of a session. */
import { listCheckpoints, readCheckpoint } from "../../log/index.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import { describeCheckpoint, readPage } from "./describe-session.ts";

const list = defineOperation<"ListPage">({
  id: "listCheckpoints",
  method: "GET",
  path: "/v1/sessions/{id}/checkpoints",
  summary: "List the checkpoints of a session, newest first, without their states",
  query: "ListPage",
  action: "sessions.read",
  responses: { 200: { description: "Checkpoints", shape: "Checkpoints" } },
  async handle({ log }, { params: { id = "" }, query }) {
    const { items, ...next } = await readPage(query, "checkpointId", (page) => listCheckpoints(log, id, page));
    return Response.json({ checkpoints: items.map(describeCheckpoint), ...next });
  },
});

const read = defineOperation({
  id: "getCheckpoint",
  method: "GET",
  path: "/v1/sessions/{id}/checkpoints/{checkpoint}",
  summary: "Get a checkpoint with its complete state",
  action: "sessions.read",
  responses: { 200: { description: "Checkpoint", shape: "Checkpoint" } },
  async handle({ log }, { params: { id = "", checkpoint = "" } }) {
    const found = await readCheckpoint(log, id, checkpoint);
    return Response.json({ ...describeCheckpoint(found), state: found.state });
  },
});

export const CHECKPOINT_OPERATIONS: readonly AnyOperation[] = [list, read];
