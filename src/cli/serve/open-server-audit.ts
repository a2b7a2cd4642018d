/** The audit log of `loom serve`: a file or standard output, with an entry when the server starts and stops. */
import type { Audit, AuditEntry, AuditTarget } from "../../server/auth/audit/auditor.ts";
import { createAuditFile } from "../../server/auth/audit/create-audit-file.ts";
import { CliError } from "../command.ts";
import { formatJson } from "../fit-text.ts";
import { NONE } from "./setting.ts";
import type { Settings } from "./settings.ts";
import type { Terminal } from "../terminal.ts";

export interface ServerAudit {
  readonly write: Audit;
  /** Records that old runs were deleted. */
  recordPruned(deleted: { readonly runs: number; readonly bytes: number }): void;
  close(): Promise<void>;
}

/** Returns undefined if there is no audit log. Throws a CliError if it cannot be written. */
export async function openServerAudit(
  settings: Pick<Settings, "audit-log" | "audit-log-bytes" | "audit-log-files" | "audit-required">,
  terminal: Terminal,
  { hasAuth }: { readonly hasAuth: boolean },
): Promise<ServerAudit | undefined> {
  const { "audit-log": file = NONE, "audit-log-bytes": maxBytes, "audit-log-files": maxFiles } = settings;
  if (file === NONE) {
    if (settings["audit-required"])
      throw new CliError("audit-required: there is no audit log", "set `--audit-log FILE` or LOOM_AUDIT_LOG");
    return undefined;
  }
  const write: Audit =
    file === "stdout" ? (entry) => terminal.write(formatJson(entry)) : createAuditFile(file, { maxBytes, maxFiles });
  try {
    await write(createEntry("server.start", { authentication: hasAuth ? "on" : "off" }));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CliError(`audit-log: cannot write ${file}: ${why}`, "choose another file with `--audit-log`");
  }
  const record = async (entry: AuditEntry): Promise<void> => {
    try {
      await write(entry);
    } catch (error) {
      terminal.warn(`audit-log: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  return {
    write,
    recordPruned: ({ runs, bytes }) => void record(createEntry("runs.prune", { runs, bytes })),
    close: () => record(createEntry("server.stop")),
  };
}

function createEntry(action: AuditEntry["action"], target?: AuditTarget): AuditEntry {
  const entry = { time: new Date().toISOString(), action, outcome: "done", actor: "server" };
  return target === undefined ? entry : { ...entry, target };
}
