/**
 * Credential store in one SQLite file that all processes of a machine share. Lookups are cached until this process
 * changes the store or another process writes to the file, so rechecking a credential for every live stream is cheap and
 * still sees every revocation.
 *
 * Invariants: the file contains no secret; a ticket is used at most once, even by concurrent processes; a file that
 * another process has locked delays the operation, never the event loop.
 */
import type { DatabaseSync } from "node:sqlite";
import { isLoomError, LoomError } from "../../../protocol/index.ts";
import { asStoreError } from "../../../sqlite/as-store-error.ts";
import { prepareAll, type Statements, transact } from "../../../sqlite/database.ts";
import { identifyFile } from "../../../sqlite/file-identity.ts";
import { LockQueue } from "../../../sqlite/lock-queue.ts";
import type {
  CopiedToken,
  Credentials,
  ErasedCredentials,
  IssuedCredential,
  NewShare,
  NewToken,
  ShareInfo,
  TicketRequest,
  TokenInfo,
  UsedTicket,
} from "./credentials.ts";
import { isSameDigest, type Key, makeKey, parseKey } from "./key.ts";
import { checkShare, checkToken, takenNameError, tooManyTokens } from "./open-credentials-checks.ts";
import { MEMORY, openCredentialsFile } from "./open-credentials-file.ts";
import { CREDENTIAL_LIMITS, type CredentialLimits, type CredentialsOptions } from "./open-credentials-options.ts";
import {
  type CachedCredential,
  type CookieOrTicketRow,
  earlier,
  holderOf,
  ignoreFailure,
  isBefore,
  principalOfShare,
  principalOfToken,
  readCopiedToken,
  readPrincipal,
  readShare,
  readToken,
  serializePrincipal,
  type ShareRow,
  STATEMENTS,
  type TokenRow,
  writeCopiedToken,
  writeToken,
} from "./open-credentials-rows.ts";
import type { Principal } from "../principal.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;
const MAX_CACHED = 10_000;
/** How often to check that the path still points to the opened file. */
const FILE_CHECK_MS = 1000;

