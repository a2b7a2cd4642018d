/** Where things are, for answers that name them: addresses below the server's base, names written as addresses need it. */
import type { ServerCore } from "../server-core.ts";

type Base = Pick<ServerCore, "basePath">;

export function addressOfSession({ basePath }: Base, session: string): string {
  return `${basePath}/v1/sessions/${encodeURIComponent(session)}`;
}

export function addressOfRun(base: Base, session: string, run: string): string {
  return `${addressOfSession(base, session)}/runs/${encodeURIComponent(run)}`;
}

export function addressOfRunEvents(base: Base, session: string, run: string): string {
  return `${addressOfSession(base, session)}/events?run=${encodeURIComponent(run)}&follow=true`;
}
