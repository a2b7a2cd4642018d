/**
 * Credential store in PostgreSQL, which several processes and machines share. Lookups are cached while no credential
 * became invalid, which each process asks the database at most every half second, for all credentials at once.
 *
 * Invariants: the database contains no secret; a ticket is used at most once; a revoked credential is accepted by this
 * process no more, and by others for at most `MAX_STALE_MS` and the time of one statement; without an answer of the
 * database no credential is accepted.
 */
import { isLoomError, LoomError } from "../../../protocol/index.ts";
import { migratePostgres } from "../../../postgres/migrate.ts";
import type { PostgresDatabase, SqlValue, Transaction } from "../../../postgres/postgres-database.ts";
import { fromColumn, toColumn, toOptionalColumn } from "../../../postgres/text-column.ts";
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
  type TokenRow,
  writeCopiedToken,
  writeToken,
} from "./open-credentials-rows.ts";
import { CREDENTIALS_FORMAT, LOCK, SQL } from "./postgres-credentials-schema.ts";
import type { Principal } from "../principal.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;
const MAX_CACHED = 10_000;
/** How long a cached credential is trusted without asking the database, in milliseconds. */
const MAX_STALE_MS = 500;

export interface PostgresCredentialsOptions extends Pick<CredentialsOptions, "limits" | "now"> {
  /** Default: 500. */
  readonly maxStaleMs?: number | undefined;
}

type StoredKind = Exclude<Key["kind"], "ticket">;

/** Creates the tables if they do not exist. The caller closes the database. */
export async function openPostgresCredentials(
  db: PostgresDatabase,
  options: PostgresCredentialsOptions = {},
): Promise<Credentials> {
  await migratePostgres(db, CREDENTIALS_FORMAT);
  return new PostgresCredentials(db, options);
}

class PostgresCredentials implements Credentials {
  readonly #db: PostgresDatabase;
  readonly #limits: CredentialLimits;
  readonly #now: () => number;
  readonly #maxStaleMs: number;
  /** By kind and ID: `token:k3x9…`. */
  #cache = new Map<string, CachedCredential>();
  #version: number | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;
  /** Checks that are running, by the time that they wait for a database that is away. */
  readonly #checking = new Map<number, Promise<void>>();
  /** Minute in which each token was last used. */
  readonly #lastUsedMinute = new Map<string, number>();
  #hasTokens = false;
  #sweptDay = -1;
  #isClosed = false;

  constructor(db: PostgresDatabase, options: PostgresCredentialsOptions) {
    const { limits = {}, now = Date.now, maxStaleMs = MAX_STALE_MS } = options;
    this.#db = db;
    this.#limits = { ...CREDENTIAL_LIMITS, ...limits };
    this.#now = now;
    this.#maxStaleMs = maxStaleMs;
  }

