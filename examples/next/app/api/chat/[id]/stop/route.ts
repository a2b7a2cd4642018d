// Cancels the run that answers now, in whichever process it is. A client that only leaves does not stop it.
import { sendCommand } from "loom-agent";
import { findLiveRun, openLog } from "../../../../../lib/log";

interface Context {
  readonly params: Promise<{ readonly id: string }>;
}

export async function POST(_request: Request, { params }: Context): Promise<Response> {
  const { id: sessionId } = await params;
  const live = await findLiveRun(sessionId);
  const commandId = crypto.randomUUID();
  if (live !== undefined)
    await sendCommand(await openLog(), { commandId, sessionId, kind: "cancel", body: { run_id: live } });
  return new Response(null, { status: 204 });
}
