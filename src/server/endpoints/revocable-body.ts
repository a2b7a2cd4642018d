/** A response body that breaks off when access ends, so that the client does not take it for complete. */
import type { Access } from "../auth/access.ts";
import type { Caller } from "../auth/authorize.ts";

/**
 * Watches the access of the caller to the session until the body ends for any reason. If it has none, the body is cancelled
 * and the error is thrown. Local callers always have access.
 */
export function createRevocableBody(
  { access }: { readonly access: Pick<Access, "watch"> },
  caller: Caller,
  session: string,
  body: ReadableStream<Uint8Array>,
): ReadableStream<Uint8Array> {
  if (caller.principal.kind === "local") return body;
  const stop = new AbortController();
  let release: () => void;
  try {
    release = access.watch(caller, session, (reason) => stop.abort(reason));
  } catch (error) {
    void body.cancel(error).catch(() => undefined);
    throw error;
  }
  const relay = new TransformStream<Uint8Array, Uint8Array>();
  body.pipeTo(relay.writable, { signal: stop.signal }).then(release, release);
  return relay.readable;
}
