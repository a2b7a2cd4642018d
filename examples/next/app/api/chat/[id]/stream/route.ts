// Streams a run again: `useChat` reads it when a page is opened during a run.
import { resumeRun } from "loom-agent/adapters";
import { openLog } from "../../../../../lib/log";

interface Context {
  readonly params: Promise<{ readonly id: string }>;
}

export async function GET(request: Request, { params }: Context): Promise<Response> {
  const { id: sessionId } = await params;
  const runId = new URL(request.url).searchParams.get("run") ?? undefined;
  const cursor = request.headers.get("last-event-id");
  return resumeRun(await openLog(), { sessionId, runId, cursor }, { dialect: "ai-sdk" });
}
