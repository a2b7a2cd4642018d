// A fixture for `run` and `stream`: a log, an agent with counted tools, and checks that nothing stays open.
import { getEventListeners } from "node:events";
import { expect, onTestFinished } from "vitest";
import { agent, type Agent, type AgentOptions, type StreamEvent } from "../../src/agents/index.ts";
import { createLog, expectValid } from "../contracts/sender.ts";
import type { Log } from "../../src/log/index.ts";
import type { Script } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { isLoomError, type LoomError } from "../../src/protocol/index.ts";
import { createTools } from "./counted-tools.ts";

export interface FacadeFixture {
  readonly log: Log;
  readonly agent: Agent;
  readonly model: ScriptedModel;
  readonly ran: readonly unknown[];
}

export async function createFacadeFixture(
  script: Script,
  options: AgentOptions & { readonly log?: Log } = {},
): Promise<FacadeFixture> {
  const { log = await createLog(), ...others } = options;
  const model = new ScriptedModel(script);
  const { tools, ran } = createTools();
  const actor = agent({ model, tools, log, ...others });
  onTestFinished(() => actor.close());
  return { log, agent: actor, model, ran };
}

export interface Collected {
  readonly events: readonly StreamEvent[];
  readonly error: unknown;
}

/** Collects all events, and the error if the stream throws. */
export async function collect(stream: AsyncIterable<StreamEvent>): Promise<Collected> {
  const events: StreamEvent[] = [];
  try {
    for await (const event of stream) events.push(event);
    return { events, error: undefined };
  } catch (error) {
    return { events, error };
  }
}

export function textOf(events: readonly StreamEvent[]): string {
  return events.map((event) => (event.type === "text_delta" ? event.content : "")).join("");
}

/** The LoomError that a call rejects with. */
export async function failureOf(promise: Promise<unknown>): Promise<LoomError> {
  const error: unknown = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!isLoomError(error)) throw new Error(`not a LoomError: ${String(error)}`);
  return error;
}

/** Number of timers that keep the process alive. */
export function countTimers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
}

/**
 * No session is held, no run is live, no command is pending, the signal has no listeners, and all records are valid.
 */
export async function expectNothingLeft(log: Log, signal?: AbortSignal): Promise<void> {
  for (const { sessionId, holder } of await log.listSessions()) {
    expect(holder).toBeUndefined();
    expect((await log.listRuns(sessionId)).filter(({ status }) => status === "live")).toEqual([]);
    expect(await log.listPending(sessionId)).toEqual([]);
    await expectValid(log, sessionId);
  }
  if (signal !== undefined) expect(getEventListeners(signal, "abort")).toEqual([]);
}
