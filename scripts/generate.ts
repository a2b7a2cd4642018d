/**
 * Derives everything that follows from the declarations: types and validators, JSON Schemas, tables of the docs.
 * `--check` writes nothing and fails when a file is out of date.
 */
import { ENVELOPE } from "../src/protocol/envelope.ts";
import { EVENTS } from "../src/protocol/events/index.ts";
import { ENGINE_FRAMES } from "../src/dialects/engine/frames.ts";
import { LUMINE_FRAMES } from "../src/dialects/lumine/frames.ts";
import { STREAM_EVENT_FRAMES } from "../src/dialects/stream-event/frames.ts";
import { emitCode } from "./generate/emit-code.ts";
import { GeneratedFiles } from "./generate/write-files.ts";

const files = new GeneratedFiles(process.argv.includes("--check"));

files.write(
  "src/protocol/events.generated.ts",
  emitCode({
    union: "LoomEvent",
    shapes: EVENTS,
    untagged: { Envelope: ENVELOPE },
    suffix: "Event",
    protocolPath: ".",
    builders: true,
  }),
);
const protocolPath = "../../protocol";
files.write(
  "src/dialects/engine/frames.generated.ts",
  emitCode({ union: "EngineFrame", shapes: ENGINE_FRAMES, suffix: "Frame", protocolPath }),
);
files.write(
  "src/dialects/lumine/frames.generated.ts",
  emitCode({ union: "LumineFrame", shapes: LUMINE_FRAMES, suffix: "Frame", protocolPath }),
);
files.write(
  "src/dialects/stream-event/frames.generated.ts",
  emitCode({ union: "StreamEventFrame", shapes: STREAM_EVENT_FRAMES, suffix: "Frame", protocolPath }),
);

if (files.stale.length > 0) {
  const verb = process.argv.includes("--check") ? "out of date, run `npm run generate`:" : "written:";
  console.log(`${verb}\n${files.stale.map((path) => `  ${path}`).join("\n")}`);
  if (process.argv.includes("--check")) process.exitCode = 1;
}
