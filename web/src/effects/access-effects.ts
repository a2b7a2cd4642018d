/**
 * Who is at the page: asked before anything is shown, and again whenever the server seems to see it otherwise. What they
 * sign in with goes to the server and is kept nowhere; the browser keeps a cookie that no script can read.
 */
import type { Auth } from "loom-agent/server";
import { describeFailure } from "../api/api-error.ts";
import { isInside } from "../store/access.ts";
import { attempt, type Kit } from "./kit.ts";

export interface AccessEffects {
  /** Who asks many times at once is answered once. */
  checkAccess(): Promise<void>;
  /** With a token or a JWT. */
  signIn(credential: string): Promise<void>;
  signOut(): Promise<void>;
  /** With the secret of a link. */
  openLink(secret: string): Promise<void>;
  /** From what a link showed, or did not, to what there is otherwise. */
  leaveLink(): void;
}

export interface AccessPlace {
  /** The session that the page shows by a link, where it does. */
  findShared(): string | undefined;
  /** The address names it so from now on; undefined: none. */
  setShared(session: string | undefined): void;
  /** There is something to see, for the first time or again. */
  onEnter(): void;
  /** What is on the page is not for whoever is here now, nor what was written. */
  startOver(): void;
  reload(): void;
}

/** What the secret of a link begins with, and no other credential. */
const LINK_PREFIX = "loom_shr_";
/** Before the server is asked again that did not answer. */
const AGAIN_MS = 3000;

export function createAccessEffects(kit: Kit, place: AccessPlace): AccessEffects {
  const { api, store } = kit;
  let checking: Promise<void> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const take = (auth: Auth): void => {
    const before = store.getSnapshot().access;
    store.dispatch({ type: "access/told", auth, shared: place.findShared(), now: Date.now() });
    const now = store.getSnapshot().access;
    if (!isInside(now)) return;
    if (before.owner !== undefined && before.owner !== now.owner) place.startOver();
    else if (!isInside(before)) place.onEnter();
  };
  /** Until there is an answer: before the first there is nothing to show, and later ones may be that it is over. */
  const insist = (error: unknown, again: () => void): void => {
    if (store.getSnapshot().access.phase === "asking")
      store.dispatch({ type: "access/failed", failure: describeFailure(error) });
    clearTimeout(timer);
    timer = setTimeout(again, AGAIN_MS);
  };
  const check = async (): Promise<void> => {
    try {
      take(await api.getAuth());
    } catch (error) {
      insist(error, () => void checkAccess());
    }
  };
  const checkAccess = (): Promise<void> => {
    checking ??= check().finally(() => (checking = undefined));
    return checking;
  };

  const openLink = async (secret: string): Promise<void> => {
    // Whoever makes an address must not sign somebody in by it.
    if (!secret.startsWith(LINK_PREFIX)) {
      store.dispatch({ type: "access/unlinked" });
      return;
    }
    try {
      const auth = await api.signIn(secret);
      if (auth.session_id !== undefined) place.setShared(auth.session_id);
      // Who opens one where something else was shown begins anew with it.
      if (store.getSnapshot().access.phase === "asking") take(auth);
      else place.reload();
    } catch (error) {
      const { code } = describeFailure(error);
      // Nobody is asked who they are here, so nobody needs a link.
      if (code === "unsupported") await checkAccess();
      else if (code === "connection_lost") insist(error, () => void openLink(secret));
      else store.dispatch({ type: "access/unlinked" });
    }
  };

  return {
    checkAccess,
    openLink,
    leaveLink() {
      place.setShared(undefined);
      place.reload();
    },
    async signIn(credential) {
      if (store.getSnapshot().access.isBusy) return;
      store.dispatch({ type: "access/asked" });
      try {
        take(await api.signIn(credential));
      } catch (error) {
        store.dispatch({ type: "access/failed", failure: describeFailure(error) });
      }
    },
    async signOut() {
      const isDone = await attempt(kit, "sign-out", async () => {
        await api.signOut();
        return true;
      });
      if (isDone === true) place.startOver();
    },
  };
}
