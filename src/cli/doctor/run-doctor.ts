/** `loom doctor`: checks everything that a server needs, and prints one finding per line. */
import { arch, platform } from "node:os";
import { DatabaseSync } from "node:sqlite";
import { createPage } from "../../server/pages/create-page.ts";
import { readPackageVersion } from "../../server/read-package-version.ts";
import { CliError, type ParsedCommand } from "../command.ts";
import { collectDatabaseOptions } from "../database-settings.ts";
import { findStore } from "../find-store.ts";
import { cleanText, formatJson, wrapText } from "../fit-text.ts";
import { loadAgents } from "../load-agents.ts";
import { type ReadSettings, readSettings } from "../serve/read-settings.ts";
import type { Terminal } from "../terminal.ts";
import { checkModels } from "./check-models.ts";
import { checkPort } from "./check-port.ts";
import { checkStore } from "./check-store.ts";
import { type DoctorFinding, report } from "./doctor-finding.ts";

/** A database that is away is reported after this time, in milliseconds. */
const DATABASE_WAIT_MS = 5000;

export async function runDoctor(parsed: ParsedCommand, terminal: Terminal, env = process.env): Promise<number> {
  let hasFailed = false;
  for await (const finding of listFindings(parsed, env)) {
    hasFailed ||= finding.status === "failed";
    await terminal.write(parsed.options["json"] === true ? formatJson(finding) : format(finding, terminal));
  }
  return hasFailed ? 1 : 0;
}

async function* listFindings(parsed: ParsedCommand, env: NodeJS.ProcessEnv): AsyncGenerator<DoctorFinding> {
  yield describeVersions();
  yield await checkPage();
  let settings: ReadSettings;
  try {
    settings = readSettings(parsed, env);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    yield report("settings", "failed", error.message, error.hint);
    return;
  }
  yield* describeSettings(settings);
  const { values } = settings;
  try {
    const options = { ...collectDatabaseOptions(values), waitMs: DATABASE_WAIT_MS };
    yield* await checkStore(values.store ?? findStore(env), options);
  } catch (error) {
    // The URL of another kind of database, or `:memory:`.
    if (!(error instanceof CliError)) throw error;
    yield report("store", "failed", error.message, error.hint);
  }
  yield await checkPort(values.host, values.port);
  if (values.agents !== undefined) yield await checkAgents(values.agents);
  yield* await checkModels(values.model, env);
}

function describeVersions(): DoctorFinding {
  const database = new DatabaseSync(":memory:");
  const row = database.prepare("select sqlite_version() as version").get();
  database.close();
  const versions = [
    `loom ${readPackageVersion()}`,
    `Node ${process.versions.node}`,
    `SQLite ${String(row?.["version"])}`,
  ];
  return report("versions", "ok", [...versions, `${platform()} ${arch()}`].join(", "));
}

async function checkPage(): Promise<DoctorFinding> {
  const { status } = await createPage()(new Request("http://localhost/"));
  if (status === 200) return report("page", "ok", "built");
  return report("page", "failed", "not built", "run `npm run build:page` in the checkout");
}

function* describeSettings({ file, warnings }: ReadSettings): Generator<DoctorFinding> {
  for (const message of warnings) yield report("settings", "warning", message);
  if (warnings.length === 0) yield report("settings", "ok", file ?? "environment and defaults");
}

async function checkAgents(file: string): Promise<DoctorFinding> {
  try {
    const names = Object.keys(await loadAgents(file));
    return report("agents", "ok", `${file}: ${names.join(", ")}`);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return report("agents", "failed", error.message, error.hint);
  }
}

const COLOURS = { ok: "green", warning: "yellow", failed: "red" } as const;
const INDENT = " ".repeat(19);

function format({ check, status, message, advice }: DoctorFinding, terminal: Terminal): string {
  const width = (terminal.columns ?? Number.POSITIVE_INFINITY) - INDENT.length;
  const lines = [message, ...(advice === undefined ? [] : [`→ ${advice}`])].map((line) =>
    wrapText(cleanText(line), width, INDENT),
  );
  return `${terminal.style(COLOURS[status], status.padEnd(7))}  ${check.padEnd(8)}  ${lines.join(`\n${INDENT}`)}\n`;
}
