/**
 * The rules of the credential store, once for the SQLite file and PostgreSQL. Lookups are cached until a credential
 * becomes invalid, in this process or another one, so rechecking a credential for every live stream is cheap and still
 * sees every revocation.
 *
 * An operation of several statements is a generator: it yields each statement and receives its rows. The driver of
 * SQLite runs it without a pause, so nothing can happen in between; the driver of PostgreSQL awaits each statement.
 *
 * Invariants: the store contains no secret; a ticket is used at most once, even by concurrent processes; a revoked
 * credential is accepted by this process no more; if the store cannot answer, no credential is accepted.
 */
import { isLoomError, LoomError } from "../../../protocol/index.ts";
import type { Principal } from "../principal.ts";
import {
  type CachedCredential,
  type CookieOrTicketRow,
  count,
  type CredentialsDriver,
  earlier,
  holderOf,
  isBefore,
  principalOfShare,
  principalOfToken,
  query,
  readCopiedToken,
  readPrincipal,
  readShare,
  readToken,
  serializePrincipal,
  type ShareRow,
  SQL,
  type Steps,
  type TokenRow,
  type Value,
  writeCopiedToken,
  writeToken,
} from "./credential-rows.ts";
import {
  checkShare,
  checkToken,
  type CopiedToken,
  CREDENTIAL_LIMITS,
  type CredentialLimits,
  type Credentials,
  type CredentialsOptions,
  type ErasedCredentials,
  isSameDigest,
  type IssuedCredential,
  type Key,
  makeKey,
  type NewShare,
  type NewToken,
  parseKey,
  type ShareInfo,
  type TicketRequest,
  type TokenInfo,
  type UsedTicket,
} from "./credentials.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;
const MAX_CACHED = 10_000;

interface Change {
  readonly attempt: number;
  /** Must be called if a credential becomes invalid, so that no process finds it in its cache. */
  readonly invalidate: () => void;
}

type StoredKind = Exclude<Key["kind"], "ticket">;

export class StoredCredentials implements Credentials {
  readonly #driver: CredentialsDriver;
  readonly #limits: CredentialLimits;
  readonly #now: () => number;
  /** By kind and ID: `token:k3x9…`. */
  #cache = new Map<string, CachedCredential>();
  #version: unknown;
  /** Minute in which each token was last used. */
  readonly #lastUsedMinute = new Map<string, number>();
  #hasTokens = false;
  #sweptMinute = -1;
  #sweptDay = -1;
  #isClosed = false;

  constructor(driver: CredentialsDriver, { limits = {}, now = Date.now }: Pick<CredentialsOptions, "limits" | "now">) {
    this.#driver = driver;
    this.#limits = { ...CREDENTIAL_LIMITS, ...limits };
    this.#now = now;
  }

