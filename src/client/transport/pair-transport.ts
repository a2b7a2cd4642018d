/**
 * The control protocol without a socket: two ends in one process, for tests, for a page with its own engine, and for
 * pipes of any other kind.
 */
import type { Transport } from "../transport.ts";
import { type ControlOptions, createControlTransport } from "./control-transport.ts";

/** The other end: takes what is sent up, and sends down what it has by `receive`. `lost` tells that it is gone. */
export type ConnectPair = (
  receive: (text: string) => void,
  lost: (message: string) => void,
) => { send(text: string): void; close(): void };

export function createPairTransport(connect: ConnectPair, options: ControlOptions = {}): Transport {
  return createControlTransport((events) => {
    try {
      return connect(
        (text) => events.receive(text),
        (message) => events.lost(message),
      );
    } catch (error) {
      events.lost(error instanceof Error ? error.message : String(error));
      return { send: () => undefined, close: () => undefined };
    }
  }, options);
}
