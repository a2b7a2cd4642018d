/**
 * A chat in the terminal that knows only AG-UI. Start a server first:
 *
 *   npx loom serve
 *   node examples/ag-ui/chat.ts http://127.0.0.1:10338/ag-ui "What is 12 * 34?"
 *
 * It prints the ID of the run. If the program or the network stops in the middle, pass the ID as third argument: the
 * whole answer is printed, and the agent does not run again.
 */
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline/promises";
import { HttpAgent, type Interrupt } from "@ag-ui/client";

const [url = "http://127.0.0.1:10338/ag-ui", question = "Hello", runId = randomUUID()] = process.argv.slice(2);
const client = new HttpAgent({ url, threadId: `chat-${runId}` });
client.addMessage({ id: `question-${runId}`, role: "user", content: question });
console.error(`run ${runId}`);

const printer = {
  onTextMessageContentEvent: ({ event }: { event: { delta: string } }) => void process.stdout.write(event.delta),
  onTextMessageEndEvent: () => void process.stdout.write("\n"),
  onToolCallEndEvent: ({ toolCallName }: { toolCallName: string }) => console.error(`call ${toolCallName}`),
};

async function decide({ id, message }: Interrupt) {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${message ?? "Allow?"} [y/N] `);
  terminal.close();
  return { interruptId: id, status: "resolved" as const, payload: { approved: answer === "y" } };
}

await client.runAgent({ runId }, printer);
while (client.pendingInterrupts.length > 0) {
  const resume = [];
  for (const interrupt of client.pendingInterrupts) resume.push(await decide(interrupt));
  await client.runAgent({ resume }, printer);
}
