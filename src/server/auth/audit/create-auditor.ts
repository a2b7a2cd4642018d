/**
 * Creates the auditor of a server: removes secrets from entries, sums up repeated refusals, and reports entries that
 * cannot be written.
 *
 * Invariants:
 * - No refused request can fill the log: the first refusal of a kind is written at once, further ones of the same
 *   action, code, credential and address as one line per minute. Kinds beyond `MAX_KINDS` share a line per action.
 * - The number of entries in progress is limited.
 */
import { createRedactor } from "../../../observe/logs/create-redactor.ts";
import { shield } from "../../../observe/shield.ts";
import { isLoomError, LoomError } from "../../../protocol/index.ts";
import { addressKeyOf } from "../limits/failures.ts";
import type { Audit, AuditEntry, AuditTarget } from "./audit-actions.ts";
import type { AuditedAction, Auditor, NoteAudit } from "./auditor.ts";

export interface AuditorOptions {
  readonly audit: Audit;
  /** Refuse actions that cannot be recorded. Default: false. */
  readonly isRequired?: boolean | undefined;
  /** Receives the errors of `audit`, at most one per minute. */
  readonly onError: (error: LoomError) => void;
  /** Called for each entry that could not be written. */
  readonly onFailure?: (() => void) | undefined;
  readonly now?: (() => number) | undefined;
}

/** A kind of refusal, and how often it was repeated. */
interface Repeated {
  readonly entry: AuditEntry;
  count: number;
}

const MINUTE_MS = 60_000;
const CLOSE_MS = 5000;
/** Kinds of refusals remembered per minute. */
const MAX_KINDS = 100;
/** Entries in progress. */
const MAX_PENDING = 1000;
/** Characters of one field. */
const MAX_TEXT = 200;
/** Outcomes that are never summed up. */
const OUTCOMES: ReadonlySet<string> = new Set(["done", "started", "pending"]);
const redactor = createRedactor();

export function createAuditor(options: AuditorOptions): Auditor {
  const { audit, isRequired = false, onError, onFailure, now = Date.now } = options;
  const repeated = new Map<string, Repeated>();
  const pending = new Set<Promise<boolean>>();
  const lost = { count: 0, reportedAt: -Infinity };
  let timer: NodeJS.Timeout | undefined;

  function fail(cause: unknown): false {
    lost.count += 1;
    if (onFailure !== undefined) shield(onFailure, () => undefined);
    if (now() - lost.reportedAt < MINUTE_MS) return false;
    onError(new LoomError("audit_failed", "The audit log cannot be written", { lost_entries: lost.count }, { cause }));
    Object.assign(lost, { count: 0, reportedAt: now() });
    return false;
  }

  /** Resolves to false if the entry is lost. Never rejects. */
  function write(entry: AuditEntry): Promise<boolean> {
    if (pending.size >= MAX_PENDING)
      return Promise.resolve(fail(new Error(`${MAX_PENDING} entries are waiting to be written`)));
    const writing = (async () => audit(entry))().then(() => true, fail);
    pending.add(writing);
    void writing.then(() => pending.delete(writing));
    return writing;
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    for (const { entry, count } of repeated.values()) {
      if (count === 0) continue;
      const { target: _target, request_id: _request, time: since, ...kind } = entry;
      void write({ time: new Date(now()).toISOString(), ...kind, count, since });
    }
    repeated.clear();
  }

  function add(about: AuditedAction, outcome: string): Promise<boolean> {
    const entry = toEntry(about, outcome, now());
    if (OUTCOMES.has(outcome)) return write(entry);
    const key = JSON.stringify([entry.action, outcome, entry.actor, addressKeyOf(entry.address)]);
    const known = repeated.get(key) ?? addKind(repeated, key, entry);
    timer ??= setTimeout(flush, MINUTE_MS).unref();
    if (known === undefined) return write(entry);
    known.count += 1;
    return Promise.resolve(true);
  }

  return {
    async run(about, act) {
      let noted: AuditedAction & { readonly outcome?: string } = about;
      const note: NoteAudit = (more) => {
        noted = { ...noted, ...more, target: { ...noted.target, ...more.target } };
      };
      const finish = async (outcome: string): Promise<void> => {
        const written = add(noted, outcome);
        if (isRequired) await written;
      };
      if (isRequired && !(await add(about, "started")))
        throw new LoomError("audit_failed", "The audit log cannot be written, so the action was refused", {
          retry_after_ms: 5000,
        });
      let result: Awaited<ReturnType<typeof act>>;
      try {
        result = await act(note);
      } catch (error) {
        await finish(isLoomError(error) ? error.code : "internal_error");
        throw error;
      }
      await finish(noted.outcome ?? "done");
      return result;
    },
    record: (about, outcome) => void add(about, outcome),
    async close() {
      flush();
      await Promise.race([
        Promise.all(pending),
        new Promise((resolve) => {
          setTimeout(resolve, CLOSE_MS).unref();
        }),
      ]);
    },
  };
}

/** Returns undefined for the first refusal of a kind, which is written, and the shared kind if there are too many. */
function addKind(repeated: Map<string, Repeated>, key: string, entry: AuditEntry): Repeated | undefined {
  if (repeated.size < MAX_KINDS) {
    repeated.set(key, { entry, count: 0 });
    return undefined;
  }
  const { time, action, outcome } = entry;
  const shared = JSON.stringify([action, outcome]);
  const known = repeated.get(shared) ?? { entry: { time, action, outcome, actor: "several" }, count: 0 };
  repeated.set(shared, known);
  return known;
}

function toEntry({ action, source, target = {} }: AuditedAction, outcome: string, at: number): AuditEntry {
  const { actor, name, owner, isAdmin = false, address, requestId } = source;
  return {
    time: new Date(at).toISOString(),
    action,
    outcome,
    actor: cleanId(actor),
    ...(name === undefined ? {} : { name: clean(name) }),
    ...(owner === undefined ? {} : { owner: clean(owner) }),
    ...(isAdmin ? { admin: true as const } : {}),
    ...(address === undefined ? {} : { address: clean(address) }),
    ...(requestId === undefined ? {} : { request_id: clean(requestId) }),
    ...(Object.keys(target).length === 0 ? {} : { target: cleanTarget(target) }),
  };
}

function cleanTarget(target: AuditTarget): AuditTarget {
  const clear = (value: string | number): string | number => (typeof value === "string" ? cleanId(value) : value);
  return Object.fromEntries(Object.entries(target).map(([name, value]) => [name, clear(value)]));
}

/** The ID of a credential, `token:k3x9`, looks like a named secret to the redactor, so its kind is kept. */
function cleanId(id: string): string {
  const [, kind = "", rest = ""] = /^((?:token|jwt|user|share|cookie|ticket|cli):)?(.*)$/s.exec(id) ?? [];
  return kind + clean(rest);
}

/** Clients choose IDs and names, so any of them may be a secret that was put in the wrong place. */
function clean(text: string): string {
  return redactor.cleanText(text, MAX_TEXT);
}
