// An agent that calls two tools at once and then needs your approval, with a model that needs no key. It prints the run
// as NDJSON. While it waits, approve from a second shell; or kill it first, and approve then.
//
//   npx node examples/react.ts [STORE]            runs the agent, or resumes a run that was killed
//   npx node examples/react.ts [STORE] yes|no     decides on the waiting call, and resumes the run if no process has it
//
// Exit codes: 0 the run completed or the decision was sent, 1 it ended otherwise or no call waits.
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, isLoomError, openSqliteLog, openStream, sendCommand } from "loom-agent";
import { createBuiltinTools, createFileTools } from "loom-agent/tools";

const [store = join(tmpdir(), "loom-react.db"), word] = process.argv.slice(2);
const sessionId = "react";
const files = `${store}.files`;
mkdirSync(files, { recursive: true });

const log = await openSqliteLog(store);
const helper = agent({ model: "offline", tools: [...createBuiltinTools(), ...createFileTools(files)] });

/** Opens the session and resumes its run. Undefined if another process holds it. */
async function open() {
  try {
    return await helper.openSession(log, sessionId);
  } catch (error) {
    if (isLoomError(error, "lease_held")) return undefined;
    throw error;
  }
}

/** Finds the first call of the live run that waits for approval. */
async function findQuestion() {
  const [run] = await log.listRuns(sessionId, { limit: 1 });
  if (run?.status !== "live") return undefined;
  const open = new Map<string, string>();
  for await (const frames of openStream(log, sessionId, { dialect: "loom", after: run.firstId - 1 }))
    for (const { text } of frames) {
      const { type, call_id, name } = JSON.parse(text) as { type?: string; call_id: string; name: string };
      if (type === "tool_approval") open.set(call_id, name);
      if (type === "tool_approval_result" || type === "tool_end") open.delete(call_id);
    }
  const [question] = open;
  return question === undefined ? undefined : { runId: run.runId, callId: question[0], name: question[1] };
}

/** Sends the decision as a command: it reaches the run in any process, and the first decision counts. */
async function answer(decision: "approved" | "rejected"): Promise<boolean> {
  const question = await findQuestion();
  if (question === undefined) return false;
  const { runId, callId, name } = question;
  const body = { run_id: runId, call_id: callId, decision };
  const { outcome } = await sendCommand(log, { commandId: crypto.randomUUID(), sessionId, kind: "approve", body });
  console.error(`${name} was ${decision}:`, outcome?.code ?? "pending");
  return outcome?.code === "done";
}

/** Quotes a word for a shell. */
function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Prints the run from start to end. Each frame is stored before it is printed. */
async function print(firstId: number): Promise<void> {
  const stream = openStream(log, sessionId, { dialect: "loom", modes: "all", after: firstId - 1, follow: true });
  for await (const frames of stream)
    for (const { text } of frames) {
      console.log(text);
      const { type, status, reply, name } = JSON.parse(text) as { [key: string]: string | undefined };
      if (type === "tool_approval")
        console.error(`${name} is waiting for your approval: npx node examples/react.ts ${quote(store)} yes`);
      if (reply !== undefined || (type === "run_end" && status !== "completed")) return;
    }
}

const session = await open();
if (session === undefined) {
  // The other process continues when it receives the decision.
  if (word === undefined) console.error("another process is running the agent");
  process.exitCode = word !== undefined && (await answer(word === "yes" ? "approved" : "rejected")) ? 0 : 1;
} else {
  const left = session.liveRun;
  if (word !== undefined && left === undefined) {
    console.error("no call is waiting for approval");
    process.exitCode = 1;
  } else {
    const question = "What is 6*7, and what time is it in Tokyo? Write the result to answer.txt";
    const run = left ?? (await helper.answer(session, question));
    const { firstId = 1 } = (await log.getRun(sessionId, run.runId)) ?? {};
    const printing = print(firstId);
    if (word !== undefined) await answer(word === "yes" ? "approved" : "rejected");
    await printing;
    const { status } = await run.ended;
    console.error("the run has ended:", status);
    process.exitCode = status === "completed" ? 0 : 1;
  }
  await session.close();
}
await log.close();
