// An agent that needs two tools at once and then your consent, with a model that needs no key. It prints the run as
// NDJSON. While it waits for your consent, answer from a second shell; or kill it first, and answer then.
//
//   npx node examples/react.ts [STORE]            asks the agent, or goes on with the run that was killed
//   npx node examples/react.ts [STORE] yes|no     answers what it waits for, and goes on with it if nobody else does
//
// Exit code: 0 when the run completed or its answer was passed on, 1 when it ended otherwise or nothing waits.
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

/** Whoever opens the session goes on with what its last holder left. Undefined where another process has it. */
async function open() {
  try {
    return await helper.openSession(log, sessionId);
  } catch (error) {
    if (isLoomError(error, "lease_held")) return undefined;
    throw error;
  }
}

/** The first question of the live run that has no answer yet. */
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

/** An answer is a command: it reaches the run in whichever process it is, and the first one counts. */
async function answer(decision: "approved" | "rejected"): Promise<boolean> {
  const question = await findQuestion();
  if (question === undefined) return false;
  const { runId, callId, name } = question;
  const body = { run_id: runId, call_id: callId, decision };
  const { outcome } = await sendCommand(log, { commandId: crypto.randomUUID(), sessionId, kind: "approve", body });
  console.error(`${name} was ${decision}:`, outcome?.code ?? "nobody has taken the answer yet");
  return outcome?.code === "done";
}

/** One word, as a shell reads it. */
function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Prints the run from its beginning to its end. Each frame is on disk before it is printed. */
async function print(firstId: number): Promise<void> {
  const stream = openStream(log, sessionId, { dialect: "loom", modes: "all", after: firstId - 1, follow: true });
  for await (const frames of stream)
    for (const { text } of frames) {
      console.log(text);
      const { type, status, reply, name } = JSON.parse(text) as { [key: string]: string | undefined };
      if (type === "tool_approval")
        console.error(`${name} waits for your consent: npx node examples/react.ts ${quote(store)} yes`);
      if (reply !== undefined || (type === "run_end" && status !== "completed")) return;
    }
}

const session = await open();
if (session === undefined) {
  // The other process goes on as soon as it has the answer.
  if (word === undefined) console.error("another process is at it already");
  process.exitCode = word !== undefined && (await answer(word === "yes" ? "approved" : "rejected")) ? 0 : 1;
} else {
  const left = session.liveRun;
  if (word !== undefined && left === undefined) {
    console.error("nothing waits for an answer");
    process.exitCode = 1;
  } else {
    const question = "What is 6*7, and what time is it in Tokyo? Write the result to answer.txt";
    const run = left ?? (await helper.answer(session, question));
    const { firstId = 1 } = (await log.getRun(sessionId, run.runId)) ?? {};
    const printing = print(firstId);
    if (word !== undefined) await answer(word === "yes" ? "approved" : "rejected");
    await printing;
    const { status } = await run.ended;
    console.error("the run is over:", status);
    process.exitCode = status === "completed" ? 0 : 1;
  }
  await session.close();
}
await log.close();
