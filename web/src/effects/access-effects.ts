/**
 * Sign-in, sign-out and share links. Access is checked before anything is shown, and again when a request or a stream
 * fails.
 *
 * Invariant: credentials go to the server and are stored nowhere. The browser keeps an HttpOnly cookie.
 */
import type { Auth } from "../../../src/server/api/shapes.generated.ts";
import { describeFailure } from "../api/api-error.ts";
import { hasAccess } from "../store/access.ts";
import { attempt, type EffectContext } from "./effect-context.ts";

export interface AccessEffects {
  /** Loads the access state. Concurrent calls share one request. */
  checkAccess(): Promise<void>;
  /** Signs in with a token or a JWT. */
  signIn(credential: string): Promise<void>;
  signOut(): Promise<void>;
  /** Opens a share link by its secret. */
  openLink(secret: string): Promise<void>;
  /** Leaves a shared session or an invalid link, and shows the user's own sessions. */
  leaveLink(): void;
}

export interface AccessCallbacks {
  /** Returns the ID of the shared session in the URL, if there is one. */
  findShared(): string | undefined;
  /** Writes the shared session to the URL; undefined removes it. */
  setShared(session: string | undefined): void;
  /** Called each time the user gains access. */
  onEnter(): void;
  /** Discards the page and its drafts, because another user signed in or the user signed out. */
  startOver(): void;
  reload(): void;
}

/** Prefix that only share secrets have. */
const LINK_PREFIX = "loom_shr_";
/** Delay before an unanswered access check is repeated. */
const RETRY_MS = 3000;

export function createAccessEffects(context: EffectContext, callbacks: AccessCallbacks): AccessEffects {
  const { api, store } = context;
  let checking: Promise<void> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const applyAuth = (auth: Auth): void => {
    const before = store.getSnapshot().access;
    store.dispatch({ type: "access/loaded", auth, shared: callbacks.findShared(), now: Date.now() });
    const now = store.getSnapshot().access;
    if (!hasAccess(now)) return;
    if (before.owner !== undefined && before.owner !== now.owner) callbacks.startOver();
    else if (!hasAccess(before)) callbacks.onEnter();
  };
  /**
   * Retries until the server responds: before the first response nothing can be shown, and later ones may revoke
   * access.
   */
  const retryLater = (error: unknown, again: () => void): void => {
    if (store.getSnapshot().access.phase === "checking")
      store.dispatch({ type: "access/failed", failure: describeFailure(error) });
    clearTimeout(timer);
    timer = setTimeout(again, RETRY_MS);
  };
  const check = async (): Promise<void> => {
    try {
      applyAuth(await api.getAuth());
    } catch (error) {
      retryLater(error, () => void checkAccess());
    }
  };
  const checkAccess = (): Promise<void> => {
    checking ??= check().finally(() => (checking = undefined));
    return checking;
  };

  const openLink = async (secret: string): Promise<void> => {
    // A crafted URL must not sign the user in with another credential.
    if (!secret.startsWith(LINK_PREFIX)) {
      store.dispatch({ type: "access/link-invalid" });
      return;
    }
    try {
      const auth = await api.signIn(secret);
      if (auth.session_id !== undefined) callbacks.setShared(auth.session_id);
      // The page shows something else already. Start over with the link.
      if (store.getSnapshot().access.phase === "checking") applyAuth(auth);
      else callbacks.reload();
    } catch (error) {
      if (describeFailure(error).code === "connection_lost") retryLater(error, () => void openLink(secret));
      else store.dispatch({ type: "access/link-invalid" });
    }
  };

  return {
    checkAccess,
    openLink,
    leaveLink() {
      callbacks.setShared(undefined);
      callbacks.reload();
    },
    async signIn(credential) {
      if (store.getSnapshot().access.isBusy) return;
      store.dispatch({ type: "access/submitted" });
      try {
        applyAuth(await api.signIn(credential));
      } catch (error) {
        store.dispatch({ type: "access/failed", failure: describeFailure(error) });
      }
    },
    async signOut() {
      const isDone = await attempt(context, "sign-out", async () => {
        await api.signOut();
        return true;
      });
      if (isDone === true) callbacks.startOver();
    },
  };
}
