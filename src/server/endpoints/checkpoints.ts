/** The checkpoints of a session over HTTP. */
import { listCheckpoints, readCheckpoint } from "../../log/index.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import { cutPage, describeCheckpoint, readPage } from "./describe-session.ts";

const list = defineOperation<"ListPage">({
  id: "listCheckpoints",
  method: "GET",
  path: "/v1/sessions/{id}/checkpoints",
  tag: "checkpoints",
  summary: "The checkpoints of a session, newest first, without their states",
  params: { id: "Id of the session" },
  query: "ListPage",
  action: "sessions.read",
  answers: { 200: { about: "The checkpoints", shape: "Checkpoints" } },
  async handle({ log }, { params: { id = "" }, query }) {
    const { limit, ...place } = readPage(query);
    const found = await listCheckpoints(log, id, { ...place, limit: limit + 1 });
    const { items, ...next } = cutPage(found, limit, ({ checkpointId }) => checkpointId);
    return Response.json({ checkpoints: items.map(describeCheckpoint), ...next });
  },
});

const read = defineOperation({
  id: "getCheckpoint",
  method: "GET",
  path: "/v1/sessions/{id}/checkpoints/{checkpoint}",
  tag: "checkpoints",
  summary: "A checkpoint with its state whole",
  params: { id: "Id of the session", checkpoint: "Id of the checkpoint" },
  action: "sessions.read",
  answers: { 200: { about: "The checkpoint", shape: "Checkpoint" } },
  async handle({ log }, { params: { id = "", checkpoint = "" } }) {
    const found = await readCheckpoint(log, id, checkpoint);
    return Response.json({ ...describeCheckpoint(found), state: found.state });
  },
});

export const CHECKPOINT_OPERATIONS: readonly AnyOperation[] = [list, read];
