// Bad arguments of the command line: commands, options and their values, files and sessions.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { folder, loom, writeInput } from "../cli-run.ts";
import type { BadInputs } from "./describe-refusal.ts";

const START = '{"session_id":"s","event_id":1,"ts":1,"type":"run_start","run_id":"r","contiguous":true}\n';
const STORE = join(folder, "bad-inputs", "store.db");

/** Options that keep a command from the store, the agents and the server of the environment. */
const ENV = {
  LOOM_STORE: STORE,
  LOOM_AGENTS: "",
  LOOM_MODEL: "",
  LOOM_KB: "none",
  LOOM_SERVER: "",
  OPENAI_API_KEY: "",
};

/** The store has one session, `s`. */
let ready: Promise<unknown> | undefined;
function prepare(): Promise<unknown> {
  const end = '{"session_id":"s","event_id":2,"ts":2,"type":"run_end","run_id":"r","status":"completed"}';
  const input = `${START}${end}\n`;
  return (ready ??= loom(["sessions", "import", "-"], { input, env: ENV, isInProcess: true }));
}

/** Runs `loom` with the words of a line. A word in quotes may contain spaces, and a path begins with `FOLDER`. */
const of =
  (line: string, input = "") =>
  async (): Promise<string | undefined> => {
    const args = [...line.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) =>
      (quoted ?? word).replace("FOLDER", folder),
    );
    await prepare();
    const { code, out, err } = await loom(args, { input, env: ENV, isInProcess: true });
    if (code === 0) return undefined;
    return [`exit code ${code}`, out, err].flatMap((text) => (text === "" ? [] : [text.trimEnd()])).join("\n");
  };

/** By line, so that the golden file reads like a terminal. */
function ofLines(lines: readonly string[], input?: string): BadInputs {
  return Object.fromEntries(lines.map((line) => [`loom ${line}`, of(line, input)]));
}

mkdirSync(join(folder, "bad-inputs"), { recursive: true });
writeInput("text.db", "Not a database. ".repeat(100));
writeInput("agents.mjs", "export default 7;\n");
writeInput("broken.mjs", "export default {\n");
writeInput("mcp-list.json", '{"mcpServers": []}');
writeInput("settings.json", '{"port": "many", "max-body": "1MB", "prt": 1}');
writeInput("unknown.json", '{"prt": 1}');
writeInput("list.json", "[]");

