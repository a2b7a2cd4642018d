/** The endpoint that lists what is going on in all sessions of the caller: live runs, their approvals, queued messages. */
import { Buffer } from "node:buffer";
import type { ActiveSession, Landmark, Log, RunInfo } from "../../log/log.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { type EventOf, isLoomError } from "../../protocol/index.ts";
import { defineOperation } from "../api/operation.ts";
import type { ActiveRuns } from "../api/shapes.generated.ts";
import { authorOf } from "../commands/command-host.ts";
import { describeQueued, readPage } from "./describe-session.ts";

type ListedRun = ActiveRuns["runs"][number];
type ListedApproval = ListedRun["approvals"][number];

/** Approvals of a run that are listed, and bytes of the arguments of each and of all in a response. */
const MAX_APPROVALS = 20;
const MAX_ARGUMENTS = 16 * 1024;
const MAX_ALL_ARGUMENTS = 1024 * 1024;

export const listActiveRuns = defineOperation<"ListActiveRuns">({
  id: "listActiveRuns",
  method: "GET",
  path: "/v1/runs",
  summary: "List live and queued runs of all sessions, and the approvals they wait for",
  description: "A caller with the scope `admin` receives the runs of all owners. A page has whole sessions.",
  query: "ListActiveRuns",
  action: "sessions.list",
  responses: { 200: { description: "Runs", shape: "ActiveRuns" } },
  async handle(core, { caller, query }) {
    const { log, runs } = core;
    const { owner, isAdmin } = authorOf(core, caller);
    const selected = { isWaiting: query.state === "waiting", ...(isAdmin ? {} : { owner }) };
    const { items, ...next } = await readPage(query, "sessionId", (page) =>
      log.listActiveSessions({ ...page, ...selected }),
    );
    const models = new Map(runs.agents.map(({ name, model }) => [name, model]));
    const defaultAgent = runs.agents.find((agent) => agent.isDefault)?.name;
    const room = { bytes: MAX_ALL_ARGUMENTS };
    const listed: ListedRun[] = [];
    for (const session of items)
      for (const run of await describeActive(log, session, room)) {
        const agent = run.agent ?? (run.state === "queued" ? defaultAgent : undefined);
        const model = agent === undefined ? undefined : models.get(agent);
        const about = dropUndefined({ agent, model });
        listed.push({ ...run, ...about, ...(session.owner === owner ? {} : { owner: session.owner }) });
      }
    const answer: ActiveRuns = { runs: listed, ...next };
    return Response.json(answer);
  },
});

/** Live runs, then queued ones. `room` is what is left for arguments in the response. */
async function describeActive(
  log: Log,
  session: ActiveSession,
  room: { bytes: number },
): Promise<readonly ListedRun[]> {
  const { sessionId, title, liveRuns, queued } = session;
  const about = dropUndefined({ session_id: sessionId, title });
  const live = await Promise.all(
    liveRuns.map(async (run) => ({ ...about, ...(await describeLive(log, session, run, room)) })),
  );
  const known = new Set(liveRuns.map(({ runId }) => runId));
  const waiting = queued.flatMap((command): readonly ListedRun[] => {
    const { run_id, agent, created_at } = describeQueued(command);
    // A message whose run has just started is still in the inbox for a moment.
    if (known.has(run_id)) return [];
    const named = agent === undefined ? {} : { agent };
    return [{ ...about, run_id, state: "queued", since: created_at, ...named, approvals: [] }];
  });
  return [...live, ...waiting];
}

async function describeLive(
  log: Log,
  { sessionId, approvals: open, forkedFrom, createdAt }: ActiveSession,
  { runId, startedAt, agent }: RunInfo,
  room: { bytes: number },
): Promise<Omit<ListedRun, "session_id">> {
  const approvals: ListedApproval[] = [];
  let since: number | undefined;
  for (const mark of open.filter((one) => one.runId === runId).slice(0, MAX_APPROVALS)) {
    const found = await readApproval(log, sessionId, mark, room);
    if (found === undefined) continue;
    approvals.push(found.approval);
    since ??= found.ts;
  }
  return dropUndefined({
    run_id: runId,
    state: approvals.length === 0 ? "running" : "waiting",
    agent,
    // The run of a fork at a checkpoint started in the original.
    since: forkedFrom === undefined ? startedAt : Math.max(startedAt, createdAt),
    waiting_since: since,
    approvals,
  });
}

/** Returns undefined if the approval has expired, or its session was deleted or pruned in the meantime. */
async function readApproval(
  log: Log,
  sessionId: string,
  { eventId }: Landmark,
  room: { bytes: number },
): Promise<{ readonly approval: ListedApproval; readonly ts: number } | undefined> {
  const page = await log.read(sessionId, { after: eventId - 1, limit: 1 }).catch((error: unknown) => {
    if (isLoomError(error, "unknown_session", "evicted")) return undefined;
    throw error;
  });
  const record = page?.records[0];
  if (record?.event.type !== "tool_approval") return undefined;
  const { call_id = "", name, arguments: given, expires_at, digest, server } = record.event as EventOf<"tool_approval">;
  if (expires_at !== undefined && expires_at <= Date.now()) return undefined;
  const bytes = Buffer.byteLength(JSON.stringify(given));
  const isShown = bytes <= MAX_ARGUMENTS && bytes <= room.bytes;
  if (isShown) room.bytes -= bytes;
  const approval = dropUndefined({
    call_id,
    name,
    ...(isShown ? { arguments: given } : {}),
    event_id: eventId,
    expires_at,
    digest,
    server,
  });
  return { approval, ts: record.envelope.ts ?? 0 };
}
