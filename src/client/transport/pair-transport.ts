/**
 * The control protocol without a socket: both ends in one process, for tests, for a page with its own engine, and for
 * other kinds of channels.
 */
import type { Transport } from "../transport.ts";
import { type ControlOptions, createControlTransport } from "./control-transport.ts";

/**
 * Connects to the other end. The returned `send` passes messages to it; it calls `receive` with its own messages, and
 * `lost` when it closes.
 */
export type ConnectPair = (
  receive: (text: string) => void,
  lost: (message: string) => void,
) => { send(text: string): void; close(): void };

/**
 * Creates a transport to another end in the same process.
 *
 * ```ts
 * const transport = createPairTransport((receive) => {
 *   const server = new ControlConnection({ log, send: receive });
 *   return { send: (text) => server.receive(text), close: () => server.close() };
 * });
 * ```
 */
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
