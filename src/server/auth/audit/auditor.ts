/**
 * The audit log of a server: its actions and entries, and the auditor, which removes secrets from entries, sums up
 * repeated refusals, and reports entries that cannot be written.
 *
 * Invariants:
 * - No refused request can fill the log: the first refusal of a kind is written at once, further ones of the same
 *   action, code, credential and address as one line per minute. Kinds beyond `MAX_KINDS` share a line per action.
 * - The number of entries in progress is limited.
 */
import type { Caller } from "../authorize.ts";
import { createRedactor } from "../../../observe/logs/create-redactor.ts";
import { shield } from "../../../observe/shield.ts";
import { isLoomError, LoomError } from "../../../protocol/index.ts";
import { addressKeyOf } from "../limits/rates.ts";

/** Each action with the fields of its `target`. `docs/operations/audit-log.md` lists the same, which a test checks. */
export const AUDIT_ACTIONS = {
  "server.start": "`authentication`: on or off",
  "server.stop": "",
  "credential.refuse": "`credential`: kind and ID of the credential, or `unknown`",
  "permission.refuse": "`permission`, `session`",
  sign_in: "`session` for a share link",
  sign_out: "",
  "token.create": "`token`: ID, `name`, `owner`, `scopes`",
  "token.revoke": "`token`: name or ID",
  "share.create": "`session`, `share`: ID of the link",
  "share.revoke": "`session`, `share`",
  "approval.answer": "`session`, `run`, `call`, `decision`, `tool`",
  "tool.permit": "`session`, `tool`, `rule`: `allow` or `ask`",
  "session.delete": "`session`, with its blobs",
  "document.delete": "`document`",
  "owner.erase": "`owner`, `sessions`, `blobs`, `tokens`, `shares`: how many were erased",
  "runs.prune": "`runs`, `bytes`",
} as const satisfies { readonly [action: string]: string };

/** What was done, in the audit log. */
export type AuditAction = keyof typeof AUDIT_ACTIONS;

/** The object of an action: IDs and names, never a secret. */
export type AuditTarget = { readonly [name: string]: string | number };

/** One line of the audit log. */
export interface AuditEntry {
  /** Time in ISO 8601, UTC. */
  readonly time: string;
  readonly action: AuditAction;
  /**
   * `done`; `pending` if the outcome was not known in time; otherwise the error code. `started` is written before the
   * action if `auditRequired` is set.
   */
  readonly outcome: string;
  /** ID of the credential: `token:k3x9…`, `jwt:alice`, `user:alice`, `share:p0q2…`, `anonymous`, `local`, `server`, `cli:USER`. */
  readonly actor: string;
  /** Name of the credential. */
  readonly name?: string;
  /** Owner of the credential. */
  readonly owner?: string;
  /** True if the credential has the scope `admin`. */
  readonly admin?: true;
  /** Client address, as reported by trusted proxies. */
  readonly address?: string;
  readonly request_id?: string;
  readonly target?: AuditTarget;
  /** Further refusals of the same kind since `since`, which share this line. */
  readonly count?: number;
  readonly since?: string;
}

/** Receives the entries of the audit log. Throws or rejects if the entry cannot be written. */
export type Audit = (entry: AuditEntry) => Promise<void> | void;

/** Who did it, and from where. */
export interface AuditSource {
  /** ID of the credential, never a secret. */
  readonly actor: string;
  readonly name?: string | undefined;
  readonly owner?: string | undefined;
  readonly isAdmin?: boolean | undefined;
  readonly address?: string | undefined;
  readonly requestId?: string | undefined;
}

export interface AuditedAction {
  readonly action: AuditAction;
  readonly source: AuditSource;
  readonly target?: AuditTarget | undefined;
}

/** Adds what is known only during the action. `outcome` replaces `done`. */
export type NoteAudit = (more: {
  readonly source?: AuditSource;
  readonly target?: AuditTarget;
  readonly outcome?: string;
}) => void;

export interface Auditor {
  /**
   * Runs an action and records its outcome. Throws `audit_failed` before the action if entries are required and cannot
   * be written; a failure afterwards is only reported.
   */
  run<T>(about: AuditedAction, act: (note: NoteAudit) => Promise<T> | T): Promise<T>;
  /** Records an action that has happened. */
  record(about: AuditedAction, outcome: string): void;
  /** Writes the counts of repeated refusals and waits for the entries in progress, at most 5 seconds. */
  close(): Promise<void>;
}

/** The auditor of a server without an audit log. */
export const NO_AUDIT: Auditor = {
  run: async (_about, act) => act(() => undefined),
  record: () => undefined,
  close: () => Promise.resolve(),
};

export function sourceOf({ principal, address, requestId }: Pick<Caller, "principal" | "address" | "requestId">) {
  const { kind, id, name, owner, scopes } = principal;
  const isKnown = kind === "token" || kind === "jwt" || kind === "user";
  const source: AuditSource = {
    actor: id,
    ...(isKnown ? { name, owner, isAdmin: scopes.has("admin") } : {}),
    address,
    requestId,
  };
  return source;
}

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