  async createToken(token: NewToken): Promise<IssuedCredential<TokenInfo>> {
    const now = this.#now();
    const checked = checkToken(token, now);
    const { maxTokens } = this.#limits;
    const key = makeKey("token");
    const row = await this.#transact(function* ({ attempt }) {
      const [done] = attempt === 0 ? [] : yield* query<TokenRow>(SQL.findToken, [key.id]);
      if (done !== undefined) return done;
      yield* assertFreeName(checked.name);
      const excess = (yield* count(SQL.countTokens)) - maxTokens + 1;
      if (excess > 0 && (yield* query(SQL.dropTokens, [now, excess])).length < excess) throw tooManyTokens(maxTokens);
      const values = [key.id, key.digest, ...writeToken(checked), now, checked.expiresAt ?? null];
      return (yield* query<TokenRow>(SQL.addToken, values))[0];
    }, "tokens");
    return { secret: key.secret, info: readToken(row as TokenRow) };
  }

  async listTokens(): Promise<readonly TokenInfo[]> {
    return (await this.#read<TokenRow>(SQL.listTokens)).map(readToken);
  }

  async revokeToken(idOrName: string): Promise<boolean> {
    if (idOrName.includes("\0")) return false;
    const now = this.#now();
    return this.#transact(function* ({ attempt, invalidate }) {
      invalidate();
      const [row] = yield* query<Pick<TokenRow, "id">>(SQL.revokeToken, [now, idOrName]);
      // The answer to the first attempt may have been lost.
      if (row === undefined) return attempt > 0 && (yield* query(SQL.wasRevoked, [now, idOrName])).length > 0;
      yield* query(SQL.dropSharesOf, [`token:${row.id}`]);
      return true;
    });
  }

  async hasTokens(): Promise<boolean> {
    this.#hasTokens ||= (await this.#read(SQL.anyToken)).length > 0;
    return this.#hasTokens;
  }

  async exportTokens(): Promise<readonly CopiedToken[]> {
    return (await this.#read<TokenRow>(SQL.exportTokens)).map(readCopiedToken);
  }

  async importTokens(tokens: readonly CopiedToken[]): Promise<number> {
    const { maxTokens } = this.#limits;
    return this.#transact(function* ({ invalidate }) {
      let added = 0;
      for (const token of tokens) {
        const { tokenId, name, revokedAt } = token;
        if ((yield* query(SQL.findToken, [tokenId])).length > 0) {
          if (revokedAt === undefined) continue;
          invalidate();
          yield* query(SQL.revokeImported, [revokedAt, tokenId]);
          yield* query(SQL.dropSharesOf, [`token:${tokenId}`]);
          continue;
        }
        if (revokedAt === undefined) yield* assertFreeName(name);
        if ((yield* count(SQL.countTokens)) >= maxTokens) throw tooManyTokens(maxTokens);
        yield* query(SQL.importToken, writeCopiedToken(token));
        added++;
      }
      return added;
    }, "tokens");
  }

  async createShare(share: NewShare): Promise<IssuedCredential<ShareInfo>> {
    this.#assertOpen();
    const now = this.#now();
    checkShare(share, now);
    const { owner, maker } = share;
    const { toColumn, fromColumn } = this.#driver;
    const [session, incarnation] = [toColumn(share.session), toColumn(share.incarnation)];
    const { maxSharesOfSession, maxSharesOfOwner } = this.#limits;
    const expiresAt = earlier(share.expiresAt, (await this.#driver.read(() => this.#tokenOf(maker)))?.expiresAt);
    const key = makeKey("share");
    const row = await this.#transact(function* ({ attempt, invalidate }) {
      const [done] = attempt === 0 ? [] : yield* query<ShareRow>(SQL.findShare, [key.id]);
      if (done !== undefined) return done;
      if ((yield* query(SQL.sweepShares, [now, session, incarnation])).length > 0) invalidate();
      if ((yield* count(SQL.countSharesOfSession, [session])) >= maxSharesOfSession)
        throw new LoomError(
          "too_many_open",
          `Share link limit of this session reached (${maxSharesOfSession}); revoke some first`,
        );
      if ((yield* query(SQL.dropShares, [owner, Math.max(0, maxSharesOfOwner - 1)])).length > 0) invalidate();
      const made = [maker === undefined ? null : toColumn(maker), now, expiresAt ?? null];
      return (yield* query<ShareRow>(SQL.addShare, [key.id, key.digest, session, incarnation, owner, ...made]))[0];
    }, "shares");
    return { secret: key.secret, info: readShare(row as ShareRow, fromColumn) };
  }

  async listShares(session: string, incarnation: string): Promise<readonly ShareInfo[]> {
    const { toColumn, fromColumn } = this.#driver;
    const values = [toColumn(session), toColumn(incarnation), this.#now()];
    return (await this.#read<ShareRow>(SQL.listShares, values)).map((row) => readShare(row, fromColumn));
  }

  async noteOpened(shareId: string): Promise<void> {
    try {
      await this.#write(SQL.openShare, [this.#now(), this.#driver.toColumn(shareId)]);
    } catch (error) {
      // The link works although its use is not recorded.
      if (!isLoomError(error)) throw error;
    }
  }

  async revokeShare(session: string, shareId: string): Promise<boolean> {
    const { toColumn } = this.#driver;
    const values = [toColumn(shareId), toColumn(session)];
    const [row] = await this.#transact(({ invalidate }) => {
      invalidate();
      return query<Pick<ShareRow, "expires_at">>(SQL.revokeShare, values);
    });
    return row !== undefined && isBefore(row.expires_at, this.#now());
  }

  async createCookie(
    principal: Principal,
    expiresAt: number,
  ): Promise<IssuedCredential<{ readonly expiresAt: number }>> {
    const holder = holderOf(principal);
    const end = Math.min(expiresAt, principal.expiresAt ?? expiresAt);
    const key = makeKey("cookie");
    const text = serializePrincipal(principal);
    const { maxCookies, maxCookiesOfPrincipal } = this.#limits;
    const now = this.#now();
    await this.#transact(function* ({ attempt, invalidate }) {
      if (attempt > 0 && (yield* query(SQL.findCookie, [key.id])).length > 0) return;
      yield* query(SQL.sweepCookies, [now]);
      if ((yield* query(SQL.dropCookiesOf, [holder, Math.max(0, maxCookiesOfPrincipal - 1)])).length > 0) invalidate();
      if ((yield* query(SQL.dropCookies, [Math.max(0, maxCookies - 1)])).length > 0) invalidate();
      yield* query(SQL.addCookie, [key.id, key.digest, holder, text, end]);
    });
    return { secret: key.secret, info: { expiresAt: end } };
  }

  async deleteCookie(secret: string): Promise<void> {
    const key = parseKey(secret);
    if (key?.kind !== "cookie") return;
    const [row] = await this.#read<CookieOrTicketRow>(SQL.findCookie, [key.id]);
    // Compare first: an unknown secret must not cause a write.
    if (row === undefined || !isSameDigest(row.digest, key.digest)) return;
    await this.#transact(({ invalidate }) => {
      invalidate();
      return query(SQL.deleteCookie, [key.id, key.digest]);
    });
  }

  async createTicket(
    principal: Principal,
    request: TicketRequest,
  ): Promise<IssuedCredential<{ readonly expiresAt: number }>> {
    const holder = holderOf(principal);
    const end = Math.min(request.expiresAt, principal.expiresAt ?? request.expiresAt);
    const session = principal.session?.id ?? request.session;
    const column = session === undefined ? null : this.#driver.toColumn(session);
    const key = makeKey("ticket");
    const text = serializePrincipal(principal);
    const { maxTickets, maxTicketsOfPrincipal } = this.#limits;
    const now = this.#now();
    const minute = Math.floor(now / MINUTE);
    if (minute !== this.#sweptMinute) await this.#write(SQL.sweepTickets, [now]);
    this.#sweptMinute = minute;
    const values = [key.id, key.digest, holder, text, principal.cookie ?? null, column, end];
    const added = await this.#write(SQL.addTicket, [...values, now, maxTicketsOfPrincipal, maxTickets]);
    if (added.length === 0)
      throw new LoomError("too_many_open", "Too many unused tickets; use them or wait until they expire");
    return { secret: key.secret, info: { expiresAt: end } };
  }

  async useTicket(secret: string, now: number = this.#now()): Promise<UsedTicket | undefined> {
    const key = parseKey(secret);
    if (key?.kind !== "ticket") return undefined;
    const [row] = await this.#read<CookieOrTicketRow>(SQL.findTicket, [key.id]);
    // Compare first: an unknown secret must not cause a write.
    if (row === undefined || !isSameDigest(row.digest, key.digest)) return undefined;
    const { cookie, session } = row;
    // If this fails, the ticket can be used again.
    const principal = await this.#check(() => (cookie == null ? this.#resolve(row) : this.#find("cookie", cookie)));
    // Only one of several concurrent calls and processes deletes the row.
    if ((await this.#write(SQL.useTicket, [key.id])).length === 0 || !isBefore(row.expires_at, now)) return undefined;
    if (principal === undefined || !isBefore(principal.expiresAt, now)) return undefined;
    return session == null ? { principal } : { principal, session: this.#driver.fromColumn(session) };
  }

  async find(secret: string, now: number = this.#now()): Promise<Principal | undefined> {
    const key = parseKey(secret);
    if (key === undefined || key.kind === "ticket") return undefined;
    const { kind, id, digest } = key;
    const found = await this.#check(() => this.#lookUp(kind, id));
    if (found === undefined || !isSameDigest(found.digest, digest)) return undefined;
    if (!isBefore(found.principal.expiresAt, now)) return undefined;
    if (found.principal.kind === "token") await this.#noteUse(found.principal.id.slice("token:".length), now);
    return found.principal;
  }

  async isValid(principal: Principal, now: number = this.#now()): Promise<boolean> {
    if (!isBefore(principal.expiresAt, now)) return false;
    return this.#check(() => this.#isValid(principal, now));
  }

  async isNotRevoked(principalId: string): Promise<boolean> {
    return this.#check(() => this.#isNotRevoked(principalId));
  }

  async addSpent(principalId: string, tokens: number, now: number = this.#now()): Promise<number> {
    if (!(tokens > 0)) return this.readSpent(principalId, now);
    const day = Math.floor(now / DAY);
    if (day !== this.#sweptDay) await this.#write(SQL.sweepSpent, [day - this.#limits.spentDays]);
    this.#sweptDay = day;
    const most = Number.MAX_SAFE_INTEGER;
    // If the answer to a commit is lost, the tokens count twice: the limit is reached too early, never too late.
    const rows = await this.#write(SQL.addSpent, [day, principalId, Math.min(Math.ceil(tokens), most), most]);
    return (rows as readonly SpentRow[])[0]?.tokens ?? 0;
  }

  async readSpent(principalId: string, now: number = this.#now()): Promise<number> {
    const [row] = await this.#read<SpentRow>(SQL.readSpent, [Math.floor(now / DAY), principalId]);
    return row?.tokens ?? 0;
  }

  async eraseOwner(owner: string): Promise<ErasedCredentials> {
    const now = this.#now();
    const erased = await this.#transact(function* ({ invalidate }) {
      invalidate();
      const erase = function* (sql: string, ...more: readonly Value[]): Steps<number> {
        return (yield* query(sql, [owner, ...more])).length;
      };
      // Tokens last: the other statements find their rows by the tokens.
      const usageRecords = yield* erase(SQL.eraseSpent);
      const signIns = (yield* erase(SQL.eraseCookies)) + (yield* erase(SQL.eraseTickets));
      const shares = yield* erase(SQL.eraseShares);
      const tokens = (yield* erase(SQL.eraseLastToken, now, new Uint8Array(32))) + (yield* erase(SQL.eraseTokens));
      return { tokens, shares, signIns, usageRecords };
    });
    await this.#driver.overwriteErased();
    return erased;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#driver.close();
    this.#cache.clear();
  }

  *#isValid({ kind, id, cookie }: Principal, now: number): Steps<boolean> {
    if (cookie !== undefined && (yield* this.#lookUp("cookie", cookie)) === undefined) return false;
    if (kind !== "token" && kind !== "share") return true;
    const found = yield* this.#find(kind, id.slice(kind.length + 1));
    return found !== undefined && isBefore(found.expiresAt, now);
  }

  *#find(kind: StoredKind, id: string): Steps<Principal | undefined> {
    return (yield* this.#lookUp(kind, id))?.principal;
  }

  /** Undefined if unknown or revoked. The caller checks the expiry. */
  *#lookUp(kind: StoredKind, id: string): Steps<CachedCredential | undefined> {
    const name = `${kind}:${id}`;
    const cache = this.#cache;
    const known = cache.get(name);
    if (known !== undefined) return known;
    const found = yield* this.#findRow(kind, id);
    if (found === undefined) return undefined;
    if (cache.size >= MAX_CACHED) cache.clear();
    // If a credential became invalid meanwhile, this is no longer the cache in use.
    cache.set(name, found);
    return found;
  }

  *#findRow(kind: StoredKind, id: string): Steps<CachedCredential | undefined> {
    if (kind === "token") {
      const [row] = yield* query<TokenRow>(SQL.findToken, [id]);
      if (row === undefined || row.revoked_at !== null) return undefined;
      return { digest: row.digest, principal: principalOfToken(readToken(row)) };
    }
    if (kind === "share") {
      const [row] = yield* query<ShareRow>(SQL.findShare, [id]);
      if (row === undefined) return undefined;
      const info = readShare(row, this.#driver.fromColumn);
      // A link can be created at the moment its maker is revoked.
      if (!(yield* this.#isNotRevoked(info.maker))) return undefined;
      return {
        digest: row.digest,
        principal: principalOfShare(info, (yield* this.#tokenOf(info.maker))?.limits ?? {}),
      };
    }
    const [row] = yield* query<CookieOrTicketRow>(SQL.findCookie, [id]);
    const holder = row === undefined ? undefined : yield* this.#resolve(row);
    if (row === undefined || holder === undefined) return undefined;
    const expiresAt = Math.min(row.expires_at, holder.expiresAt ?? row.expires_at);
    return { digest: row.digest, principal: { ...holder, expiresAt, cookie: id } };
  }

  *#isNotRevoked(principalId = ""): Steps<boolean> {
    return !principalId.startsWith("token:") || (yield* this.#tokenOf(principalId)) !== undefined;
  }

  /** Undefined if the principal is not a token, or the token is unknown or revoked. */
  *#tokenOf(principalId = ""): Steps<Principal | undefined> {
    const [kind, id = ""] = principalId.split(":", 2);
    return kind === "token" ? yield* this.#find(kind, id) : undefined;
  }

  /** Returns the current principal of a cookie or ticket. */
  *#resolve({ holder, principal }: CookieOrTicketRow): Steps<Principal | undefined> {
    if (principal !== null) return readPrincipal(principal);
    const [kind, id = ""] = holder.split(":", 2);
    return kind === "token" || kind === "share" ? yield* this.#find(kind, id) : undefined;
  }

  /** Records the last use to the minute. A failed write is ignored, because it must not reject the request. */
  async #noteUse(id: string, now: number): Promise<void> {
    const minute = Math.floor(now / MINUTE);
    if (this.#lastUsedMinute.get(id) === minute) return;
    if (this.#lastUsedMinute.size >= MAX_CACHED) this.#lastUsedMinute.clear();
    this.#lastUsedMinute.set(id, minute);
    try {
      await this.#write(SQL.useToken, [minute * MINUTE, id], false);
    } catch (error) {
      if (!isLoomError(error)) throw error;
      this.#lastUsedMinute.delete(id);
    }
  }

  /** Reads, from the cache unless a credential became invalid in another process. */
  async #check<T>(steps: () => Steps<T>): Promise<T> {
    this.#assertOpen();
    return this.#driver.readChecked((version) => {
      if (version !== this.#version) this.#cache = new Map();
      this.#version = version;
      return steps();
    });
  }

  async #read<T>(sql: string, values: readonly Value[] = []): Promise<readonly T[]> {
    this.#assertOpen();
    return this.#driver.read(() => query<T>(sql, values));
  }

  async #write(sql: string, values: readonly Value[], waits = true): Promise<readonly unknown[]> {
    this.#assertOpen();
    return this.#driver.write(sql, values, waits);
  }

  async #transact<T>(steps: (change: Change) => Steps<T>, lock?: "tokens" | "shares"): Promise<T> {
    this.#assertOpen();
    const { countChange } = this.#driver;
    let isInvalid = false;
    const invalidate = (): void => void (isInvalid = true);
    try {
      return await this.#driver.transact(function* (attempt) {
        isInvalid = false;
        const result = yield* steps({ attempt, invalidate });
        // Last: all such transactions change this row, so others wait for it.
        if (isInvalid && countChange !== undefined) yield* query(countChange);
        return result;
      }, lock);
    } finally {
      if (isInvalid) this.#cache = new Map();
    }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new LoomError("store_closed", "The credential store is closed");
  }
}

interface SpentRow {
  readonly tokens: number;
}

/** Rejects names and IDs of tokens that are not revoked. */
function* assertFreeName(name: string): Steps<void> {
  if ((yield* query(SQL.takenName, [name])).length > 0)
    throw new LoomError("invalid_name", `A token named "${name}" already exists; revoke it first or use another name`);
}

function tooManyTokens(limit: number): LoomError {
  return new LoomError("too_many_open", `Token limit reached (${limit}); revoke unused tokens first`);
}
