// An AG-UI client loses its connection while a run asks for approvals, and another client answers them. Wherever the
// first client was cut, it receives the rest, and its run starts and ends in turn.
import { expect, it } from "vitest";
import type { JsonObject } from "../../src/protocol/index.ts";
import { createServerFixture, readSse, type SseEvent } from "../server/server-fixture.ts";

const CALLS = ["t1", "t2"].map((id) => ({ name: "remove", input: { path: id }, id }));
const SCRIPT = [
  { text: "I remove both.", calls: CALLS },
  { text: "Done.", chunk: 2 },
];

const typeOf = ({ data }: SseEvent): string => (JSON.parse(data) as JsonObject)["type"] as string;

/** Fails unless every run has a start and an end, and everything else is between them. */
function expectInTurn(types: readonly string[]): void {
  let isStarted = false;
  for (const [index, type] of types.entries()) {
    expect([index, types, isStarted]).toEqual([index, types, type !== "RUN_STARTED"]);
    isStarted = type !== "RUN_FINISHED";
  }
  expect(isStarted).toBe(false);
}

it("continues a run that another client has answered, wherever it was cut", async () => {
  const { fetch } = await createServerFixture({ script: SCRIPT });
  const run = async (body: object, cursor?: string): Promise<readonly SseEvent[]> => {
    const headers = {
      "content-type": "application/json",
      ...(cursor === undefined ? {} : { "last-event-id": cursor }),
    };
    const messages = [{ id: "u", role: "user", content: "Remove both" }];
    const input = { threadId: "t", protocolVersion: "1.0", messages, ...body };
    return readSse(await fetch("/ag-ui", { method: "POST", headers, body: JSON.stringify(input) }));
  };
  const first = await run({ runId: "r1" });
  const resume = CALLS.map(({ id }) => ({ interruptId: id, status: "resolved", payload: true }));
  const rest = await run({ runId: "r2", resume });
  const end = rest.slice(1, -1).map(({ data }) => data);
  for (const [index, { id }] of first.entries()) {
    const had = first.slice(0, index + 1);
    const received = await run({ runId: "r1" }, id);
    expectInTurn([...had, ...received].map(typeOf));
    // Everything after the answers, as the other client has received it.
    expect(received.map(({ data }) => data).slice(-end.length - 1, -1)).toEqual(end);
  }
});
