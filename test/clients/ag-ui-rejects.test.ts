// Sends each stream of the reject corpus of `ag-ui` to the real clients: what `loom check` reports as an error is refused by
// at least one of them, unless the table says why not.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { VECTORS } from "../vectors.ts";
import { VERSIONS } from "./ag-ui-fixture.ts";

interface Reject {
  readonly name: string;
  readonly mode: "frame" | "stream";
  readonly frames: readonly { readonly type?: string }[];
  readonly expect: readonly { readonly level: "error" | "warning" }[];
}

const REJECTS = JSON.parse(readFileSync(join(VECTORS, "rejects", "ag-ui.json"), "utf8")) as readonly Reject[];
const STARTED = { type: "RUN_STARTED", threadId: "t", runId: "r" };
const FINISHED = { type: "RUN_FINISHED", threadId: "t", runId: "r" };

/** Errors that both clients accept, and why they are errors. */
const DROPPED = "both clients drop the whole patch with a warning, so their state is wrong from then on";
const ACCEPTED: { readonly [name: string]: string } = {
  "ag-ui-state-patch-op": DROPPED,
  "ag-ui-patch-path-missing": DROPPED,
  "ag-ui-patch-parent-missing": DROPPED,
  "ag-ui-patch-index": DROPPED,
  "ag-ui-patch-remove-missing": DROPPED,
  "ag-ui-patch-move-missing": DROPPED,
  "ag-ui-patch-test": DROPPED,
  "ag-ui-patch-prototype": DROPPED,
  "ag-ui-activity-patch": DROPPED,
};

/** Warnings that both clients refuse, and why they are only warnings. */
const REFUSED: { readonly [name: string]: string } = {
  "ag-ui-thinking-type": "the frame is alone, so its message is open at the end; clients of 1.0 accept a whole one",
};

/** A single frame is sent inside a run. */
function complete({ mode, frames }: Reject): readonly object[] {
  const type = frames[0]?.type;
  if (mode === "stream") return frames;
  const before = type === "RUN_STARTED" ? [] : [STARTED];
  return [...before, ...frames, ...(type === "RUN_FINISHED" || type === "RUN_ERROR" ? [] : [FINISHED])];
}

/** Returns whether the client takes the stream without an error. */
async function isAccepted(Agent: (typeof VERSIONS)[number][1], frames: readonly object[]): Promise<boolean> {
  const body = frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join("");
  const answer = () => Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  const client = new Agent({ url: "http://127.0.0.1/", threadId: "t", fetch: answer });
  client.fetch = answer;
  let isError = false;
  try {
    await client.runAgent({}, { onRunFailed: () => void (isError = true) });
    return !isError;
  } catch {
    return false;
  }
}

test.each(REJECTS.map((reject) => [reject.name, reject] as const))("clients refuse %s", async (name, reject) => {
  const noise = [vi.spyOn(console, "error"), vi.spyOn(console, "warn")];
  for (const spy of noise) spy.mockReturnValue();
  onTestFinished(() => noise.forEach((spy) => spy.mockRestore()));
  const verdicts = [];
  for (const [, Agent] of VERSIONS) verdicts.push(await isAccepted(Agent, complete(reject)));
  const [isNewAccepted] = verdicts;
  // A warning is for clients before 1.0, or for readers of the log.
  if (reject.expect.every(({ level }) => level === "warning")) expect(isNewAccepted).toBe(REFUSED[name] === undefined);
  else expect(verdicts.every((verdict) => verdict)).toBe(ACCEPTED[name] !== undefined);
  if (ACCEPTED[name] !== undefined) expect(noise[1]).toHaveBeenCalled();
});
