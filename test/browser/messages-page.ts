/**
 * Runs in Chromium: shows a list of messages twice, with memoized components that get view objects and with components
 * that look up their message by key. Streams tokens into the last message and counts renders.
 */
import { createElement, Fragment, memo, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { createReceiver, type TurnView } from "../../src/client/index.ts";
import type { MessageView } from "../../src/client/view.ts";
import { useMessage, useSession, useRun } from "../../src/react/index.ts";
import { useReceiver } from "../../src/react/use-receiver.ts";

/** The result for the test. `renders` counts renders during streaming, by component and message. */
export interface MessagesOutcome {
  readonly messages: number;
  readonly renders: Readonly<Record<string, number>>;
  readonly streamed: string;
  readonly shown: readonly (string | null)[];
  readonly sent: string;
  readonly status: string | undefined;
}

const SESSION = "thread";
const TURNS = 50;
const TOKENS = 200;

const receiver = createReceiver();
const source = receiver.open({ dialect: "loom" });
let eventId = 0;
const send = (runId: string, frame: object): void =>
  source.push(
    JSON.stringify({ session_id: SESSION, run_id: runId, event_id: ++eventId, ts: 1000 + eventId, ...frame }),
  );

function beginTurn(runId: string): void {
  send(runId, { type: "run_start", message: `question ${runId}`, agent: "react", contiguous: true });
  send(runId, { type: "node_enter", node_id: "run-think-1", id: "think" });
}

function sendToken(runId: string, content: string): void {
  send(runId, { type: "message_chunk", node_id: "run-think-1", id: "think", content });
}

function sendTurn(runId: string): void {
  const first = eventId + 1;
  beginTurn(runId);
  sendToken(runId, `answer ${runId}`);
  send(runId, { type: "node_exit", node_id: "run-think-1", id: "think", result: "Ok" });
  const proof = { first_event_id: first, last_event_id: first + 5, frame_count: 6 };
  send(runId, { type: "run_end", status: "completed", summary: {}, ...proof });
  send(runId, { node_id: "run-think-1", reply: `answer ${runId}` });
}

const renders = new Map<string, number>();
const count = (name: string): unknown => renders.set(name, (renders.get(name) ?? 0) + 1);

const Message = memo(({ message }: { readonly message: MessageView }) => {
  count(`memo ${message.messageId}`);
  return createElement("p", { "data-message": message.messageId }, message.mainContent);
});

const Turn = memo(({ turn }: { readonly turn: TurnView }) =>
  turn.messages.map((message) => createElement(Message, { key: message.messageId, message })),
);

function List(): ReactNode {
  const session = useSession(receiver, SESSION);
  return session?.turns.map((turn) => createElement(Turn, { key: turn.key, turn }));
}

interface MessageAddress {
  readonly turnKey: string;
  readonly messageId: string;
}

function KeyedMessage({ turnKey, messageId }: MessageAddress): ReactNode {
  const message = useMessage(receiver, SESSION, turnKey, messageId);
  count(`keyed ${messageId}`);
  return createElement("p", { "data-message": messageId }, message?.mainContent);
}

function KeyedTurn({ turnKey }: { readonly turnKey: string }): ReactNode {
  useRun(receiver, SESSION, turnKey);
  count(`turn ${turnKey}`);
  return null;
}

function Status(): ReactNode {
  const status = useSession(receiver, SESSION, (session) => session?.state.status);
  count("status");
  return createElement("output", {}, status);
}

function Sessions(): ReactNode {
  return createElement("small", {}, useReceiver(receiver).sessions.length);
}

/** Waits until the condition holds, or a limit; the test judges the result. */
async function waitFor(isReached: () => boolean): Promise<void> {
  for (let i = 0; i < 500 && !isReached(); i++) await pause(10);
  // React finishes its remaining work within a few frames.
  await pause(50);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function run(): Promise<MessagesOutcome> {
  for (let i = 1; i <= TURNS; i++) sendTurn(`turn-${i}`);
  beginTurn("live");
  sendToken("live", "begin");
  const turns = receiver.session(SESSION).getSnapshot()?.turns ?? [];
  const addresses = turns.flatMap(({ key, messages }) =>
    messages.map(({ messageId }): MessageAddress & { readonly key: string } => ({
      key: messageId,
      turnKey: key,
      messageId,
    })),
  );
  const streamed = turns.at(-1)?.messages.at(-1)?.messageId ?? "";
  createRoot(document.getElementById("root") as HTMLElement).render(
    createElement(
      Fragment,
      {},
      createElement(List),
      addresses.map((address) => createElement(KeyedMessage, address)),
      turns.map(({ key }) => createElement(KeyedTurn, { key, turnKey: key })),
      createElement(Status),
      createElement(Sessions),
    ),
  );
  await waitFor(() => document.querySelectorAll("[data-message]").length === 2 * addresses.length);
  renders.clear();

  let sent = "begin";
  for (let i = 0; i < TOKENS; i++) {
    sendToken("live", ` token${i}`);
    sent += ` token${i}`;
    await pause(1);
  }
  const read = (): (string | null)[] =>
    [...document.querySelectorAll(`[data-message="${streamed}"]`)].map((element) => element.textContent);
  await waitFor(() => read().every((text) => text === sent));
  const shown = read();
  const status = document.querySelector("output")?.textContent;
  return {
    messages: addresses.length,
    renders: Object.fromEntries(renders),
    streamed,
    shown,
    sent,
    status,
  };
}

Object.assign(globalThis, { outcome: run() });
