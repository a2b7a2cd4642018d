// A fixture for agents: a log, a session, a scripted model and tools that count their calls. Everything the agent
// writes is read back and verified.
import { onTestFinished } from "vitest";
import { agent, type Agent, type AgentOptions } from "../../src/agents/index.ts";
import type { Run, Session, SessionOptions } from "../../src/engine/index.ts";
import { createLog, expectValid } from "../contracts/sender.ts";
import type { Log } from "../../src/log/index.ts";
import type { Script } from "../../src/models/scripted-model.ts";
import type { ScriptedModel } from "../../src/models/testing.ts";
import type { AnyEvent, EventOf, EventType, StampedRecord } from "../../src/protocol/index.ts";
import { isAnswerChannel } from "../../src/protocol/record.ts";
import { createTools } from "./counted-tools.ts";
import { createTextModel } from "./text-model.ts";
import { isInterrupted } from "../../src/engine/interrupted-nodes.ts";

export const SESSION = "chat-7";

export interface AgentFixture {
  readonly log: Log;
  readonly agent: Agent;
  readonly model: ScriptedModel;
  readonly ran: readonly unknown[];
  readonly session: Session;
  /** Sends a message; resolves when the run has started. */
  ask(message: string): Promise<Run>;
  /** Reads all records and verifies them. */
  read(): Promise<readonly StampedRecord[]>;
  /** Resolves to the first durable event of this type. */
  wait<T extends EventType>(type: T, matches?: (event: EventOf<T>) => boolean): Promise<EventOf<T>>;
}

export async function createAgentFixture(
  script: Script,
  options: AgentOptions & { readonly log?: Log; readonly session?: SessionOptions } = {},
): Promise<AgentFixture> {
  const { log = await createLog(), session: sessionOptions = {}, ...agentOptions } = options;
  const model = createTextModel(script);
  const { tools, ran } = createTools();
  const actor = agent({ model, tools, ...agentOptions });
  const session = await actor.openSession(log, SESSION, sessionOptions);
  onTestFinished(() => session.close());
  return {
    log,
    agent: actor,
    model,
    ran,
    session,
    ask: (message) => actor.answer(session, message),
    read: () => expectValid(log, SESSION),
    wait: (type, matches = () => true) => waitForEvent(session, type, matches),
  };
}

export function waitForEvent<T extends EventType>(
  session: Session,
  type: T,
  matches: (event: EventOf<T>) => boolean = () => true,
): Promise<EventOf<T>> {
  return new Promise((resolve) => {
    const stop = session.onCommit((entries) => {
      const found = entries.find(({ record }) => record.event.type === type && matches(record.event as EventOf<T>));
      if (found === undefined) return;
      stop();
      resolve(found.record.event as EventOf<T>);
    });
  });
}

export function eventsOf<T extends EventType>(records: readonly StampedRecord[], type: T): readonly EventOf<T>[] {
  return records.flatMap(({ event }: { event: AnyEvent }) => (event.type === type ? [event as EventOf<T>] : []));
}

/** The text shown to the user, joined, without that of interrupted node runs. */
export function answerOf(records: readonly StampedRecord[]): string {
  const interrupted = new Set<string | undefined>();
  for (const { envelope, event } of records)
    if (event.type === "node_exit" && isInterrupted((event as EventOf<"node_exit">).result))
      interrupted.add(envelope.node_id);
  const counted = records.filter(
    ({ envelope }) => envelope.node_id === undefined || !interrupted.has(envelope.node_id),
  );
  return eventsOf(counted, "message_chunk")
    .filter(({ channel }) => isAnswerChannel(channel))
    .map(({ content }) => content)
    .join("");
}