export const COMMAND_INPUTS: BadInputs = {
  ...ofLines([
    "chekc",
    "--verison",
    "tail s",
    "help chekc",
    "--nope",
    "check --nope",
    "check -x",
    "check --strict",
    "check --dialect",
    "check --dialect --json",
    "check --dialect=",
    "check --json=yes",
    "check --dialect lom",
    "check --framing xml",
    "check --max-line 0",
    "check --max-line 8k",
    "check --max-line 1e3",
    "check --max-line 99999999999",
    "check FOLDER/nowhere",
    "check FOLDER",
    "check a b",
    "check --schema toString",
    "check --schema message_chunk --dialect engine",
    "check --schema --dialect auto",
    "check --schema a b",
    "check --schema --frames",
    "convert",
    "convert --to auto",
    "convert --to nope",
    "convert --to engine --strict",
    "convert --to export --no-envelope",
    "convert --to loom --session=",
    "convert --from nope --to loom",
    "run",
    'run ""',
    "run Hi --agent reactt",
    "run Hi --set tot.beem=5",
    "run Hi --agent tot --set tot.beam=many",
    "run Hi --agent tot --set tot.beam=3000",
    "run Hi --agent tot --set tot.search=deep",
    "run Hi --agent tot --set tot.search=depth,tot.beam=3",
    "run Hi --set tut.beam=5",
    "run Hi --set beam",
    "run Hi --agent react --set tot.beam=5",
    "run Hi --beam 5",
    "run Hi --model nowhere/model",
    "run Hi --model gpt-5",
    "run Hi --model openai/gpt-5",
    "run Hi --base-url ftp://127.0.0.1 --model a/b",
    "run Hi --reasoning lots",
    "run Hi --approve maybe",
    "run Hi --agents FOLDER/nowhere.mjs",
    "run Hi --agents FOLDER/agents.mjs",
    "run Hi --agents FOLDER/broken.mjs",
    "run Hi --mcp FOLDER/nowhere.json",
    "run Hi --mcp FOLDER/mcp-list.json",
    "run Hi --workspace FOLDER/nowhere",
    "run Hi --kb FOLDER/nowhere.db",
    "run Hi --retrieve --kb none",
    "run Hi --modes state --json",
    "run Hi --modes all",
    "run --resume",
    "run --resume --session none",
    "run --resume --session s",
    "run Hi --resume --session s",
    "run Hi --server ftp://127.0.0.1",
    "run Hi --server http://127.0.0.1:1",
    "run Hi --server http://127.0.0.1:1 --model openai",
    "run Hi --token-file FOLDER/nowhere --server http://127.0.0.1:1",
    "run Hi --store FOLDER/text.db",
    "chat none",
    "chat --continue --agent reactt",
    "sessions lst",
    "sessions list --limit many",
    "sessions list --store FOLDER/nowhere.db",
    "sessions list --store FOLDER/text.db",
    "sessions delete",
    "sessions delete none --yes",
    "sessions delete --owner alice",
    "sessions export none",
    "sessions import FOLDER/nowhere",
    "sessions fork none",
    "sessions fork s --before none",
    "sessions fork s --checkpoint none",
    "sessions runs none",
    "sessions rename s",
    "sessions rename none title",
    "show none",
    "show",
    "show none --speed fast",
    "show s --after abc",
    "show s --after 99",
    "show FOLDER/nowhere.ndjson --dialect loom",
    "show none --follow --speed 2",
    "ingest s --dialect lom",
    "cancel none",
    "cancel s --run none",
    "approve none",
    "approve s",
    "kb add FOLDER/nowhere --kb FOLDER/new.db",
    "kb search a --kb FOLDER/nowhere.db",
    "kb search a --kb FOLDER/text.db",
    "kb serch a",
    "token create",
    'token create "a b " --store FOLDER/bad-inputs/store.db',
    "token create laptop --scopes wite",
    "token create laptop --expires soon",
    "token create laptop --limits max-run=2",
    "token create laptop --limits max-runs=0",
    "token create laptop --tools rm=perhaps",
    "token revoke none",
    "store status --store FOLDER/text.db",
    "store copy --store FOLDER/nowhere.db --to FOLDER/copy.db",
    "store backup",
    "store restore FOLDER/nowhere",
    "store verify FOLDER/nowhere",
    "serve --port many",
    "serve --port 99999",
    "serve --prt 80",
    "serve --host a.example.com --store FOLDER/bad-inputs/served.db",
    "serve --config FOLDER/nowhere.json",
    "serve --config FOLDER/settings.json",
    "serve --config FOLDER/unknown.json",
    "serve --config FOLDER/list.json",
    "serve --limits max-bod=1MB",
    "serve --limits max-body=much",
    "serve --max-body 1MB",
    "serve --caps tot.thoughts=5",
    "serve --retention-age soon",
    "serve --log-level loud",
    "serve --trusted-proxies everything",
    "init FOLDER --template none",
    "models nowhere",
    "models --base-url http://127.0.0.1:1",
    "completion tcsh",
  ]),
  "loom check (no input)": of("check"),
  "loom check (an unrelated object)": of("check", '{"level":"info"}\n'),
  "loom check (an array)": of("check", `[${START.trim()}]`),
  "loom check --json (a line that is not JSON)": of("check --json", `${START}{"a":\n`),
  "loom check (a field of another type)": of(
    "check",
    `${START}{"session_id":"s","event_id":2,"run_id":"r","type":"reply","reply":7}\n`,
  ),
  "loom convert --to loom (a line that is not JSON)": of("convert --to loom", `${START}nonsense\n`),
  "loom ingest s (a line that is not JSON)": of("ingest s --dialect loom", `${START}nonsense\n`),
  "loom sessions import (a record that is missing)": of(
    "sessions import -",
    `${START}${START.replace('"event_id":1', '"event_id":3')}`,
  ),
};
