/**
 * Generates everything that is derived from the declarations: types, forms, rule tables, JSON Schemas, OpenAPI and the
 * tables in the documentation. With `--check` it writes nothing and fails if a file is out of date.
 */
import { ENGINE_FRAMES } from "../src/dialects/engine/frames.ts";
import { ENGINE_RULES } from "../src/dialects/engine/rules.ts";
import { LUMINE_FRAMES } from "../src/dialects/lumine/frames.ts";
import { LUMINE_RULES } from "../src/dialects/lumine/rules.ts";
import { STREAM_EVENT_FRAMES } from "../src/dialects/stream-event/frames.ts";
import { STREAM_EVENT_RULES } from "../src/dialects/stream-event/rules.ts";
import { DOWN_FRAMES, UP_FRAMES } from "../src/protocol/control/frames.ts";
import { ENVELOPE } from "../src/protocol/envelope.ts";
import { EVENTS } from "../src/protocol/events/index.ts";
import { FRAME_RULES } from "../src/protocol/frame-rules.ts";
import { API_SHAPES } from "../src/server/api/shapes.ts";
import { emitCode } from "./generate/emit-code.ts";
import { emitRuleInfo } from "./generate/emit-rule-info.ts";
import { emitShapes } from "./generate/emit-shapes.ts";
import { GeneratedFiles } from "./generate/write-files.ts";

const checkOnly = process.argv.includes("--check");
const files = new GeneratedFiles(checkOnly);

files.write(
  "src/protocol/events.generated.ts",
  emitCode({
    union: "LoomEvent",
    shapes: EVENTS,
    untagged: { Envelope: ENVELOPE },
    suffix: "Event",
    protocolPath: ".",
    readers: {
      message_chunk: [],
      reasoning_chunk: ["id"],
      tool_call_chunk: ["call_id", "name"],
      tool_output: ["call_id"],
    },
  }),
);
const frames = {
  engine: { union: "EngineFrame", shapes: ENGINE_FRAMES },
  lumine: { union: "LumineFrame", shapes: LUMINE_FRAMES },
  "stream-event": { union: "StreamEventFrame", shapes: STREAM_EVENT_FRAMES },
};
for (const [dialect, request] of Object.entries(frames)) {
  const code = emitCode({ ...request, suffix: "Frame", protocolPath: "../../protocol" });
  files.write(`src/dialects/${dialect}/frames.generated.ts`, code);
}
const rules = {
  "src/protocol/frame-rules.generated.ts": ["FRAME", FRAME_RULES, "."],
  "src/dialects/engine/rules.generated.ts": ["ENGINE", ENGINE_RULES, "../../protocol"],
  "src/dialects/lumine/rules.generated.ts": ["LUMINE", LUMINE_RULES, "../../protocol"],
  "src/dialects/stream-event/rules.generated.ts": ["STREAM_EVENT", STREAM_EVENT_RULES, "../../protocol"],
} as const;
for (const [path, [name, table, protocolPath]] of Object.entries(rules))
  files.write(path, emitRuleInfo(name, table, protocolPath));
const control = {
  up: { union: "UpFrame", shapes: UP_FRAMES },
  down: { union: "DownFrame", shapes: DOWN_FRAMES },
};
for (const [direction, request] of Object.entries(control)) {
  const code = emitCode({ ...request, suffix: "Control", protocolPath: ".." });
  files.write(`src/protocol/control/${direction}.generated.ts`, code);
}
files.write("src/server/api/shapes.generated.ts", emitShapes(API_SHAPES, "../../protocol"));

// Imported here because these modules need the files written above.
const { DIALECTS, dialectSchema } = await import("../src/dialects/index.ts");
const { LIFECYCLE_RULES } = await import("../src/protocol/index.ts");
const docs = await import("./generate/emit-docs.ts");

for (const dialect of Object.values(DIALECTS)) {
  files.write(`spec/schema/${dialect.name}.schema.json`, `${JSON.stringify(dialectSchema(dialect), null, 2)}\n`);
  const page = `docs/dialects/${dialect.name}.md`;
  files.writeSection(page, "ledger", docs.ledgerTable(dialect));
  if (dialect.frames !== undefined) files.writeSection(page, "frames", docs.frameSections(dialect.frames));
  if (Object.keys(dialect.rules).length > 0) files.writeSection(page, "rules", docs.ruleTable(dialect.rules, "en"));
}
files.writeSection("docs/control.md", "up", docs.frameSections(UP_FRAMES));
files.writeSection("docs/control.md", "down", docs.frameSections(DOWN_FRAMES));
const { settingsTable } = await import("../src/cli/serve/serve-command.ts");
files.writeSection("docs/configuration.md", "settings", settingsTable());
for (const [page, language] of [
  ["docs/protocol.md", "en"],
  ["docs/protocol.zh.md", "zh"],
] as const) {
  files.writeSection(page, "envelope", docs.envelopeTable(language));
  files.writeSection(page, "events", docs.eventSections(language, "specified"));
  files.writeSection(page, "events-ours", docs.eventSections(language, "extension"));
  files.writeSection(page, "rules-frames", docs.ruleTable(FRAME_RULES, language));
  files.writeSection(page, "rules-life-cycle", docs.ruleTable(LIFECYCLE_RULES, language));
}

// Last, because the operations need all other generated files.
const { OPERATIONS } = await import("../src/server/endpoints/operations.ts");
const { describeApi } = await import("../src/server/api/describe-api.ts");
const { readPackageVersion } = await import("../src/server/read-package-version.ts");
const api = describeApi(OPERATIONS, { basePath: "", version: readPackageVersion() });
files.write("spec/openapi.json", `${JSON.stringify(api, null, 2)}\n`);

if (files.stale.length > 0) {
  const verb = checkOnly ? "out of date, run `npm run generate`:" : "written:";
  process.stdout.write(`${verb}\n${files.stale.map((path) => `  ${path}`).join("\n")}\n`);
  if (checkOnly) process.exitCode = 1;
}