/**
 * Opens the credential store: tokens, cookies, tickets and share links. Creates the file if it does not exist; `path`
 * can be `:memory:`. Throws `store_…` if the file cannot be opened or is not a credential store.
 *
 * ```ts
 * const credentials = openCredentials("/var/lib/loom/credentials.db");
 * const { secret } = await credentials.createToken({ name: "laptop", scopes: ["read", "run"] });
 * await startLoomServer({ auth: { credentials } });
 * ```
 */
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
  /** By kind and id: `token:k3x9…`. */
  readonly #cache = new Map<string, CachedCredential>();
  /** Minute in which each token was last used. */
  readonly #lastUsedMinute = new Map<string, number>();
  #dataVersion: unknown;
  #hasTokens = false;
  #sweptDay = -1;
  #checkedAt = 0;
  readonly #locks: LockQueue;
  #isClosed = false;

  constructor(path: string, { busyTimeoutMs = 2000, limits = {}, now = Date.now }: CredentialsOptions) {
    this.#path = path;
    this.#locks = new LockQueue({ maxWaitMs: busyTimeoutMs });
    this.#limits = { ...CREDENTIAL_LIMITS, ...limits };
    this.#now = now;
    this.#db = openCredentialsFile(path, busyTimeoutMs);
    this.#file = path === MEMORY ? undefined : (identifyFile(path) ?? "");
    // SQLite would wait with the thread blocked.
    this.#db.exec("PRAGMA busy_timeout = 0");
    this.#statements = prepareAll(this.#db, STATEMENTS);
  }

  async createToken(token: NewToken): Promise<IssuedCredential<TokenInfo>> {
    const now = this.#now();
    const checked = checkToken(token, now);
    const { maxTokens } = this.#limits;
    const key = makeKey("token");
    const info = await this.#commitDurably(() => {
      const { takenName, countTokens, dropToken, addToken, findToken } = this.#statements;
      if (takenName.get(checked.name, checked.name) !== undefined) throw takenNameError(checked.name);
      while (count(countTokens.get()) >= maxTokens)
        if (dropToken.run(now).changes === 0) throw tooManyTokens(maxTokens);
      addToken.run(key.id, key.digest, ...writeToken(checked), now, checked.expiresAt ?? null);
      return readToken(findToken.get(key.id) as unknown as TokenRow);
    });
    return { secret: key.secret, info };
  }

  listTokens(): Promise<readonly TokenInfo[]> {
    return this.#ask(() => (this.#statements.listTokens.all() as unknown as TokenRow[]).map(readToken));
  }

  revokeToken(idOrName: string): Promise<boolean> {
    const { revokeToken, dropSharesOf } = this.#statements;
    return this.#commitDurably(() => {
      const row = revokeToken.get(this.#now(), idOrName, idOrName, idOrName) as Pick<TokenRow, "id"> | undefined;
      if (row !== undefined) dropSharesOf.run(`token:${row.id}`);
      return row !== undefined;
    });
  }

  async hasTokens(): Promise<boolean> {
    this.#hasTokens ||= await this.#ask(() => this.#statements.anyToken.get() !== undefined);
    return this.#hasTokens;
  }

  exportTokens(): Promise<readonly CopiedToken[]> {
    return this.#ask(() => (this.#statements.exportTokens.all() as unknown as TokenRow[]).map(readCopiedToken));
  }

  importTokens(tokens: readonly CopiedToken[]): Promise<number> {
    const { findToken, takenName, countTokens, importToken, revokeImported, dropSharesOf } = this.#statements;
    const { maxTokens } = this.#limits;
    return this.#commitDurably(() => {
      let added = 0;
      for (const token of tokens) {
        const { tokenId, name, revokedAt } = token;
        if (findToken.get(tokenId) !== undefined) {
          if (revokedAt === undefined || revokeImported.run(revokedAt, tokenId).changes === 0) continue;
          dropSharesOf.run(`token:${tokenId}`);
          continue;
        }
        if (revokedAt === undefined && takenName.get(name, name) !== undefined) throw takenNameError(name);
        if (count(countTokens.get()) >= maxTokens) throw tooManyTokens(maxTokens);
        importToken.run(...writeCopiedToken(token));
        added++;
      }
      return added;
    });
  }

  async createShare(share: NewShare): Promise<IssuedCredential<ShareInfo>> {
    const now = this.#now();
    checkShare(share, now);
    const { session, incarnation, owner, maker } = share;
    const { maxSharesOfSession, maxSharesOfOwner } = this.#limits;
    const key = makeKey("share");
    const info = await this.#commitDurably(() => {
      const { sweepShares, countSharesOfSession, countSharesOfOwner, dropShare, addShare, findShare } =
        this.#statements;
      sweepShares.run(now, session, incarnation);
      if (count(countSharesOfSession.get(session)) >= maxSharesOfSession)
        throw new LoomError(
          "too_many_open",
          `Share link limit of this session reached (${maxSharesOfSession}); revoke some first`,
        );
      while (count(countSharesOfOwner.get(owner)) >= maxSharesOfOwner) dropShare.run(owner);
      const expiresAt = earlier(share.expiresAt, this.#tokenOf(maker)?.expiresAt);
      addShare.run(key.id, key.digest, session, incarnation, owner, maker ?? null, now, expiresAt ?? null);
      return readShare(findShare.get(key.id) as unknown as ShareRow);
    });
    return { secret: key.secret, info };
  }

  listShares(session: string, incarnation: string): Promise<readonly ShareInfo[]> {
    const { listShares } = this.#statements;
    return this.#ask(() => (listShares.all(session, incarnation, this.#now()) as unknown as ShareRow[]).map(readShare));
  }

  async noteOpened(shareId: string): Promise<void> {
    await ignoreFailure(this.#write(() => this.#statements.openShare.run(this.#now(), shareId)));
  }

  async revokeShare(session: string, shareId: string): Promise<boolean> {
    const row = (await this.#commitDurably(() => this.#statements.revokeShare.get(shareId, session))) as
      | Pick<ShareRow, "expires_at">
      | undefined;
    return row !== undefined && isBefore(row.expires_at, this.#now());
  }

  async createCookie(
    principal: Principal,
    expiresAt: number,
  ): Promise<IssuedCredential<{ readonly expiresAt: number }>> {
    const holder = holderOf(principal);
    const end = Math.min(expiresAt, principal.expiresAt ?? expiresAt);
    const key = makeKey("cookie");
    const { maxCookies, maxCookiesOfPrincipal } = this.#limits;
    await this.#commitDurably(() => {
      const { sweepCookies, countCookies, countCookiesOf, dropCookie, dropCookieOf, addCookie } = this.#statements;
      sweepCookies.run(this.#now());
      while (count(countCookiesOf.get(holder)) >= maxCookiesOfPrincipal) dropCookieOf.run(holder);
      while (count(countCookies.get()) >= maxCookies) dropCookie.run();
      addCookie.run(key.id, key.digest, holder, serializePrincipal(principal), end);
    });
    return { secret: key.secret, info: { expiresAt: end } };
  }

  async deleteCookie(secret: string): Promise<void> {
    const key = parseKey(secret);
    if (key?.kind !== "cookie") return;
    const { findCookie, deleteCookie } = this.#statements;
    const row = (await this.#ask(() => findCookie.get(key.id))) as unknown as CookieOrTicketRow | undefined;
    // Compare first: an unknown secret must not cause a write.
    if (row !== undefined && isSameDigest(row.digest, key.digest))
      await this.#commitDurably(() => deleteCookie.run(key.id));
  }

  async createTicket(
    principal: Principal,
    request: TicketRequest,
  ): Promise<IssuedCredential<{ readonly expiresAt: number }>> {
    const holder = holderOf(principal);
    const end = Math.min(request.expiresAt, principal.expiresAt ?? request.expiresAt);
    const session = principal.session?.id ?? request.session ?? null;
    const key = makeKey("ticket");
    const { maxTickets, maxTicketsOfPrincipal } = this.#limits;
    await this.#write(() => {
      const { sweepTickets, countTickets, countTicketsOf, addTicket } = this.#statements;
      sweepTickets.run(this.#now());
      if (count(countTicketsOf.get(holder)) >= maxTicketsOfPrincipal || count(countTickets.get()) >= maxTickets)
        throw new LoomError("too_many_open", "Too many unused tickets; use them or wait until they expire");
      addTicket.run(key.id, key.digest, holder, serializePrincipal(principal), principal.cookie ?? null, session, end);
    });
    return { secret: key.secret, info: { expiresAt: end } };
  }

  async useTicket(secret: string, now: number = this.#now()): Promise<UsedTicket | undefined> {
    const key = parseKey(secret);
    if (key?.kind !== "ticket") return undefined;
    const { findTicket, deleteTicket } = this.#statements;
    const row = (await this.#ask(() => findTicket.get(key.id))) as unknown as CookieOrTicketRow | undefined;
    // Compare first: an unknown secret must not cause a write.
    if (row === undefined || !isSameDigest(row.digest, key.digest)) return undefined;
    return this.#write(() => {
      // Only one of several concurrent calls and processes deletes the row.
      if (deleteTicket.run(key.id).changes === 0 || !isBefore(row.expires_at, now)) return undefined;
      this.#dropStaleCache();
      const { cookie, session } = row;
      const principal = cookie == null ? this.#resolve(row) : this.#lookUp("cookie", cookie)?.principal;
      if (principal === undefined || !isBefore(principal.expiresAt, now)) return undefined;
      return session == null ? { principal } : { principal, session };
    });
  }

  async find(secret: string, now: number = this.#now()): Promise<Principal | undefined> {
    const key = parseKey(secret);
    if (key === undefined || key.kind === "ticket") return undefined;
    const { kind, id, digest } = key;
    const found = await this.#ask(() => {
      this.#dropStaleCache();
      return this.#lookUp(kind, id);
    });
    if (found === undefined || !isSameDigest(found.digest, digest)) return undefined;
    if (!isBefore(found.principal.expiresAt, now)) return undefined;
    if (found.principal.kind === "token") this.#noteUse(found.principal.id.slice("token:".length), now);
    return found.principal;
  }

  async isValid(principal: Principal, now: number = this.#now()): Promise<boolean> {
    if (!isBefore(principal.expiresAt, now)) return false;
    const { kind, id, cookie } = principal;
    return this.#ask(() => {
      this.#dropStaleCache();
      if (cookie !== undefined && this.#lookUp("cookie", cookie) === undefined) return false;
      if (kind !== "token" && kind !== "share") return true;
      const found = this.#lookUp(kind, id.slice(kind.length + 1));
      return found !== undefined && isBefore(found.principal.expiresAt, now);
    });
  }

  isNotRevoked(principalId: string): Promise<boolean> {
    return this.#ask(() => {
      this.#dropStaleCache();
      return this.#isNotRevoked(principalId);
    });
  }

  async addSpent(principalId: string, tokens: number, now: number = this.#now()): Promise<number> {
    if (!(tokens > 0)) return this.readSpent(principalId, now);
    const day = Math.floor(now / DAY);
    const { addSpent, sweepSpent } = this.#statements;
    return this.#write(() => {
      if (day !== this.#sweptDay) sweepSpent.run(day - this.#limits.spentDays);
      const row = addSpent.get(day, principalId, Math.min(Math.ceil(tokens), Number.MAX_SAFE_INTEGER));
      this.#sweptDay = day;
      return Number(row?.["tokens"]);
    });
  }

  async readSpent(principalId: string, now: number = this.#now()): Promise<number> {
    const row = await this.#ask(() => this.#statements.readSpent.get(Math.floor(now / DAY), principalId));
    return Number(row?.["tokens"] ?? 0);
  }

  async eraseOwner(owner: string): Promise<ErasedCredentials> {
    const { eraseSpent, eraseCookies, eraseTickets, eraseShares, eraseLastToken, eraseTokens } = this.#statements;
    const erased = await this.#commitDurably(() => {
      // Tokens last: the other statements find their rows by the tokens.
      const usageRecords = Number(eraseSpent.run(owner).changes);
      const signIns = Number(eraseCookies.run(owner).changes) + Number(eraseTickets.run(owner).changes);
      const shares = Number(eraseShares.run(owner).changes);
      const tokens = Number(eraseLastToken.run(owner, this.#now()).changes) + Number(eraseTokens.run(owner).changes);
      return { tokens, shares, signIns, usageRecords };
    });
    // Overwrites pages of the file whose new versions are only in the write-ahead log.
    await this.#ask(() => this.#db.exec("PRAGMA wal_checkpoint(PASSIVE)"));
    return erased;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#locks.idle;
    this.#cache.clear();
    if (this.#db.isOpen) this.#db.close();
  }

  /** Undefined if unknown or revoked. The caller checks the expiry. */
  #lookUp(kind: Exclude<Key["kind"], "ticket">, id: string): CachedCredential | undefined {
    const name = `${kind}:${id}`;
    const known = this.#cache.get(name);
    if (known !== undefined) return known;
    const found = this.#read(kind, id);
    if (found === undefined) return undefined;
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
    this.#cache.set(name, found);
    return found;
  }

  #read(kind: Exclude<Key["kind"], "ticket">, id: string): CachedCredential | undefined {
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
      // A link can be created at the moment its maker is revoked.
      if (!this.#isNotRevoked(info.maker)) return undefined;
      return { digest: row.digest, principal: principalOfShare(info, this.#tokenOf(info.maker)?.limits ?? {}) };
    }
    const row = findCookie.get(id) as unknown as CookieOrTicketRow | undefined;
    const holder = row === undefined ? undefined : this.#resolve(row);
    if (row === undefined || holder === undefined) return undefined;
    const expiresAt = Math.min(row.expires_at, holder.expiresAt ?? row.expires_at);
    return { digest: row.digest, principal: { ...holder, expiresAt, cookie: id } };
  }

  #isNotRevoked(principalId = ""): boolean {
    return !principalId.startsWith("token:") || this.#tokenOf(principalId) !== undefined;
  }

  /** Undefined if the principal is not a token, or the token is unknown or revoked. */
  #tokenOf(principalId = ""): Principal | undefined {
    const [kind, id = ""] = principalId.split(":", 2);
    return kind === "token" ? this.#lookUp(kind, id)?.principal : undefined;
  }

  /** Returns the current principal of a cookie or ticket. */
  #resolve({ holder, principal }: CookieOrTicketRow): Principal | undefined {
    if (principal !== null) return readPrincipal(principal);
    const [kind, id = ""] = holder.split(":", 2);
    return kind === "token" || kind === "share" ? this.#lookUp(kind, id)?.principal : undefined;
  }

  /** Records the last use to the minute. A failed write is ignored, because it must not reject the request. */
  #noteUse(id: string, now: number): void {
    const minute = Math.floor(now / MINUTE);
    if (this.#lastUsedMinute.get(id) === minute) return;
    if (this.#lastUsedMinute.size >= MAX_CACHED) this.#lastUsedMinute.clear();
    this.#lastUsedMinute.set(id, minute);
    try {
      this.#statements.useToken.run(minute * MINUTE, id);
    } catch {
      this.#lastUsedMinute.delete(id);
    }
  }

  /** Clears the cache if another process has written to the file. */
  #dropStaleCache(): void {
    this.#assertSameFile();
    const version = this.#statements.dataVersion.get()?.["data_version"];
    if (version === this.#dataVersion) return;
    this.#dataVersion = version;
    this.#cache.clear();
  }

  /** If the file was replaced, revocations in the new file would go unnoticed. */
  #assertSameFile(): void {
    if (this.#file === undefined) return;
    const now = performance.now();
    if (now - this.#checkedAt < FILE_CHECK_MS && this.#checkedAt !== 0) return;
    if (identifyFile(this.#path) !== this.#file)
      throw new LoomError("store_failed", "The credentials file was removed or replaced; restart the server");
    this.#checkedAt = now;
  }

  /** Writes with full synchronization, so a change of access survives a power failure, and clears the cache. */
  #commitDurably<T>(work: () => T): Promise<T> {
    return this.#begin(() => {
      this.#db.exec("PRAGMA synchronous = FULL");
      try {
        return transact(this.#db, work);
      } finally {
        this.#db.exec("PRAGMA synchronous = NORMAL");
        this.#cache.clear();
      }
    });
  }

  /** Runs `work` in a transaction, after the writes that wait for a lock. */
  #write<T>(work: () => T): Promise<T> {
    return this.#begin(() => transact(this.#db, work));
  }

  async #begin<T>(work: () => T): Promise<T> {
    this.#assertOpen();
    return this.#locks.run(() =>
      this.#guard(() => {
        this.#assertSameFile();
        return work();
      }),
    );
  }

  /** Reads at once. Writers do not lock readers out, except for moments such as the recovery of the file. */
  async #ask<T>(work: () => T): Promise<T> {
    this.#assertOpen();
    try {
      return this.#guard(work);
    } catch (error) {
      if (!isLoomError(error, "store_busy")) throw error;
      return this.#locks.run(() => this.#guard(work));
    }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new LoomError("store_closed", "The credential store is closed");
  }

  /** Converts SQLite errors to `LoomError`s without the path, which users must not see. */
  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (error instanceof LoomError) throw error;
      const { code, message } = asStoreError(error, this.#path);
      throw new LoomError(code, `Credential store: ${message}`, {}, { cause: error });
    }
  }
}

function count(row: { readonly [column: string]: unknown } | undefined): number {
  return Number(row?.["n"] ?? 0);
}
