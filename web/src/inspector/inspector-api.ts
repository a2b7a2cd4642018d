/** What the inspector asks of the page it stands in: the frames of one run. It fetches nothing itself. */
import type { DialectName } from "loom-agent/dialects";

export interface FrameRequest {
  readonly dialect: DialectName;
  /** Go on after this cursor; from the run's start where absent. */
  readonly after?: string | undefined;
  /** Wait for what is still to come of a run that is live, to its end. */
  readonly follow?: boolean | undefined;
  readonly signal: AbortSignal;
}

export interface ReadFrame {
  /** The frame as the wire carries it. */
  readonly text: string;
  /** To go on after it, where the wire carries one. */
  readonly cursor?: string | undefined;
}

export interface InspectorApi {
  /** The frames of a run in their order. Throws when the server refuses, or the connection is lost. */
  readFrames(session: string, runId: string, request: FrameRequest): AsyncIterable<ReadFrame>;
}
