/** Sends a slice of a run to a client of another protocol: as a stream, or collected in one response. */
import type { DialectName } from "../../dialects/index.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { LoomError } from "../../protocol/index.ts";
import type { ApiCall } from "../api/operation.ts";
import type { ServerCore } from "../api/server-core.ts";
import { nameRun } from "../endpoints/resource-paths.ts";
import { openReader, sendStream, type SendStreamOptions } from "../endpoints/stream-endpoint.ts";
import type { ReadRequest } from "../streams/stream-reader.ts";
import { endUnstarted } from "../streams/wrap-reader.ts";
import type { RunSlice } from "./client-protocol.ts";

interface SliceView
  extends
    SendStreamOptions,
    Pick<ReadRequest, "modes" | "legacy" | "sdkVersion" | "after" | "skip" | "endAt" | "onLeave"> {
  readonly dialect: DialectName;
}

/**
 * Streams the run from `after` on: to its end, to the frame that `endAt` replaces, or to where `adapt` ends it. Waits for
 * a run that has not started. The headers name the session and the run.
 */
export function sendRunSlice(
  core: ServerCore,
  call: Pick<ApiCall<"Empty", "Empty">, "caller" | "node" | "signal">,
  { session, run, key }: RunSlice,
  { framing, isCutHard, headers, adapt = (reader) => reader, ...view }: SliceView,
): Promise<Response> {
  const { dialect, sdkVersion, legacy } = view;
  const unstarted = { run, dialect, encoderOptions: dropUndefined({ version: sdkVersion, legacy }) };
  return sendStream(
    core,
    call,
    session,
    { ...view, run, command: key, follow: true },
    {
      framing,
      ...(isCutHard === undefined ? {} : { isCutHard }),
      headers: { ...headers, ...nameRun({ session, run }) },
      adapt: (reader) => adapt(endUnstarted(reader, unstarted)),
    },
  );
}

/**
 * Passes each frame with its cursor to `take`, until it returns true or the stream ends. Returns false if the client
 * disconnected. Throws the error of a stream that fails, and `shutting_down`.
 */
export async function collectRunSlice(
  core: Pick<ServerCore, "streams" | "access">,
  call: Pick<ApiCall<"Empty", "Empty">, "caller" | "signal">,
  { session, run, key }: RunSlice,
  view: Pick<ReadRequest, "dialect" | "after" | "follow" | "onLeave">,
  take: (text: string, cursor: string) => boolean,
): Promise<boolean> {
  const reader = await openReader(core, call, session, { ...view, run, command: key, transport: "http" });
  if (reader === undefined) return false;
  return new Promise((resolve, reject) => {
    reader.start({
      write({ frames }) {
        if (frames.some(({ text, cursor }) => take(text, cursor))) reader.close("end");
        return true;
      },
      end({ reason, error }) {
        if (reason === "error") reject(error instanceof Error ? error : new Error(String(error)));
        else if (reason === "closing")
          reject(new LoomError("shutting_down", "The server is shutting down; try again in a moment"));
        else resolve(reason === "end");
      },
    });
  });
}
