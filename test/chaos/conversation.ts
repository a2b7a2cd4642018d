/**
 * One session of the chaos tests: messages over every transport, viewers that reconnect at random, and readers of the
 * bytes of one dialect. At the end, everything that was shown is compared with the store.
 */
import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { connect, createReceiver } from "../../src/client/index.ts";
import { DIALECT_NAMES, type DialectName } from "../../src/dialects/index.ts";
import { openStream } from "../../src/log/index.ts";
import { deriveRunId } from "../../src/server/commands/execute-command.ts";
import { contentOf } from "../client/streams.ts";
import { gather } from "../log-sessions.ts";
import { type Frame, KINDS, readWithReconnect, SessionViewer, until } from "../server/kill-fixture.ts";
import { iterateFrames, readFrames } from "../server/read-frames.ts";
import { type ChaosWorld, OWNER } from "./chaos-world.ts";

/** How long anything may take while faults go on. A longer wait is a violation. Long, because the machine may be busy. */
const PATIENCE_MS = 300_000;
const MAX_NOTES = 30;

/**
 * How clients reconnect. As in production: clients that give up and return many times a second keep a busy server busy,
 * so that no client gets an answer.
 */
const PACE = { heartbeatMs: 5000, reconnect: { initialMs: 200, maxMs: 3000, maxAttempts: 10_000 } };

/** What a conversation needs of the servers it is held with. */
export type ConversationWorld = Pick<
  ChaosWorld,
  "random" | "log" | "token" | "violations" | "pick" | "count" | "url" | "transport"
>;

export interface ConversationOptions {
  /** Number of messages. */
  readonly count: number;
  /** No further message is sent when it is aborted. */
  readonly signal: AbortSignal;
  /** Another reader requests what is new, with this pause in milliseconds between two requests. */
  readonly pollMs?: number;
  /** Additional check of the session before it is deleted. Throws if it finds a violation. */
  readonly verify?: (session: string) => Promise<void>;
}

/** Sends messages until `count` are sent or the signal is aborted, then checks the session and deletes it. */
export async function holdConversation(
  world: ConversationWorld,
  session: string,
  { count, signal, pollMs, verify }: ConversationOptions,
): Promise<void> {
  const { log, random, pick } = world;
  await retry(() => log.createSession(session, { owner: OWNER }));
  const stop = new AbortController();
  const { token } = world;
  const read = (follow: boolean, pauseMs: number): SessionReader => {
    const dialect = pick(DIALECT_NAMES);
    const frames: Frame[] = [];
    const options = { dialect, token, pauseMs, follow };
    return { dialect, frames, ended: readWithReconnect(world.url, session, frames, stop.signal, options) };
  };
  const readers = [read(true, 500), ...(pollMs === undefined ? [] : [read(false, pollMs)])];
  const transports = {
    get sse() {
      return world.transport("sse");
    },
    get ndjson() {
      return world.transport("ndjson");
    },
    get socket() {
      return world.transport("socket");
    },
  };
  const viewers = KINDS.map((kind) => new SessionViewer(session, transports, kind, PACE));
  const keys: string[] = [];
  try {
    for (let sent = 0; sent < count && !signal.aborted; sent++) {
      const key = `m-${session}-${sent}${random(4) === 0 ? "-ask" : ""}`;
      keys.push(key);
      // A message that was cancelled before its run started has no run.
      if ((await send(world, session, key, pick(viewers))) === "cancelled") keys.pop();
      if (random(4) === 0) pick(viewers).reconnect(pick(KINDS));
    }
    await check(world, { session, keys, viewers, readers });
    await verify?.(session);
    world.count("checked sessions");
  } catch (error) {
    world.violations.push(`${session}: ${String(error)}; ${await describeSession(world, session, keys.at(-1))}`);
    // It is not deleted: a message that still is on its way would create it again, and its run would be a second one.
    return;
  } finally {
    stop.abort();
    for (const viewer of viewers) viewer.close();
    await Promise.all(readers.map(({ ended }) => ended));
  }
  await retry(() => log.deleteSession(session));
}

