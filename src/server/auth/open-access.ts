/**
 * Access control when authentication is off, the default on localhost: every caller on this machine is the local user,
 * and share links work as they do with authentication.
 *
 * Invariants:
 * - A request from another machine is never the local user. It may do what a valid share link allows, and nothing else;
 *   tokens, JWTs and sign-ins are not accepted.
 * - A request that uses a link is confined to it on this machine too.
 */
import { LoomError } from "../../protocol/index.ts";
import type { RequestInfo } from "../guard/read-request-info.ts";
import { allowAll, type Identity } from "./authorize.ts";
import type { Access, AuthService } from "./access.ts";
import { type AccessDependencies, createAccess } from "./create-access.ts";
import type { Credentials } from "./credentials/credentials.ts";
import { openCredentials } from "./credentials/open-credentials.ts";
import { asksForLink, bringsLink, isShareSecret, readBearer } from "./request-credentials.ts";
import { ANONYMOUS, LOCAL, unauthorized } from "./principal.ts";

const IDENTITY: Identity = { principal: LOCAL, shares: [] };
const NO_LINK: Identity = { principal: ANONYMOUS, shares: [] };
const ignore = (): void => undefined;

/** Where a server without authentication keeps its share links. Both functions return the same store. */
export interface LinkStore {
  /** Undefined while nothing was stored. Called until it returns a store. */
  readonly find: () => Promise<Credentials | undefined>;
  /** Creates the store if it does not exist. */
  readonly open: () => Promise<Credentials>;
}

/** Without share links, for a handler of a single log. */
export const OPEN_ACCESS: Access = {
  isOpen: true,
  findAuthService: () => Promise.resolve(undefined),
  openAuthService: () => Promise.reject(new LoomError("unsupported", "This handler has no share links")),
  identify: () => Promise.resolve(IDENTITY),
  authorize: allowAll,
  watch: () => ignore,
  countRequest: () => Promise.resolve(),
  runSearch: (_caller, _signal, search) => search(),
  admitRun: () => Promise.resolve(),
  runLimitOf: () => undefined,
  admitTurn: () => Promise.resolve(),
  countTokens: ignore,
  observers: [],
  close: () => Promise.resolve(),
};

export function createOpenAccess(store: LinkStore | undefined, dependencies: AccessDependencies): Access {
  let own: Credentials | undefined;
  const { find, open }: LinkStore = store ?? {
    find: () => Promise.resolve(own),
    open: () => Promise.resolve((own ??= openCredentials(":memory:"))),
  };
  /** Checks links. Undefined until there can be one. */
  let links: Access | undefined;
  const use = (credentials: Credentials): Access => (links ??= createAccess({ credentials }, dependencies));
  const findLinks = async (): Promise<Access | undefined> => {
    if (links !== undefined) return links;
    const credentials = await find();
    return credentials === undefined ? undefined : use(credentials);
  };
  const requireLinks = (): Access => {
    if (links === undefined) throw noLink();
    return links;
  };

  async function identifyByLink(request: RequestInfo): Promise<Identity> {
    const { principal, shares } = (await (await findLinks())?.identify(request, { skipsLogin: true })) ?? NO_LINK;
    if (principal.kind === "share") return { principal, shares: [] };
    // A ticket that was created with something else. Cookies of a sign-in are ignored.
    if (principal.kind !== "anonymous" && principal.cookie === undefined) throw unauthorized(true);
    return { principal: ANONYMOUS, shares };
  }

  return {
    ...OPEN_ACCESS,
    findAuthService: async () => onlyLinks(await (await findLinks())?.findAuthService()),
    openAuthService: async () => onlyLinks(await use(await open()).openAuthService()),
    async identify(request, { isBeforeLink = false } = {}) {
      const bearer = readBearer(request);
      const hasLink = bringsLink(request);
      if (request.isRemote === true) {
        const identity = hasLink ? await identifyByLink(request) : NO_LINK;
        if (isBeforeLink || identity.principal.kind === "share" || identity.shares.length > 0) return identity;
        throw noLink();
      }
      const isByLink = asksForLink(request) || (bearer !== undefined && hasLink) || hasTicket(request);
      return isByLink ? identifyByLink(request) : IDENTITY;
    },
    async authorize(request) {
      const { principal, shares } = request.caller;
      if (principal.kind === "local" || request.action === "public") return;
      if (principal.kind === "anonymous" && shares.length === 0) throw noLink();
      await requireLinks().authorize(request);
    },
    watch: (caller, session, onEnd) =>
      caller.principal.kind === "local" ? ignore : requireLinks().watch(caller, session, onEnd),
    async countRequest(caller) {
      if (caller.principal.kind !== "local") await requireLinks().countRequest(caller);
    },
    runSearch: (caller, signal, search) =>
      caller.principal.kind === "local" ? search() : requireLinks().runSearch(caller, signal, search),
    async admitRun({ principal }) {
      if (principal.kind !== "local") throw noLink();
    },
    async close() {
      await links?.close();
      await own?.close();
    },
  };
}

function hasTicket({ url }: RequestInfo): boolean {
  return url.searchParams.get("ticket")?.startsWith("loom_tkt_") === true;
}

function noLink(): LoomError {
  return new LoomError(
    "unauthorized",
    "Authentication is off, so this request needs a share link, and it has none that is valid: open the link again, or ask for a new one",
  );
}

/** Without authentication, nothing but links is accepted, also if the store has tokens. */
function onlyLinks<T extends AuthService | undefined>(service: T): T | AuthService {
  if (service === undefined) return service;
  return {
    ...service,
    async authenticate(text, request) {
      if (isShareSecret(text)) return service.authenticate(text, request);
      throw new LoomError("unsupported", "Authentication is off on this server, so there is nothing to sign in to");
    },
  };
}
