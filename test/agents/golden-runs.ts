// Deterministic runs of agents with scripted models. The vectors `agent-*` of spec/vectors/runs contain their frames.
import { type Agent, agent, type AgentOptions } from "../../src/agents/index.ts";
import { type Log, MemoryLog, openStream } from "../../src/log/index.ts";
import type { Script } from "../../src/models/scripted-model.ts";
import type { RunRequest } from "../../src/engine/index.ts";
import type { ClientCallReply } from "../../src/engine/run-contract.ts";
import type { ClientTool, EventOf } from "../../src/protocol/index.ts";
import type { VectorInput } from "../vectors.ts";
import { readRecords } from "../contracts/sender.ts";
import { createTools } from "./counted-tools.ts";
import { cutLog } from "./cut-log.ts";
import { createTextModel } from "./text-model.ts";
import { playMeals, playMove, playTrip } from "./thought-scripts.ts";

interface GoldenRun {
  readonly name: string;
  readonly source: string;
  readonly message: string;
  readonly turns: Script;
  readonly options?: AgentOptions;
  /** Number of pieces of text after which the process dies; another one finishes the run. */
  readonly diesAfterChunks?: number;
  /** What the client asks of the run. */
  readonly request?: Pick<RunRequest, "instructions" | "outputSchema">;
  /** Tools that the client carries out, and the results that it sends, by call ID. */
  readonly clientTools?: readonly ClientTool[];
  readonly results?: { readonly [callId: string]: Omit<ClientCallReply, "callId"> };
  /** Answer to the approval request, once all other calls have ended. */
  readonly answer?: { readonly decision: "approved" | "rejected"; readonly reason?: string };
}

const NOW = 1_763_200_000_000;

export const GOLDEN_RUNS: readonly GoldenRun[] = [
  {
    name: "agent-parallel-approval",
    source: "001 §4.2: two parallel tools, one of which needs approval",
    message: "1 加 2 是多少？算完把 old.log 删掉。",
    turns: [
      {
        reasoning: "两件事，可以一起做。",
        text: "稍等。",
        calls: [
          { name: "add", input: { a: 1, b: 2 }, id: "call_add" },
          { name: "remove", input: { path: "old.log" }, id: "call_rm" },
        ],
      },
      { text: "1 + 2 = 3，old.log 已删除。" },
    ],
    answer: { decision: "approved" },
  },
  {
    name: "agent-rejected-repaired",
    source: "001 §4.2: a rejection, a failing tool, and repaired arguments",
    message: "Clean up, then add one and two.",
    turns: [
      { calls: [{ name: "remove", input: { path: "notes.md" }, id: "call_rm" }] },
      { text: "I keep it. ", calls: [{ name: "fail", id: "call_fail" }] },
      { calls: [{ name: "add", input: '{"a": 1, "b":', id: "call_bad" }] },
      { calls: [{ name: "add", input: { a: 1, b: 2 }, id: "call_good" }] },
      { text: "The sum is 3." },
    ],
    answer: { decision: "rejected", reason: "I still need my notes" },
  },
  {
    name: "agent-rounds-used-up",
    source: "002: reaching the limit is an error with its own stage, then a best-effort finish",
    message: "Count for ever",
    turns: [{ calls: [{ name: "add", input: { a: 0, b: 1 }, id: "call_1" }] }, { text: "I came as far as 1." }],
    options: { maxIterations: 1 },
  },
  {
    name: "agent-model-fails",
    source: "002: an interrupted model stream is an error of stage llm_stream",
    message: "Tell me a story",
    turns: [{ text: "Once upon a time", fault: { kind: "cut", after: 3 } }],
  },
  {
    name: "agent-killed-mid-answer",
    source:
      "001 §8: the process of a run dies in the middle of its answer, after a tool call, and another one finishes it",
    message: "What is 1 + 2?",
    turns: ({ prompt }) =>
      prompt.some(({ role }) => role === "tool")
        ? { text: "The sum of 1 and 2 is 3." }
        : { text: "One moment. ", calls: [{ name: "add", input: { a: 1, b: 2 }, id: "call_add" }] },
    diesAfterChunks: 5,
  },
  {
    name: "agent-client-tools",
    source: "001 §4.2: two tools that the client carries out, one of which fails, and an approval before the other",
    message: "我在哪里？顺便把当前标签页关掉。",
    turns: [
      {
        text: "稍等。",
        calls: [
          { name: "locate", input: { precise: true }, id: "call_at" },
          { name: "close_tab", input: {}, id: "call_tab" },
        ],
      },
      { text: "你在里斯本，标签页没有关掉。" },
    ],
    clientTools: [
      {
        name: "locate",
        description: "Returns the city that the user is in.",
        inputSchema: { type: "object", properties: { precise: { type: "boolean" } }, required: ["precise"] },
      },
      { name: "close_tab" },
    ],
    options: { toolRules: { close_tab: "ask" } },
    answer: { decision: "approved" },
    results: {
      call_at: { output: { city: "Lisbon", at: [38.72, -9.14] }, actor: "token:k3x9" },
      call_tab: { output: "The last tab cannot be closed", isError: true },
    },
  },
  {
    name: "agent-structured-output",
    source: "001 §4.2: instructions of the client, and a reply that the model corrects until it matches a JSON Schema",
    message: "挪威的首都有多少人？",
    turns: [
      { text: "我先算一下。", calls: [{ name: "add", input: { a: 700_000, b: 17_000 }, id: "call_add" }] },
      { text: "奥斯陆有 71.7 万人。" },
      { text: '{"city": "奥斯陆", "people": 717000}' },
    ],
    request: {
      instructions: "Use the names of cities in the language of the user.",
      outputSchema: {
        type: "object",
        properties: { city: { type: "string" }, people: { type: "integer", minimum: 1 } },
        required: ["city", "people"],
        additionalProperties: false,
      },
    },
  },
  {
    name: "agent-tot-backtrack",
    source: "001 §4.2: a tree of thoughts, depth first, with a dead end, a backtrack and a tool in a thought",
    message: "How do I get the box into the attic?",
    turns: playMove,
    options: { kind: "tot", strategy: "depth", threshold: 0.3, maxDepth: 3, candidates: 3 },
  },
  {
    name: "agent-got-failure",
    source: "001 §4.2: a graph of thoughts in which one node fails for good and its dependants are skipped by name",
    message: "为周末安排三顿饭，并列出购物清单。",
    turns: playMeals,
    options: { kind: "got", attempts: 1, concurrency: 2 },
  },
  {
    name: "agent-agot-nested",
    source: "001 §4.2: an adaptive graph of thoughts with a nested expansion",
    message: "Plan two days in Lisbon.",
    turns: playTrip,
    options: { kind: "got", adaptive: true, maxDepth: 2, concurrency: 2 },
  },
];