  async createToken(token: NewToken): Promise<IssuedCredential<TokenInfo>> {
    const now = this.#now();
    const checked = checkToken(token, now);
    const { maxTokens } = this.#limits;
    const key = makeKey("token");
    const row = await this.#transact(async ({ query, attempt }) => {
      await query(LOCK, ["loom tokens"]);
      const [done] = attempt === 0 ? [] : await query<TokenRow>(SQL.findToken, [key.id]);
      if (done !== undefined) return done;
      if ((await query(SQL.takenName, [checked.name])).length > 0) throw takenNameError(checked.name);
      await query(SQL.dropTokens, [now, maxTokens]);
      const [counted] = await query<{ readonly n: number }>(SQL.countTokens);
      if ((counted?.n ?? 0) >= maxTokens) throw tooManyTokens(maxTokens);
      const [added] = await query<TokenRow>(SQL.addToken, [
        key.id,
        key.digest,
        ...writeToken(checked),
        now,
        checked.expiresAt ?? null,
      ]);
      return added;
    });
    return { secret: key.secret, info: readToken(row as TokenRow) };
  }

  async listTokens(): Promise<readonly TokenInfo[]> {
    return (await this.#read<TokenRow>(SQL.listTokens)).map(readToken);
  }

  async revokeToken(idOrName: string): Promise<boolean> {
    if (idOrName.includes("\0")) return false;
    const now = this.#now();
    return this.#transact(async ({ query, attempt }, invalidate) => {
      invalidate();
      const [row] = await query<Pick<TokenRow, "id">>(SQL.revokeToken, [now, idOrName]);
      // The answer to the first attempt may have been lost.
      if (row === undefined) return attempt > 0 && (await query(SQL.wasRevoked, [now, idOrName])).length > 0;
      await query(SQL.dropSharesOf, [`token:${row.id}`]);
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
    return this.#transact(async ({ query }, invalidate) => {
      await query(LOCK, ["loom tokens"]);
      let added = 0;
      for (const token of tokens) {
        const { tokenId, name, revokedAt } = token;
        if ((await query(SQL.findToken, [tokenId])).length > 0) {
          if (revokedAt === undefined) continue;
          invalidate();
          await query(SQL.revokeImported, [revokedAt, tokenId]);
          await query(SQL.dropSharesOf, [`token:${tokenId}`]);
          continue;
        }
        if (revokedAt === undefined && (await query(SQL.takenName, [name])).length > 0) throw takenNameError(name);
        const [counted] = await query<{ readonly n: number }>(SQL.countTokens);
        if ((counted?.n ?? 0) >= maxTokens) throw tooManyTokens(maxTokens);
        await query(SQL.importToken, writeCopiedToken(token));
        added++;
      }
      return added;
    });
  }

  async createShare(share: NewShare): Promise<IssuedCredential<ShareInfo>> {
    const now = this.#now();
    checkShare(share, now);
    const { owner, maker } = share;
    const [session, incarnation] = [toColumn(share.session), toColumn(share.incarnation)];
    const { maxSharesOfSession, maxSharesOfOwner } = this.#limits;
    const expiresAt = earlier(share.expiresAt, (await this.#tokenOf(maker))?.expiresAt);
    const key = makeKey("share");
    const row = await this.#transact(async ({ query, attempt }, invalidate) => {
      await query(LOCK, ["loom shares"]);
      const [done] = attempt === 0 ? [] : await query<ShareRow>(SQL.findShare, [key.id]);
      if (done !== undefined) return done;
      if ((await query(SQL.sweepShares, [now, session, incarnation])).length > 0) invalidate();
      const [counted] = await query<{ readonly n: number }>(SQL.countSharesOfSession, [session]);
      if ((counted?.n ?? 0) >= maxSharesOfSession)
        throw new LoomError(
          "too_many_open",
          `Share link limit of this session reached (${maxSharesOfSession}); revoke some first`,
        );
      if ((await query(SQL.dropShares, [owner, maxSharesOfOwner])).length > 0) invalidate();
      const values = [key.id, key.digest, session, incarnation, owner, toOptionalColumn(maker), now, expiresAt ?? null];
      const [added] = await query<ShareRow>(SQL.addShare, values);
      return added;
    });
    return { secret: key.secret, info: readShareRow(row as ShareRow) };
  }

  async listShares(session: string, incarnation: string): Promise<readonly ShareInfo[]> {
    const values = [toColumn(session), toColumn(incarnation), this.#now()];
    return (await this.#read<ShareRow>(SQL.listShares, values)).map(readShareRow);
  }

  async noteOpened(shareId: string): Promise<void> {
    await ignoreFailure(this.#write(SQL.openShare, [this.#now(), toColumn(shareId)]));
  }

  async revokeShare(session: string, shareId: string): Promise<boolean> {
    const values = [toColumn(shareId), toColumn(session)];
    const [row] = await this.#transact(({ query }, invalidate) => {
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
    await this.#transact(async ({ query, attempt }, invalidate) => {
      if (attempt > 0 && (await query(SQL.findCookie, [key.id])).length > 0) return;
      await query(SQL.sweepCookies, [this.#now()]);
      if ((await query(SQL.dropCookiesOf, [holder, maxCookiesOfPrincipal])).length > 0) invalidate();
      if ((await query(SQL.dropCookies, [maxCookies])).length > 0) invalidate();
      await query(SQL.addCookie, [key.id, key.digest, holder, text, end]);
    });
    return { secret: key.secret, info: { expiresAt: end } };
  }

  async deleteCookie(secret: string): Promise<void> {
    const key = parseKey(secret);
    if (key?.kind !== "cookie") return;
    const [row] = await this.#read<CookieOrTicketRow>(SQL.findCookie, [key.id]);
    // Compare first: an unknown secret must not cause a write.
    if (row === undefined || !isSameDigest(row.digest, key.digest)) return;
    await this.#transact(({ query }, invalidate) => {
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
    const session = toOptionalColumn(principal.session?.id ?? request.session);
    const key = makeKey("ticket");
    const { maxTickets, maxTicketsOfPrincipal } = this.#limits;
    const added = await this.#write(SQL.addTicket, [
      key.id,
      key.digest,
      holder,
      serializePrincipal(principal),
      principal.cookie ?? null,
      session,
      end,
      this.#now(),
      maxTicketsOfPrincipal,
      maxTickets,
    ]);
    if (added.length === 0)
      throw new LoomError("too_many_open", "Too many unused tickets; use them or wait until they expire");
    return { secret: key.secret, info: { expiresAt: end } };
  }

  async useTicket(secret: string, now: number = this.#now()): Promise<UsedTicket | undefined> {
    const key = parseKey(secret);
    if (key?.kind !== "ticket") return undefined;
    await this.#refresh();
    const [row] = await this.#write<CookieOrTicketRow>(SQL.useTicket, [key.id, key.digest]);
    if (row === undefined || !isBefore(row.expires_at, now)) return undefined;
    const { cookie, session } = row;
    const principal = cookie == null ? await this.#resolve(row) : (await this.#lookUp("cookie", cookie))?.principal;
    if (principal === undefined || !isBefore(principal.expiresAt, now)) return undefined;
    return session == null ? { principal } : { principal, session: fromColumn(session) };
  }

  async find(secret: string, now: number = this.#now()): Promise<Principal | undefined> {
    const key = parseKey(secret);
    if (key === undefined || key.kind === "ticket") return undefined;
    const { kind, id, digest } = key;
    await this.#refresh();
    const found = await this.#lookUp(kind, id);
    if (found === undefined || !isSameDigest(found.digest, digest)) return undefined;
    if (!isBefore(found.principal.expiresAt, now)) return undefined;
    if (found.principal.kind === "token") await this.#noteUse(found.principal.id.slice("token:".length), now);
    return found.principal;
  }

  async isValid(principal: Principal, now: number = this.#now()): Promise<boolean> {
    if (!isBefore(principal.expiresAt, now)) return false;
    const { kind, id, cookie } = principal;
    await this.#refresh();
    if (cookie !== undefined && (await this.#lookUp("cookie", cookie)) === undefined) return false;
    if (kind !== "token" && kind !== "share") return true;
    const found = await this.#lookUp(kind, id.slice(kind.length + 1));
    return found !== undefined && isBefore(found.principal.expiresAt, now);
  }

  async isNotRevoked(principalId: string): Promise<boolean> {
    await this.#refresh();
    return this.#isNotRevoked(principalId);
  }

  async addSpent(principalId: string, tokens: number, now: number = this.#now()): Promise<number> {
    if (!(tokens > 0)) return this.readSpent(principalId, now);
    const day = Math.floor(now / DAY);
    if (day !== this.#sweptDay) await this.#write(SQL.sweepSpent, [day - this.#limits.spentDays]);
    this.#sweptDay = day;
    const count = Math.min(Math.ceil(tokens), Number.MAX_SAFE_INTEGER);
    // If the answer to a commit is lost, the tokens count twice: the limit is reached too early, never too late.
    const [row] = await this.#write<{ readonly tokens: number }>(SQL.addSpent, [day, principalId, count]);
    return row?.tokens ?? 0;
  }

  async readSpent(principalId: string, now: number = this.#now()): Promise<number> {
    const [row] = await this.#read<{ readonly tokens: number }>(SQL.readSpent, [Math.floor(now / DAY), principalId]);
    return row?.tokens ?? 0;
  }

  async eraseOwner(owner: string): Promise<ErasedCredentials> {
    return this.#transact(async ({ query }, invalidate) => {
      invalidate();
      const count = async (sql: string, ...more: readonly number[]): Promise<number> =>
        (await query(sql, [owner, ...more])).length;
      // Tokens last: the other statements find their rows by the tokens.
      const usageRecords = await count(SQL.eraseSpent);
      const signIns = (await count(SQL.eraseCookies)) + (await count(SQL.eraseTickets));
      const shares = await count(SQL.eraseShares);
      const tokens = (await count(SQL.eraseLastToken, this.#now())) + (await count(SQL.eraseTokens));
      return { tokens, shares, signIns, usageRecords };
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cache.clear();
  }

  /** Undefined if unknown or revoked. The caller checks the expiry. */
  async #lookUp(kind: StoredKind, id: string): Promise<CachedCredential | undefined> {
    const name = `${kind}:${id}`;
    const cache = this.#cache;
    const known = cache.get(name);
    if (known !== undefined) return known;
    const found = await this.#findRow(kind, id);
    if (found === undefined) return undefined;
    if (cache.size >= MAX_CACHED) cache.clear();
    // If a credential became invalid meanwhile, this is no longer the cache in use.
    cache.set(name, found);
    return found;
  }

  async #findRow(kind: StoredKind, id: string): Promise<CachedCredential | undefined> {
    if (kind === "token") {
      const [row] = await this.#read<TokenRow>(SQL.findToken, [id]);
      if (row === undefined || row.revoked_at !== null) return undefined;
      return { digest: row.digest, principal: principalOfToken(readToken(row)) };
    }
    if (kind === "share") {
      const [row] = await this.#read<ShareRow>(SQL.findShare, [id]);
      if (row === undefined) return undefined;
      const info = readShareRow(row);
      // A link can be created at the moment its maker is revoked.
      if (!(await this.#isNotRevoked(info.maker))) return undefined;
      return { digest: row.digest, principal: principalOfShare(info, (await this.#tokenOf(info.maker))?.limits ?? {}) };
    }
    const [row] = await this.#read<CookieOrTicketRow>(SQL.findCookie, [id]);
    const holder = row === undefined ? undefined : await this.#resolve(row);
    if (row === undefined || holder === undefined) return undefined;
    const expiresAt = Math.min(row.expires_at, holder.expiresAt ?? row.expires_at);
    return { digest: row.digest, principal: { ...holder, expiresAt, cookie: id } };
  }

  async #isNotRevoked(principalId = ""): Promise<boolean> {
    return !principalId.startsWith("token:") || (await this.#tokenOf(principalId)) !== undefined;
  }

  /** Undefined if the principal is not a token, or the token is unknown or revoked. */
  async #tokenOf(principalId = ""): Promise<Principal | undefined> {
    const [kind, id = ""] = principalId.split(":", 2);
    return kind === "token" ? (await this.#lookUp(kind, id))?.principal : undefined;
  }

  /** Returns the current principal of a cookie or ticket. */
  async #resolve({ holder, principal }: CookieOrTicketRow): Promise<Principal | undefined> {
    if (principal !== null) return readPrincipal(principal);
    const [kind, id = ""] = holder.split(":", 2);
    return kind === "token" || kind === "share" ? (await this.#lookUp(kind, id))?.principal : undefined;
  }

  /** Records the last use to the minute. A failed write is ignored, because it must not reject the request. */
  async #noteUse(id: string, now: number): Promise<void> {
    const minute = Math.floor(now / MINUTE);
    if (this.#lastUsedMinute.get(id) === minute) return;
    if (this.#lastUsedMinute.size >= MAX_CACHED) this.#lastUsedMinute.clear();
    this.#lastUsedMinute.set(id, minute);
    try {
      await this.#write(SQL.useToken, [minute * MINUTE, id]);
    } catch (error) {
      if (!isLoomError(error)) throw error;
      this.#lastUsedMinute.delete(id);
    }
  }

  /** Drops the cache if a credential became invalid. Concurrent calls that wait equally long share a check. */
  async #refresh(): Promise<void> {
    this.#assertOpen();
    const now = performance.now();
    if (now - this.#checkedAt < this.#maxStaleMs) return;
    const { readWaitMs } = this.#db;
    let checking = this.#maxStaleMs === 0 ? undefined : this.#checking.get(readWaitMs);
    if (checking === undefined) this.#checking.set(readWaitMs, (checking = this.#checkVersion(readWaitMs)));
    await checking;
  }

  async #checkVersion(waitMs: number): Promise<void> {
    const began = performance.now();
    try {
      const [row] = await this.#db.read<{ readonly version: number }>(SQL.readVersion, [], waitMs);
      if (row?.version !== this.#version) this.#cache = new Map();
      this.#version = row?.version;
      this.#checkedAt = began;
    } finally {
      this.#checking.delete(waitMs);
    }
  }

  async #read<T>(sql: string, values: readonly (string | number)[] = []): Promise<readonly T[]> {
    this.#assertOpen();
    return this.#db.read<T>(sql, values);
  }

  /** Requests wait for it, so it waits no longer than a read. */
  async #write<T>(sql: string, values: readonly SqlValue[]): Promise<readonly T[]> {
    this.#assertOpen();
    return this.#db.write<T>(sql, values, this.#db.settings.readWaitMs);
  }

  /** `work` calls `invalidate` if a credential becomes invalid, so that no process finds it in its cache. */
  async #transact<T>(work: (transaction: Transaction, invalidate: () => void) => Promise<T>): Promise<T> {
    this.#assertOpen();
    let isInvalid = false;
    try {
      return await this.#db.transact(
        async (transaction) => {
          isInvalid = false;
          const result = await work(transaction, () => (isInvalid = true));
          // Last: all such transactions change this row, so others wait for it.
          if (isInvalid) await transaction.query(SQL.countChange);
          return result;
        },
        { waitMs: this.#db.settings.readWaitMs },
      );
    } finally {
      if (isInvalid) this.#cache = new Map();
    }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new LoomError("store_closed", "The credential store is closed");
  }
}

function readShareRow(row: ShareRow): ShareInfo {
  const { session, incarnation, maker } = row;
  return readShare({
    ...row,
    session: fromColumn(session),
    incarnation: fromColumn(incarnation),
    maker: maker === null ? null : fromColumn(maker),
  });
}
