// The log of the process. Next.js loads modules more than once, in development and for every route, and `next build` loads
// them without a request: the file is opened by the first request, and only once.
import { openSqliteLog } from "loom-agent";

const shared = globalThis as { chatLog?: ReturnType<typeof openSqliteLog> };

export function openLog() {
  return (shared.chatLog ??= openSqliteLog(process.env["STORE"] ?? "chats.db"));
}

/** Returns the ID of the run that answers now. */
export async function findLiveRun(sessionId: string): Promise<string | undefined> {
  const log = await openLog();
  if ((await log.getSession(sessionId)) === undefined) return undefined;
  const [latest] = await log.listRuns(sessionId, { limit: 1 });
  return latest?.status === "live" ? latest.runId : undefined;
}
