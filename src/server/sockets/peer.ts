/** The contract between a WebSocket and the protocol that is spoken on it. */
import type { LoomError } from "../../protocol/index.ts";
import type { Action } from "../auth/scopes.ts";
import type { ClientRoom } from "./backpressure.ts";

/** The protocol handler of one socket. */
export interface Peer {
  receive(text: string): void;
  receiveBinary(): void;
  /** The cursor to resume after, for the close reason. Absent if the messages of the protocol have their position. */
  readonly cursor?: string | undefined;
  /** Called when the client has disconnected. */
  close(): void;
}

/** The client of a connection. */
export interface PeerClient extends ClientRoom {
  readonly send: (text: string) => void;
  /** Sends encoded WebSocket messages, which are shared by all readers. */
  readonly sendBytes: (messages: Buffer) => void;
  /** Called with the reason when the connection has closed itself. */
  readonly onClose: (why: unknown) => void;
  /** Called for every valid message. Rejects with `rate_limited` to refuse it. Default: nothing is counted. */
  readonly countRequest?: (() => Promise<void>) | undefined;
}

/** The permissions of a caller that reads sessions. */
export interface PeerAccess {
  /** Throws `forbidden`, `unauthorized`, or `unknown_session` when the caller has no such session. */
  readonly authorize: (action: Action, session: string | undefined) => Promise<void> | void;
  /**
   * Acquires permission to read a session. Calling `onEnd` ends the stream with that error. Throws `too_many_streams`.
   * Default: no permission is needed.
   */
  readonly watch?: ((session: string, onEnd: (why: LoomError) => void) => () => void) | undefined;
}
