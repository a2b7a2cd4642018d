/** URL paths of sessions and runs, with the base path of the server, for `Location` headers and response bodies. */
import type { ServerCore } from "../api/server-core.ts";

type BasePathSource = Pick<ServerCore, "basePath">;

export function sessionPath({ basePath }: BasePathSource, session: string): string {
  return `${basePath}/v1/sessions/${encodeURIComponent(session)}`;
}

export function runPath(base: BasePathSource, session: string, run: string): string {
  return `${sessionPath(base, session)}/runs/${encodeURIComponent(run)}`;
}

/** Headers that name the session and the run of a stream. */
export function nameRun({ session, run }: { readonly session: string; readonly run: string }) {
  return { "loom-session": encodeURIComponent(session), "loom-run": encodeURIComponent(run) };
}

export function runEventsPath(base: BasePathSource, session: string, run: string): string {
  return `${sessionPath(base, session)}/events?run=${encodeURIComponent(run)}&follow=true`;
}
