/** Runs in Chromium: receives every session of the server, each over its own connection. */
import { connect, createFetchTransport, createReceiver, type StreamState } from "../../src/client/index.ts";
import type { ReceiverView } from "../../src/client/view.ts";
import type { DialectName } from "../../src/dialects/index.ts";
import type { Framing } from "../../src/framing/detect-framing.ts";

/** A stream the server offers. */
export interface StreamOffer {
  readonly run: string;
  readonly session: string;
  readonly dialect: DialectName;
  readonly framing: Framing;
}

/** For each offer: how its connection ended, and the view. */
export type ReceiveOutcome = readonly { readonly state: StreamState; readonly view: ReceiverView }[];

async function receive({ run, session, dialect, framing }: StreamOffer): Promise<ReceiveOutcome[number]> {
  const receiver = createReceiver();
  const transport = createFetchTransport({ url: `${location.origin}/${run}`, framing });
  const reconnect = { initialMs: 1, maxMs: 20 };
  const connection = connect(receiver, { transport, session, dialect, follow: false, reconnect });
  const state = await connection.done;
  connection.close();
  transport.close();
  return { state, view: receiver.getSnapshot() };
}

async function run(): Promise<ReceiveOutcome> {
  const offers = (await (await fetch("/offers")).json()) as readonly StreamOffer[];
  return Promise.all(offers.map(receive));
}

Object.assign(globalThis, { outcome: run() });