/** Describes why a session may not go on: who holds it, what waits, and what became of the last message. */
async function describeSession({ log }: ConversationWorld, session: string, key = ""): Promise<string> {
  const info = await retry(() => log.getSession(session));
  const pending = await retry(() => log.listPending(session));
  const [run] = await retry(() => log.listRuns(session, { limit: 1 }));
  const { outcome } = (await retry(() => log.getCommand(session, key))) ?? {};
  const commands = pending.map(({ kind, commandId }) => `${kind} ${commandId}`);
  return [
    `holder ${info?.holder ?? "none"}`,
    `epoch ${info?.epoch}`,
    `last run ${run?.status}`,
    `pending [${commands.join(", ")}]`,
    `outcome of ${key} ${JSON.stringify(outcome)}`,
  ].join(", ");
}

/**
 * Sends one message in a random way, approves its tool call or cancels it, and waits for its end. Returns "cancelled" if
 * it was cancelled before its run started.
 */
async function send(
  world: ConversationWorld,
  session: string,
  key: string,
  viewer: SessionViewer,
): Promise<"ended" | "cancelled"> {
  const { log, random } = world;
  const run = deriveRunId(session, key);
  const isCancelled = random(12) === 0;
  let end: "ended" | "cancelled" | undefined;
  const findEnd = async (): Promise<boolean> => {
    const status = (await retry(() => log.getRun(session, run)))?.status;
    if (status !== undefined && status !== "live") end = "ended";
    const { outcome } = (await retry(() => log.getCommand(session, key))) ?? {};
    if (isCancelled && outcome?.code === "cancelled") end = "cancelled";
    return end !== undefined;
  };
  await within(`${key} is accepted`, async (signal, note) => {
    if (random(3) === 0) await sendChat(world, session, key, signal, note);
    else
      for (;;) {
        note("a viewer sends it");
        const outcome = await viewer.say(key, key, note);
        if (outcome.kind === "accepted" || outcome.kind === "done" || signal.aborted) break;
        note(`refused: ${JSON.stringify(outcome)}`);
        world.count(`refused ${outcome.kind === "refused" ? outcome.code : outcome.kind}`);
        await setTimeout(50 + random(100));
      }
  });
  world.count("accepted messages");
  await within(`${key} has ended`, async (signal) => {
    for (let round = 0; !(await findEnd()) && !signal.aborted; round++) {
      if (isCancelled && round === 3) await viewer.cancel(run, `cancel-${key}`);
      if (key.endsWith("-ask")) await viewer.approve(run, `approve-${key}`);
      await setTimeout(20);
    }
  });
  if (end === "cancelled") world.count("messages cancelled before their run");
  return end ?? "ended";
}