/** Runs it and returns the input of the vector. */
export async function playGoldenRun({
  name,
  source,
  message,
  turns,
  options,
  answer,
  diesAfterChunks,
  clientTools,
  request,
  results = {},
}: GoldenRun): Promise<VectorInput> {
  const log = new MemoryLog({ now: () => NOW });
  const { tools } = createTools();
  const actor = agent({
    model: createTextModel(turns),
    tools,
    systemInstructions: "Be brief.",
    ...options,
  });
  await using session = await actor.openSession(log, "sess-agent", { now: () => NOW });
  const open = new Set<string | undefined>();
  session.onCommit((entries) => {
    for (const { record } of entries) {
      const { type } = record.event;
      if (type === "tool_call") open.add((record.event as EventOf<"tool_call">).call_id);
      if (type === "tool_end") open.delete((record.event as EventOf<"tool_end">).call_id);
    }
    const run = session.liveRun;
    const [delegated] = run?.work.delegated ?? [];
    if (open.size === 1 || run?.work.waiting.length === 1)
      if (delegated?.callId !== undefined) {
        const { callId } = delegated;
        queueMicrotask(() => run?.answerCall({ callId, ...results[callId] }));
        return;
      }
    const [waiting] = run?.work.waiting ?? [];
    if (open.size === 1 && waiting?.callId !== undefined && answer !== undefined)
      queueMicrotask(() => run?.answerApproval({ callId: waiting.callId ?? "", ...answer }));
  });
  const run = await actor.answer(session, message, {
    runId: "run-1",
    source: "stream",
    ...request,
    ...(clientTools === undefined ? {} : { clientTools }),
  });
  await run.ended;
  const left = diesAfterChunks === undefined ? log : await finishDead(actor, log, diesAfterChunks);
  return { name, source, dialect: "loom", mode: "stream", frames: await readFrames(left) };
}

/** Cuts the log after so many pieces of text, and finishes the run in another session. */
async function finishDead(actor: Agent, log: Log, chunks: number): Promise<Log> {
  const records = await readRecords(log, "sess-agent");
  const places = records.flatMap(({ event }, index) => (event.type === "message_chunk" ? [index] : []));
  const now = (): number => NOW;
  const cut = await cutLog(records.slice(0, (places[chunks - 1] ?? 0) + 1), { sessionId: "sess-agent", now });
  await using session = await actor.openSession(cut, "sess-agent", { now });
  await session.idle();
  return cut;
}

async function readFrames(log: Log): Promise<readonly unknown[]> {
  const frames: unknown[] = [];
  for await (const batch of openStream(log, "sess-agent", { dialect: "loom", modes: "all" }))
    // Error IDs are random.
    frames.push(
      ...batch.map(({ text }) => JSON.parse(text.replace(/"error_id":"[^"]+"/, '"error_id":"error-1"')) as unknown),
    );
  return frames;
}
