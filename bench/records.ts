/** Records, texts and tool arguments that several benchmarks use. */
import type { AnyEvent, EventRecord } from "../src/protocol/index.ts";

export const START: readonly AnyEvent[] = [
  { type: "run_start", run_id: "run-1", message: "Hello", contiguous: true },
  { type: "node_enter", id: "think" },
];

export function createRecords(
  events: readonly AnyEvent[],
  { session = "s", run = "run-1", after = 0 } = {},
): EventRecord[] {
  return events.map((event, index) => ({
    envelope: {
      session_id: session,
      run_id: run,
      node_id: "run-think-1",
      event_id: after + index + 1,
      ts: 1_700_000_000_000 + after + index,
    },
    event,
  }));
}

/** A conversation of short turns. */
export function createConversation(turns: number): EventRecord[] {
  const records: EventRecord[] = [];
  for (let turn = 1; turn <= turns; turn++) {
    const after = records.length;
    const run = `run-${turn}`;
    const events: AnyEvent[] = [
      { type: "run_start", run_id: run, message: "Hello", contiguous: true },
      { type: "node_enter", id: "think" },
      { type: "message_chunk", content: `answer ${turn}`, id: "think" },
      { type: "node_exit", id: "think", result: "Ok" },
      { type: "run_end", status: "completed", first_event_id: after + 1, last_event_id: after + 6, frame_count: 6 },
      { type: "reply", reply: `answer ${turn}` },
    ];
    records.push(...createRecords(events, { run, after }));
  }
  return records;
}

/** Tool arguments of at least as many characters: a list of small objects. */
export function writeListArguments(characters: number): string {
  const rows: string[] = [];
  for (let length = 0, i = 0; length < characters; i++) {
    const row = `{"id":${i},"name":"row ${i}","note":"some text that is a little longer"}`;
    rows.push(row);
    length += row.length + 1;
  }
  return `{"rows":[${rows.join(",")}]}`;
}

/** Tool arguments with one long string, such as a file to write. */
export function writeFileArguments(characters: number): string {
  return JSON.stringify({
    path: "notes.md",
    content: "All work and no play makes a long file. ".repeat(characters / 40),
  });
}

export function cutText(text: string, size: number): string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size));
}

/** A stream that has all values from the start. */
export const streamOf = <T>(values: readonly T[]): ReadableStream<T> =>
  new ReadableStream({
    start(controller) {
      for (const value of values) controller.enqueue(value);
      controller.close();
    },
  });
