/**
 * The transport interface: a transport delivers the frames of one session's stream, starting at a given position, and
 * sends commands to the server. It knows nothing about events or views. Every transport passes the shared contract
 * suite in `test/contracts/transport.ts`.
 *
 * Invariants:
 * - Frames arrive whole and in the order the server sent them. A frame cut off by a lost connection is not delivered.
 * - `open` resolves exactly once, with how the stream ended, and never rejects.
 * - After `signal` is aborted, nothing more is delivered and the outcome is `aborted`. Closing the transport aborts
 *   every open stream; a closed transport refuses all further requests.
 */
import type { DialectName } from "../dialects/index.ts";
import type { FramingFault } from "../framing/frame.ts";
import type { ErrorCode, JsonObject } from "../protocol/index.ts";
import type { StreamModes } from "../protocol/stream-modes.ts";
import type { ControlCommand } from "../protocol/control/control-codec.ts";

/** A position in a session's stream: after a frame, after a record, or at the start. */
export interface StreamPosition {
  /** A received cursor, or the event_id of a record as text. Absent: the start of the stored records. */
  readonly after?: string;
  /** Number of whole frames received after `after`. Default: 0. */
  readonly skip?: number;
  /**
   * A cursor of the same session. It identifies the session when `after` is a plain number, which would be ambiguous if
   * the session was deleted and created again.
   */
  readonly of?: string;
}

/** A request for one session's stream. */
export interface StreamRequest {
  /** ID of the session. */
  readonly session: string;
  /** Dialect of the frames. */
  readonly dialect: DialectName;
  /**
   * Event kinds to receive, or `all`; graph states are then sent in full. Default: everything except graph states.
   */
  readonly modes?: StreamModes | undefined;
  /** Position to start after. */
  readonly from: StreamPosition;
  /** Keep the stream open for new frames after the stored ones were sent. */
  readonly follow: boolean;
  /** Maximum number of frames; the stream ends after them. Default: no limit. */
  readonly limit?: number;
}

/** Receives the frames of a stream. */
export interface FrameSink {
  /** Receives one whole frame, with the cursor to resume after it if the wire format has one. */
  frame(text: string, cursor: string | undefined): void;
  /** Called for any sign of life from the server, including heartbeats. */
  alive(): void;
  /** Reports bytes that could not be read as a frame. A frame may be missing there; the stream continues. */
  fault(reason: SinkFault, detail: string): void;
  /**
   * Called when the stream opens, with the event ID of the last stored record, and with undefined when everything stored
   * was delivered. Transports that cannot tell do not call it.
   */
  history?(lastId: number | undefined): void;
  /** Receives the cursor of the stream's start, before the first frame, if the wire format has it. */
  begin?(cursor: string): void;
}

/** Why bytes could not be read as a frame. */
export type SinkFault = FramingFault | "invalid_control";

/** How a stream ended. */
export type StreamOutcome =
  /** The server ended the stream normally. The receiver decides whether a run was cut off. */
  | { readonly kind: "ended" }
  /** The connection broke or could not be opened. A retry may succeed. */
  | { readonly kind: "lost"; readonly message: string; readonly retryAfterMs?: number }
  | Refusal
  | { readonly kind: "aborted" };

/** The server rejected the request. Repeating the same request would be rejected again. */
export interface Refusal {
  readonly kind: "refused";
  readonly code: ErrorCode;
  readonly message: string;
  readonly details?: JsonObject;
  /**
   * True when the response did not come from a Loom server but, for example, from a proxy in between. If the server was
   * reachable before, a retry may succeed.
   */
  readonly isForeign?: true;
}

/** A command to a session. Sending it again with the same `id` has no further effect. */
export type ClientCommand = ControlCommand;

/** Result of sending a command. */
export type CommandResult =
  | { readonly kind: "done"; readonly result?: JsonObject }
  /** The command is stored and will be executed later. */
  | { readonly kind: "accepted" }
  | Refusal
  /** It is unknown whether the command arrived. Send it again with the same `id`. */
  | {
      readonly kind: "lost";
      readonly code: "connection_lost" | "command_timeout";
      readonly message: string;
      readonly retryAfterMs?: number;
    };

/**
 * Carries streams and commands between a client and a server. Create one with `createFetchTransport`,
 * `createWebSocketTransport` or `createPairTransport`, or implement this interface.
 */
export interface Transport {
  /** Opens a stream and delivers its frames to `sink`. Resolves with how the stream ended; never rejects. */
  open(request: StreamRequest, sink: FrameSink, signal: AbortSignal): Promise<StreamOutcome>;
  /** Sends a command and resolves with its result. Never rejects. */
  send(command: ClientCommand, signal: AbortSignal): Promise<CommandResult>;
  /** Releases resources that outlive a stream, such as a shared socket, and aborts all open streams. */
  close(): void;
}
