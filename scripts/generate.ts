/**
 * Generates everything that is derived from the declarations: types, forms, JSON Schemas, OpenAPI, the tables in the
 * documentation and the reports of the public API. With `--check` it writes nothing and fails if a file is out of date.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { DIALECT_NAMES, FRAME_TAG_FIELDS } from "../src/dialects/dialect.ts";
import { DOWN_FRAMES, UP_FRAMES } from "../src/protocol/control/frames.ts";
import { ENVELOPE } from "../src/protocol/envelope.ts";
import { EVENTS } from "../src/protocol/events/index.ts";
import { FRAME_RULES } from "../src/protocol/rules.ts";
import type { Shape } from "../src/protocol/schema.ts";
import { API_SHAPES } from "../src/server/api/shapes.ts";
import { emitApiReports } from "./generate/emit-api-report.ts";
import { constantCase, emitCode, pascalCase } from "./generate/emit-code.ts";
import { emitShapes } from "./generate/emit-shapes.ts";
import { readEntryPoints } from "./generate/read-public-api.ts";
import { GeneratedFiles, ROOT } from "./generate/write-files.ts";

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
// By convention, `frames.ts` of `stream-event` exports STREAM_EVENT_FRAMES.
for (const name of DIALECT_NAMES) {
  const folder = `src/dialects/${name}`;
  const constant = constantCase(pascalCase(name));
  const shapes = await importIfPresent<{ readonly [tag: string]: Shape }>(`${folder}/frames.ts`, `${constant}_FRAMES`);
  if (shapes === undefined) continue;
  const tagField = FRAME_TAG_FIELDS[name] ?? "type";
  const request = {
    union: `${pascalCase(name)}Frame`,
    shapes,
    suffix: "Frame",
    protocolPath: "../../protocol",
    tagField,
  };
  files.write(`${folder}/frames.generated.ts`, emitCode(request));
}
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
const { DIALECTS } = await import("../src/dialects/index.ts");
const { dialectSchema } = await import("../src/dialects/schemas.ts");
const { LIFECYCLE_RULES } = await import("../src/protocol/verify/lifecycle-rules.ts");
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
const { clientSettingsTable, limitsTable, settingsTable } = await import("./generate/emit-settings.ts");
files.writeSection("docs/configuration.md", "settings", settingsTable());
files.writeSection("docs/configuration.md", "limits", limitsTable());
files.writeSection("docs/configuration.md", "client-settings", clientSettingsTable());
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
const { OPERATIONS } = await import("../src/server/operations.ts");
const { describeApi } = await import("../src/server/api/describe-api.ts");
const { readPackageVersion } = await import("../src/server/read-package-version.ts");
const api = describeApi(OPERATIONS, { basePath: "", version: readPackageVersion() });
files.write("spec/openapi.json", `${JSON.stringify(api, null, 2)}\n`);
for (const [section, tags] of Object.entries({
  auth: ["auth"],
  runs: ["runs"],
  commands: ["commands"],
  sessions: ["sessions", "checkpoints"],
  agents: ["agents"],
  knowledge: ["knowledge"],
  others: ["blobs", "ingest", "server"],
}))
  // The page describes how to send a message before these tables.
  files.writeSection(
    "docs/http.md",
    section,
    docs.endpointTable(OPERATIONS.filter(({ tag, body }) => tags.includes(tag) && body !== "StartRun")),
  );
files.writeSection("docs/http.md", "message", docs.fieldTable("StartRun"));
files.writeSection("docs/http.md", "reading", docs.fieldTable("ReadEvents"));
files.writeSection("docs/http.md", "fork", docs.fieldTable("ForkSession"));

for (const [name, report] of await emitApiReports(readEntryPoints())) files.write(`spec/api/${name}.md`, report);

if (files.stale.length > 0) {
  const verb = checkOnly ? "out of date, run `npm run generate`:" : "written:";
  process.stdout.write(`${verb}\n${files.stale.map((path) => `  ${path}`).join("\n")}\n`);
  if (checkOnly) process.exitCode = 1;
}

/** Imports a constant of a file; undefined if there is no such file. */
async function importIfPresent<T>(path: string, constant: string): Promise<T | undefined> {
  const file = join(ROOT, path);
  if (!existsSync(file)) return undefined;
  const module = (await import(pathToFileURL(file).href)) as { readonly [name: string]: T };
  const value = module[constant];
  if (value === undefined) throw new Error(`${path} must export ${constant}`);
  return value;
}
