/**
 * `loom demo`: prints a small run in each dialect, and the result of checking it complete, incomplete and cut short.
 */
import { createStreamCheck, createStreamConverter, DIALECTS } from "../dialects/index.ts";
import type { ParsedCommand } from "./command.ts";
import type { Terminal } from "./terminal.ts";

const RUN = [
  { type: "session_start", data: { session_id: "demo", request_id: "req-1" } },
  { type: "thinking", data: { content: "The user wants a product. I will use the calculator.", stage: "planning" } },
  { type: "tool_call_start", data: { tool_id: "call-1", tool_name: "calculator", arguments: { expression: "6 * 7" } } },
  { type: "tool_call_end", data: { tool_id: "call-1", status: "success", result: { value: 42 } } },
  { type: "content", data: { content: "6 × 7 is " } },
  { type: "content", data: { content: "42.", is_complete: true } },
  { type: "session_end", data: { status: "completed", summary: { total_tokens: 58, tool_calls: 1 } } },
].map((message, sequence) =>
  JSON.stringify({
    ...message,
    metadata: { request_id: "req-1", timestamp: 1_700_000_000_000 + sequence * 40, sequence },
  }),
);

export async function runDemo(_parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const title = (text: string) => terminal.write(`\n${terminal.style("bold", text)}\n`);
  await title("A run in the engine dialect:");
  await terminal.write(`${RUN.join("\n")}\n`);
  for (const target of [DIALECTS.loom, DIALECTS.lumine, DIALECTS["stream-event"]]) {
    await title(`The same run as ${target.name} (loom convert --to ${target.name}):`);
    const converter = createStreamConverter(DIALECTS.engine, target);
    for (const frame of RUN) for (const out of converter.convert(frame).frames) await terminal.write(`${out}\n`);
  }
  await title("`loom check` on the complete run, with a missing frame, and cut short:");
  const cases: [string, readonly string[]][] = [
    ["complete", RUN],
    ["missing frame", RUN.filter((_, index) => index !== 4)],
    ["cut short", RUN.slice(0, 5)],
  ];
  for (const [name, frames] of cases) {
    const checker = createStreamCheck(DIALECTS.engine);
    const issues = [...frames.flatMap((frame) => checker.check(frame).issues), ...checker.end()];
    const result =
      issues.length === 0
        ? terminal.style("green", "clean")
        : issues.map((issue) => `${issue.rule}: ${issue.message}`).join("; ");
    await terminal.write(`  ${name}: ${result}\n`);
  }
  await terminal.write("\nTry it: loom check FILE, loom convert --from auto --to loom FILE, loom --help\n");
  return 0;
}
