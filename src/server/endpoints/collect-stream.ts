/** Reads the frames of a session for an endpoint that does not stream them. */
import { LoomError } from "../../protocol/index.ts";
import type { ApiCall } from "../api/operation.ts";
import type { ServerCore } from "../api/server-core.ts";
import type { ReadRequest } from "../streams/stream-reader.ts";

/**
 * Passes each frame with its cursor to `take`, until it returns true or the stream ends. Returns false if the client
 * disconnected. Throws the error of a stream that fails, and `shutting_down`.
 */
export async function collectStream(
  { streams, access }: Pick<ServerCore, "streams" | "access">,
  { caller, signal }: Pick<ApiCall<"Empty", "Empty">, "caller" | "signal">,
  session: string,
  request: Omit<ReadRequest, "transport" | "signal" | "lease">,
  take: (text: string, cursor: string) => boolean,
): Promise<boolean> {
  const lease: ReadRequest["lease"] =
    caller.principal.kind === "local" ? undefined : (onEnd) => access.watch(caller, session, onEnd);
  const reader = await streams.open(session, { ...request, transport: "http", signal, lease });
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
