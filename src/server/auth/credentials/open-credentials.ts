/**
 * Credentials in one SQLite file that all processes before a store share. Everything is asked and answered at once: none
 * of it waits for more than a disk. What was found is remembered until this process changes it, or another process
 * changes anything; so looking again, as is done for every live stream, costs next to nothing and misses nothing.
 *
 * Invariants: no secret is in the file; a ticket is used by one, however many try.
 */
import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { prepareAll, type Statements } from "../../../log/sqlite/connection.ts";
import { asStoreError } from "../../../log/sqlite/failure.ts";
import { LoomError } from "../../../protocol/index.ts";
import type { Credentials, Issued, NewShare, NewToken, ShareInfo, TicketRequest, TokenInfo } from "./credentials.ts";
import { isSameDigest, type Key, makeKey, parseKey } from "./key.ts";
import { checkShare, checkToken } from "./open-credentials-checks.ts";
import { MEMORY, openCredentialsFile } from "./open-credentials-file.ts";
import { CREDENTIAL_LIMITS, type CredentialLimits, type CredentialsOptions } from "./open-credentials-options.ts";
import {
  type PassRow,
  principalOfShare,
  principalOfToken,
  readPrincipal,
  readShare,
  readToken,
  type ShareRow,
  STATEMENTS,
  type TokenRow,
  writePrincipal,
  writeToken,
} from "./open-credentials-rows.ts";
import type { Principal } from "../principal.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;
const MAX_REMEMBERED = 10_000;
/** How often it is looked whether the file is still the one that was opened. */
const FILE_CHECK_MS = 1000;
const MAX_PRINCIPAL_LENGTH = 16_384;

/** What a row is good for. */
interface Remembered {
  readonly principal: Principal;
  readonly digest: Uint8Array;
}

/** `path` is a file, made where there is none, or `:memory:`. Throws `store_…`. */
export function openCredentials(path: string, options: CredentialsOptions = {}): Credentials {
  return new SqliteCredentials(path, options);
}

class SqliteCredentials implements Credentials {
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #file: string | undefined;
  readonly #statements: Statements<typeof STATEMENTS>;
  readonly #limits: CredentialLimits;
  readonly #now: () => number;
  /** By what and id: `token:k3x9…`. */
  readonly #remembered = new Map<string, Remembered>();
  /** The minute in which a token was last seen. */
  readonly #seen = new Map<string, number>();
  #dataVersion: unknown;
  #hasTokens = false;
  #sweptDay = -1;
  #checkedAt = 0;

  constructor(path: string, { busyTimeoutMs = 2000, limits = {}, now = Date.now }: CredentialsOptions) {
    this.#path = path;
    this.#limits = { ...CREDENTIAL_LIMITS, ...limits };
    this.#now = now;
    this.#db = openCredentialsFile(path, busyTimeoutMs);
    this.#file = this.#identifyFile();
    this.#statements = prepareAll(this.#db, STATEMENTS);
  }

