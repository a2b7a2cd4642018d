/** The contract between a WebSocket and the protocol that is spoken on it. */
import type { ServerCore } from "../api/server-core.ts";
import type { Caller } from "../auth/authorize.ts";
import type { SocketWriter } from "./socket-writer.ts";

/** The protocol handler of one socket. */
export interface Peer {
  receive(text: string): void;
  receiveBinary(): void;
  /** Appended to the close reason to tell the client where to resume; empty, or a space and `after=<cursor>`. */
  readonly closeSuffix: string;
  /** Called when the client has disconnected. */
  close(): void;
}

export type OpenPeer = (core: ServerCore, writer: SocketWriter, caller: Caller) => Peer | Promise<Peer>;
