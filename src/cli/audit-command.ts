/** Records what a command of `loom` does in the audit log, if `--audit-log` or LOOM_AUDIT_LOG names one. */
import { userInfo } from "node:os";
import {
  type AuditAction,
  type Auditor,
  type AuditSource,
  type AuditTarget,
  createAuditor,
  NO_AUDIT,
  type NoteAudit,
} from "../server/auth/audit/auditor.ts";
import { createAuditFile } from "../server/auth/audit/create-audit-file.ts";
import { type ParsedCommand, textOption } from "./command.ts";
import type { Terminal } from "./terminal.ts";

export const AUDIT_LOG_OPTION = {
  "audit-log": { value: "FILE", about: "audit log to append to (default: $LOOM_AUDIT_LOG, or none)" },
} as const;

/** Values of `audit-log` that are not files. */
export const AUDIT_WORDS = ["none", "stdout"] as const;

/**
 * Runs `act` and records its outcome. An audit log that cannot be written causes a warning; the command is executed
 * regardless.
 */
export async function auditCommand<T>(
  { parsed, terminal }: { readonly parsed: ParsedCommand; readonly terminal: Terminal },
  about: { readonly action: AuditAction; readonly target?: AuditTarget },
  act: (note: NoteAudit) => Promise<T> | T,
): Promise<T> {
  const file = textOption(parsed, "audit-log") ?? process.env["LOOM_AUDIT_LOG"];
  const auditor = file === undefined || file === "" || isAuditWord(file) ? NO_AUDIT : openAuditor(file, terminal);
  try {
    return await auditor.run({ ...about, source: describeUser() }, act);
  } finally {
    await auditor.close();
  }
}

function isAuditWord(text: string): boolean {
  return AUDIT_WORDS.some((word) => word === text);
}

function openAuditor(file: string, terminal: Terminal): Auditor {
  const onError = ({ message, cause }: Error): void =>
    terminal.warn(`${message}: ${cause instanceof Error ? cause.message : file}`);
  return createAuditor({ audit: createAuditFile(file), onError });
}

function describeUser(): AuditSource {
  try {
    return { actor: `cli:${userInfo().username}` };
  } catch {
    // The user has no entry in the user database, as in some containers.
    return { actor: `cli:${process.getuid?.() ?? "unknown"}` };
  }
}
