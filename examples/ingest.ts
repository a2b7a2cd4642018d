// Sends the run of an agent that does not use Loom to a Loom server, while it happens. Any client can follow it there.
//
//   npx loom serve
//   npx node examples/ingest.ts [URL]
import { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";

const [url = "http://127.0.0.1:10338"] = process.argv.slice(2);

/** The other agent: it writes one JSON object per line, here in the dialect `loom`. */
async function* runAgent() {
  const write = (frame: object) => Buffer.from(`${JSON.stringify(frame)}\n`);
  yield write({ type: "run_start", run_id: "r1", message: "What is 6 × 7?", agent: "calculator" });
  for (const content of ["6 × 7 ", "is ", "42."]) {
    yield write({ type: "message_chunk", content, id: "answer", run_id: "r1" });
    await pause(100);
  }
  yield write({ reply: "6 × 7 is 42.", run_id: "r1" });
}

const session = `ingested-${Date.now()}`;
const response = await fetch(`${url}/v1/sessions/${session}/ingest?dialect=loom`, {
  method: "POST",
  headers: { "content-type": "application/x-ndjson" },
  body: Readable.toWeb(Readable.from(runAgent())),
  duplex: "half",
} as RequestInit);
const { runs, error } = (await response.json()) as {
  readonly runs?: readonly { readonly status: string }[];
  readonly error?: { readonly message: string };
};
if (runs === undefined) throw new Error(error?.message ?? `HTTP ${response.status}`);
console.log(runs.map(({ status }) => status).join(", "));
console.log(`${url}/?session=${session}`);
