/** Interface between the inspector and the page: reads runs. The inspector sends no requests itself. */
import type { DialectName } from "loom-agent/dialects";
import type { Checkpoint, ModelCall } from "../../../src/server/api/shapes.generated.ts";

export interface FrameRequest {
  readonly dialect: DialectName;
  /** Cursor to continue after; undefined: the start of the run. */
  readonly after?: string | undefined;
  /** Follow a live run to its end. */
  readonly follow?: boolean | undefined;
  readonly signal: AbortSignal;
}

export interface WireFrame {
  /** The frame as sent. */
  readonly text: string;
  /** Cursor of the frame, if it has one. */
  readonly cursor?: string | undefined;
}

export interface InspectorApi {
  /** Reads the prompt and the response of a model call. Throws `forbidden` if the user is not the owner. */
  readModelCall(session: string, runId: string, callId: string, signal: AbortSignal): Promise<ModelCall>;
  readCheckpoint(session: string, checkpointId: string, signal: AbortSignal): Promise<Checkpoint>;
  /** Reads the frames of a run in order. Throws if the server refuses or the connection is lost. */
  readFrames(session: string, runId: string, request: FrameRequest): AsyncIterable<WireFrame>;
}
