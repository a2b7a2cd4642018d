/**
 * The contract of a transport: it brings the frames of one session's stream, from a place on, and takes commands up.
 * It knows no event and no view. One shared suite (`transport.contract.ts`) holds every transport to it.
 *
 * Invariants:
 * - Frames arrive whole and in the order the server sent them; a frame cut short by a lost connection is not given.
 * - `open` settles once, when nothing more will come; it resolves with how the stream ended, and never rejects.
 * - When `signal` is aborted nothing more is given, and the outcome is `aborted`. So it is for every open stream when the
 *   transport is closed; whatever is asked of a closed transport is refused.
 */
import type { DialectName } from "../dialects/index.ts";
import type { FramingFault } from "../framing/index.ts";
import type { ControlCommand, ErrorCode, JsonObject, StreamModes } from "../protocol/index.ts";

/** A place in a session's stream: after this frame, this record, or the beginning. */
export interface Place {
  /** A wire cursor, or the event_id of a record as text; absent: the beginning of what is held. */
  readonly after?: string;
  /** Whole frames received since `after`. */
  readonly skip?: number;
  /** A cursor of the same session: a number or a count means nothing in one that was made anew. */
  readonly of?: string;
}

export interface StreamRequest {
  readonly session: string;
  readonly dialect: DialectName;
  /** Only these kinds of events, or all, with states whole; see the server's streams for what comes without. */
  readonly modes?: StreamModes | undefined;
  readonly from: Place;
  /** Go on when the end of what there is has been reached. */
  readonly follow: boolean;
  /** At most so many frames; then the stream ends. */
  readonly limit?: number;
}

export interface FrameSink {
  /** One whole frame, and the cursor to go on after it where the wire carries one. */
  frame(text: string, cursor: string | undefined): void;
  /** Something came, be it only a heartbeat: the peer is alive. */
  alive(): void;
  /** Bytes that became no frame: where they stood, something may be missing. The stream goes on. */
  fault(reason: SinkFault, detail: string): void;
  /** Where the stream began, told before its first frame, on a wire that tells it. */
  begin?(cursor: string): void;
}

export type SinkFault = FramingFault | "invalid_control";

export type StreamOutcome =
  /** The server ended the stream in good order. Whether a run was cut is for the receiver to say. */
  | { readonly kind: "ended" }
  /** The connection broke, or never came about: trying again may help. */
  | { readonly kind: "lost"; readonly message: string; readonly retryAfterMs?: number }
  | Refusal
  | { readonly kind: "aborted" };

/** The server said no, and says it again if asked the same. */
export interface Refusal {
  readonly kind: "refused";
  readonly code: ErrorCode;
  readonly message: string;
  readonly details?: JsonObject;
  /** Not the words of our server, but of something before it: where things went well before, they may again. */
  readonly isForeign?: true;
}

/** What a user asks of a session. `id` makes asking twice the same as asking once. */
export type ClientCommand = ControlCommand;

export type CommandOutcome =
  | { readonly kind: "done"; readonly result?: JsonObject }
  /** It is written down and will be carried out when its turn comes. */
  | { readonly kind: "accepted" }
  | Refusal
  /** Whether it arrived is not known: ask again with the same id. */
  | {
      readonly kind: "lost";
      readonly code: "connection_lost" | "command_timeout";
      readonly message: string;
      readonly retryAfterMs?: number;
    };

export interface Transport {
  open(request: StreamRequest, sink: FrameSink, signal: AbortSignal): Promise<StreamOutcome>;
  send(command: ClientCommand, signal: AbortSignal): Promise<CommandOutcome>;
  /** Lets go of what outlives a stream, such as a shared socket. */
  close(): void;
}