  createToken(token: NewToken): Issued<TokenInfo> {
    const now = this.#now();
    const checked = checkToken(token, now);
    const { maxTokens } = this.#limits;
    const key = makeKey("token");
    const info = this.#change(() => {
      const { takenName, countTokens, dropToken, addToken, findToken } = this.#statements;
      if (takenName.get(checked.name, checked.name) !== undefined)
        throw new LoomError("invalid_name", `there is a token "${checked.name}" already: revoke it first`);
      while (count(countTokens.get()) >= maxTokens)
        if (dropToken.run(now).changes === 0)
          throw new LoomError("too_many_open", `there are ${maxTokens} tokens: revoke some first`);
      addToken.run(key.id, key.digest, ...writeToken(checked), now, checked.expiresAt ?? null);
      return readToken(findToken.get(key.id) as unknown as TokenRow);
    });
    return { secret: key.secret, info };
  }

  listTokens(): readonly TokenInfo[] {
    return this.#guard(() => (this.#statements.listTokens.all() as unknown as TokenRow[]).map(readToken));
  }

  revokeToken(idOrName: string): boolean {
    const { revokeToken, dropSharesOf } = this.#statements;
    return this.#change(() => {
      const row = revokeToken.get(this.#now(), idOrName, idOrName, idOrName) as Pick<TokenRow, "id"> | undefined;
      if (row !== undefined) dropSharesOf.run(`token:${row.id}`);
      return row !== undefined;
    });
  }

  get hasTokens(): boolean {
    this.#hasTokens ||= this.#guard(() => this.#statements.anyToken.get() !== undefined);
    return this.#hasTokens;
  }

  createShare(share: NewShare): Issued<ShareInfo> {
    const now = this.#now();
    checkShare(share, now);
    const { session, incarnation, owner, maker } = share;
    const { maxSharesOfSession, maxSharesOfOwner } = this.#limits;
    const key = makeKey("share");
    const info = this.#change(() => {
      const { sweepShares, countSharesOfSession, countSharesOfOwner, dropShare, addShare, findShare } =
        this.#statements;
      sweepShares.run(now, session, incarnation);
      if (count(countSharesOfSession.get(session)) >= maxSharesOfSession)
        throw new LoomError("too_many_open", `the session has ${maxSharesOfSession} links: revoke some first`);
      while (count(countSharesOfOwner.get(owner)) >= maxSharesOfOwner) dropShare.run(owner);
      const expiresAt = earlier(share.expiresAt, this.#tokenOf(maker)?.expiresAt);
      addShare.run(key.id, key.digest, session, incarnation, owner, maker ?? null, now, expiresAt ?? null);
      return readShare(findShare.get(key.id) as unknown as ShareRow);
    });
    return { secret: key.secret, info };
  }

  listShares(session: string, incarnation: string): readonly ShareInfo[] {
    const { listShares } = this.#statements;
    return this.#guard(() =>
      (listShares.all(session, incarnation, this.#now()) as unknown as ShareRow[]).map(readShare),
    );
  }

  revokeShare(session: string, shareId: string): boolean {
    const row = this.#change(() => this.#statements.revokeShare.get(shareId, session)) as
      | Pick<ShareRow, "expires_at">
      | undefined;
    return row !== undefined && isAhead(row.expires_at, this.#now());
  }

  createCookie(principal: Principal, expiresAt: number): Issued<{ readonly expiresAt: number }> {
    const holder = holderOf(principal);
    const end = Math.min(expiresAt, principal.expiresAt ?? expiresAt);
    const key = makeKey("cookie");
    const { maxCookies, maxCookiesOfPrincipal } = this.#limits;
    this.#change(() => {
      const { sweepCookies, countCookies, countCookiesOf, dropCookie, dropCookieOf, addCookie } = this.#statements;
      sweepCookies.run(this.#now());
      while (count(countCookiesOf.get(holder)) >= maxCookiesOfPrincipal) dropCookieOf.run(holder);
      while (count(countCookies.get()) >= maxCookies) dropCookie.run();
      addCookie.run(key.id, key.digest, holder, keepPrincipal(principal), end);
    });
    return { secret: key.secret, info: { expiresAt: end } };
  }

  deleteCookie(secret: string): void {
    const key = parseKey(secret);
    if (key?.kind !== "cookie") return;
    const { findCookie, deleteCookie } = this.#statements;
    const row = this.#guard(() => findCookie.get(key.id)) as unknown as PassRow | undefined;
    // Anybody can show one that is not there: nothing is written for them.
    if (row !== undefined && isSameDigest(row.digest, key.digest)) this.#change(() => deleteCookie.run(key.id));
  }

  createTicket(principal: Principal, request: TicketRequest): Issued<{ readonly expiresAt: number }> {
    const holder = holderOf(principal);
    const end = Math.min(request.expiresAt, principal.expiresAt ?? request.expiresAt);
    const session = principal.session?.id ?? request.session ?? null;
    const key = makeKey("ticket");
    const { maxTickets, maxTicketsOfPrincipal } = this.#limits;
    this.#transact(() => {
      const { sweepTickets, countTickets, countTicketsOf, addTicket } = this.#statements;
      sweepTickets.run(this.#now());
      if (count(countTicketsOf.get(holder)) >= maxTicketsOfPrincipal || count(countTickets.get()) >= maxTickets)
        throw new LoomError("too_many_open", "there are too many tickets that nobody has used: use them, or wait");
      addTicket.run(key.id, key.digest, holder, keepPrincipal(principal), principal.cookie ?? null, session, end);
    });
    return { secret: key.secret, info: { expiresAt: end } };
  }

  useTicket(
    secret: string,
    now: number = this.#now(),
  ): { readonly principal: Principal; readonly session?: string } | undefined {
    const key = parseKey(secret);
    if (key?.kind !== "ticket") return undefined;
    const { findTicket, deleteTicket } = this.#statements;
    return this.#guard(() => {
      this.#forgetOld();
      const row = findTicket.get(key.id) as unknown as PassRow | undefined;
      if (row === undefined || !isSameDigest(row.digest, key.digest)) return undefined;
      // Of those who have come so far together, one deletes it.
      if (deleteTicket.run(key.id).changes === 0 || !isAhead(row.expires_at, now)) return undefined;
      const { cookie, session } = row;
      const principal = cookie == null ? this.#resolve(row) : this.#lookUp("cookie", cookie)?.principal;
      if (principal === undefined || !isAhead(principal.expiresAt, now)) return undefined;
      return session == null ? { principal } : { principal, session };
    });
  }

  find(secret: string, now: number = this.#now()): Principal | undefined {
    const key = parseKey(secret);
    if (key === undefined || key.kind === "ticket") return undefined;
    const { kind, id, digest } = key;
    const found = this.#guard(() => {
      this.#forgetOld();
      return this.#lookUp(kind, id);
    });
    if (found === undefined || !isSameDigest(found.digest, digest)) return undefined;
    if (!isAhead(found.principal.expiresAt, now)) return undefined;
    if (found.principal.kind === "token") this.#noteUse(found.principal.id.slice("token:".length), now);
    return found.principal;
  }

  isGood(principal: Principal, now: number = this.#now()): boolean {
    if (!isAhead(principal.expiresAt, now)) return false;
    const { kind, id, cookie } = principal;
    return this.#guard(() => {
      this.#forgetOld();
      if (cookie !== undefined && this.#lookUp("cookie", cookie) === undefined) return false;
      if (kind !== "token" && kind !== "share") return true;
      const found = this.#lookUp(kind, id.slice(kind.length + 1));
      return found !== undefined && isAhead(found.principal.expiresAt, now);
    });
  }

  isIssued(principalId: string): boolean {
    return this.#guard(() => {
      this.#forgetOld();
      return this.#isIssued(principalId);
    });
  }

  addSpent(principalId: string, tokens: number, now: number = this.#now()): void {
    if (!(tokens > 0)) return;
    const day = Math.floor(now / DAY);
    const { addSpent, sweepSpent } = this.#statements;
    this.#guard(() => {
      if (day !== this.#sweptDay) sweepSpent.run(day - this.#limits.spentDays);
      this.#sweptDay = day;
      addSpent.run(day, principalId, Math.min(Math.ceil(tokens), Number.MAX_SAFE_INTEGER));
    });
  }

  readSpent(principalId: string, now: number = this.#now()): number {
    const row = this.#guard(() => this.#statements.readSpent.get(Math.floor(now / DAY), principalId));
    return Number(row?.["tokens"] ?? 0);
  }

  close(): void {
    this.#remembered.clear();
    if (this.#db.isOpen) this.#db.close();
  }

  /** Undefined where it is unknown or revoked; whether it is over is for those who ask. */
  #lookUp(kind: Exclude<Key["kind"], "ticket">, id: string): Remembered | undefined {
    const name = `${kind}:${id}`;
    const known = this.#remembered.get(name);
    if (known !== undefined) return known;
    const found = this.#read(kind, id);
    if (found === undefined) return undefined;
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear();
    this.#remembered.set(name, found);
    return found;
  }

  #read(kind: Exclude<Key["kind"], "ticket">, id: string): Remembered | undefined {
    const { findToken, findShare, findCookie } = this.#statements;
    if (kind === "token") {
      const row = findToken.get(id) as unknown as TokenRow | undefined;
      if (row === undefined || row.revoked_at !== null) return undefined;
      return { digest: row.digest, principal: principalOfToken(readToken(row)) };
    }
    if (kind === "share") {
      const row = findShare.get(id) as unknown as ShareRow | undefined;
      if (row === undefined) return undefined;
      const info = readShare(row);
      // One that was made in the moment in which its maker was revoked.
      if (!this.#isIssued(info.maker)) return undefined;
      return { digest: row.digest, principal: principalOfShare(info, this.#tokenOf(info.maker)?.limits ?? {}) };
    }
    const row = findCookie.get(id) as unknown as PassRow | undefined;
    const holder = row === undefined ? undefined : this.#resolve(row);
    if (row === undefined || holder === undefined) return undefined;
    const expiresAt = Math.min(row.expires_at, holder.expiresAt ?? row.expires_at);
    return { digest: row.digest, principal: { ...holder, expiresAt, cookie: id } };
  }

  #isIssued(principalId = ""): boolean {
    return !principalId.startsWith("token:") || this.#tokenOf(principalId) !== undefined;
  }

  /** Undefined for those that are no token, or no good any more. */
  #tokenOf(principalId = ""): Principal | undefined {
    const [kind, id = ""] = principalId.split(":", 2);
    return kind === "token" ? this.#lookUp(kind, id)?.principal : undefined;
  }

  /** Whose a cookie or a ticket is, as they are now. */
  #resolve({ holder, principal }: PassRow): Principal | undefined {
    if (principal !== null) return readPrincipal(principal);
    const [kind, id = ""] = holder.split(":", 2);
    return kind === "token" || kind === "share" ? this.#lookUp(kind, id)?.principal : undefined;
  }

  /** Who never comes again need not be known to the second; that it could not be noted is no reason to refuse anybody. */
  #noteUse(id: string, now: number): void {
    const minute = Math.floor(now / MINUTE);
    if (this.#seen.get(id) === minute) return;
    if (this.#seen.size >= MAX_REMEMBERED) this.#seen.clear();
    this.#seen.set(id, minute);
    try {
      this.#statements.useToken.run(minute * MINUTE, id);
    } catch {
      this.#seen.delete(id);
    }
  }

  /** What another process has written may be about what is remembered here. */
  #forgetOld(): void {
    this.#assertFile();
    const version = this.#statements.dataVersion.get()?.["data_version"];
    if (version === this.#dataVersion) return;
    this.#dataVersion = version;
    this.#remembered.clear();
  }

  /** Who has another file would go on with what was revoked in this one. */
  #assertFile(): void {
    if (this.#file === undefined) return;
    const now = performance.now();
    if (now - this.#checkedAt < FILE_CHECK_MS && this.#checkedAt !== 0) return;
    if (this.#identifyFile() !== this.#file)
      throw new LoomError("store_failed", "the file of credentials is gone, or another has taken its place");
    this.#checkedAt = now;
  }

  #identifyFile(): string | undefined {
    if (this.#path === MEMORY) return undefined;
    const stats = statSync(this.#path, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? "" : `${stats.dev}:${stats.ino}`;
  }

  /** A change of who is let in: it must outlive a loss of power, and what is remembered may be about it. */
  #change<T>(work: () => T): T {
    return this.#guard(() => {
      this.#db.exec("PRAGMA synchronous = FULL");
      try {
        return this.#transact(work);
      } finally {
        this.#db.exec("PRAGMA synchronous = NORMAL");
        this.#remembered.clear();
      }
    });
  }

  /** All or nothing. */
  #transact<T>(work: () => T): T {
    return this.#guard(() => {
      this.#assertFile();
      this.#db.exec("BEGIN IMMEDIATE");
      try {
        const done = work();
        this.#db.exec("COMMIT");
        return done;
      } finally {
        if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      }
    });
  }

  /** Users are told what kind of failure it is, and no path. */
  #guard<T>(work: () => T): T {
    try {
      if (!this.#db.isOpen) throw new LoomError("store_closed", "the credentials are closed");
      return work();
    } catch (error) {
      if (error instanceof LoomError) throw error;
      const { code, message } = asStoreError(error, this.#path);
      throw new LoomError(code, `credentials: ${message}`, {}, { cause: error });
    }
  }
}

function count(row: { readonly [column: string]: unknown } | undefined): number {
  return Number(row?.["n"] ?? 0);
}

/** True where there is no end. */
function isAhead(end: number | null | undefined, now: number): boolean {
  return end == null || now < end;
}

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

/** Only those who have said who they are can pass it on. */
function holderOf({ kind, id }: Principal): string {
  if (kind === "token" || kind === "jwt" || kind === "share") return id;
  throw new LoomError("unsupported", "nobody is asked here who they are, so there is nothing to sign in with");
}

/** Tokens and links are known here, and may be revoked; others are good until they end. */
function keepPrincipal(principal: Principal): string | null {
  if (principal.kind !== "jwt") return null;
  const text = writePrincipal(principal);
  if (text.length > MAX_PRINCIPAL_LENGTH)
    throw new LoomError("invalid_arguments", "what the credential says is too long");
  return text;
}