/** Sends a message to the chat endpoint of specification 003 and compares what arrives with the store. */
async function sendChat(
  world: ConversationWorld,
  session: string,
  key: string,
  signal: AbortSignal,
  note: Note,
): Promise<void> {
  const texts: string[] = [];
  let last: string | undefined;
  while (!signal.aborted) {
    try {
      const response = await fetch(`${world.url()}/api/chat`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${world.token}`,
          "content-type": "application/json",
          "idempotency-key": key,
          ...(last === undefined ? {} : { "last-event-id": last }),
        },
        body: JSON.stringify({ session_id: session, content: key }),
        signal: AbortSignal.any([signal, AbortSignal.timeout(15_000)]),
      });
      // The run waits for its approval, which only the caller of this function gives.
      if (response.status === 200 && key.endsWith("-ask")) {
        await response.body?.cancel();
        return;
      }
      note(`/api/chat answers ${response.status}`);
      if (response.status !== 200) {
        world.count(`chat answered ${response.status}`);
        await response.body?.cancel();
        await setTimeout(100);
        continue;
      }
      for await (const { text, id } of iterateFrames(response)) {
        texts.push(text);
        last = id;
      }
      break;
    } catch (error) {
      note(`/api/chat after ${texts.length} frames: ${String(error)}`);
      await setTimeout(20);
    }
  }
  if (signal.aborted) return;
  const run = deriveRunId(session, key);
  const wanted = await retry(async () => {
    const path = `/v1/sessions/${session}/events?dialect=engine&follow=false&run=${run}`;
    const headers = { authorization: `Bearer ${world.token}`, accept: "text/event-stream" };
    const replay = await readFrames(await fetch(`${world.url()}${path}`, { headers }));
    return replay.map(({ text }) => text);
  });
  const at = texts.findIndex((text, index) => text !== wanted[index]);
  if (at === -1 && texts.length === wanted.length) return;
  const first = at === -1 ? texts.length : at;
  throw new Error(
    `/api/chat sent ${texts.length} frames for ${key}, not the ${wanted.length} that are stored. ` +
      `Frame ${first} is ${texts[first]}, not ${wanted[first]}. The last one is ${texts.at(-1)}, not ${wanted.at(-1)}`,
  );
}

interface SessionReader {
  readonly dialect: DialectName;
  readonly frames: readonly Frame[];
  readonly ended: Promise<void>;
}

interface Checked {
  readonly session: string;
  readonly keys: readonly string[];
  readonly viewers: readonly SessionViewer[];
  readonly readers: readonly SessionReader[];
}

async function check(world: ConversationWorld, { session, keys, viewers, readers }: Checked): Promise<void> {
  await checkRuns(world, session, keys);
  const { log } = world;
  const wanted = await retry(async () => {
    const receiver = createReceiver();
    const transport = world.transport("sse");
    const state = await connect(receiver, { transport, session, follow: false, heartbeatMs: 3000 }).done;
    if (state.status !== "complete") throw new Error(`a fresh client is ${JSON.stringify(state)}`);
    return contentOf(receiver.getSnapshot().sessions);
  });
  for (const { receiver, regressions } of viewers) {
    const shown = () => receiver.getSnapshot().sessions[0];
    await until(
      () => shown()?.state.status === "complete" && shown()?.turns.length === keys.length,
      `viewers of ${session} are complete`,
      PATIENCE_MS,
    );
    if (!isDeepStrictEqual(contentOf(receiver.getSnapshot().sessions), wanted))
      throw new Error("a viewer shows something else than a fresh client");
    if (regressions.length > 0) throw new Error(`shown text changed: ${regressions[0]}`);
  }
  for (const { dialect, frames } of readers) {
    const stored = (await retry(() => gather(openStream(log, session, { dialect })))).flat();
    await until(() => frames.length >= stored.length, `all ${dialect} frames of ${session} are read`, PATIENCE_MS);
    const sent = stored.map(({ text, cursor }) => ({ text, cursor }));
    const at = frames.findIndex((frame, index) => !isDeepStrictEqual(frame, sent[index]));
    if (at !== -1)
      throw new Error(`${dialect} frame ${at} is ${JSON.stringify(frames[at])}, not ${JSON.stringify(sent[at])}`);
  }
}

/** Checks that each key has exactly one run, with one start and one end. */
export async function checkRuns(world: ConversationWorld, session: string, keys: readonly string[]): Promise<void> {
  const { log } = world;
  const wanted = keys.map((key) => deriveRunId(session, key)).toSorted();
  await until(
    async () => {
      const runs = await retry(() => log.listRuns(session, { limit: 1000 }));
      return runs.length >= wanted.length && runs.every(({ status }) => status !== "live");
    },
    `${wanted.length} runs of ${session} have ended`,
    PATIENCE_MS,
  );
  const runs = await retry(() => log.listRuns(session, { limit: 1000 }));
  if (!isDeepStrictEqual(runs.map(({ runId }) => runId).toSorted(), wanted))
    throw new Error(`${wanted.length} messages became ${runs.length} runs`);
  const texts = (await retry(() => gather(openStream(log, session, { dialect: "loom" })))).flat();
  for (const type of ["run_start", "run_end"]) {
    const found = texts.filter(({ text }) => text.includes(`"type":"${type}"`)).length;
    if (found !== runs.length) throw new Error(`${runs.length} runs have ${found} records of type ${type}`);
  }
  for (const { status, code, runId } of runs) {
    world.count(`runs: ${status}${code === undefined ? "" : ` ${code}`}`);
    if (code === "interrupted") throw new Error(`${runId} was not continued after its process died`);
  }
}

/** Repeats an operation on the store, which fails while the disk is full or the store is locked. */
export async function retry<T>(operation: () => Promise<T>): Promise<T> {
  for (const end = performance.now() + PATIENCE_MS; ; await setTimeout(100))
    try {
      return await operation();
    } catch (error) {
      if (performance.now() > end) throw error;
    }
}

/** Notes what happened, for the description of a violation. */
type Note = (what: string) => void;

/** Rejects with the latest notes if the work takes too long. */
async function within(what: string, work: (signal: AbortSignal, note: Note) => Promise<void>): Promise<void> {
  const late = AbortSignal.timeout(PATIENCE_MS);
  const start = performance.now();
  const notes: string[] = [];
  await work(late, (text) => {
    notes.push(`${Math.round((performance.now() - start) / 1000)} s ${text}`);
    if (notes.length > MAX_NOTES) notes.shift();
  });
  if (late.aborted) throw new Error(`timed out waiting until ${what} (${notes.join("; ")})`);
}
