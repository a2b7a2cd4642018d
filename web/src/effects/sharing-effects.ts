/** Links to a session: made, copied, listed and taken back. */
import { describeFailure } from "../api/api-error.ts";
import type { Kit } from "./kit.ts";

export interface SharingEffects {
  /** Opens the window in which the links of a session are. */
  openSharing(session: string): void;
  /** For so long, or until it is taken back. It is copied, where the browser lets the page. */
  createShare(expiresInMs: number | undefined): Promise<void>;
  revokeShare(share: string): Promise<void>;
}

export function createSharingEffects({ api, store }: Pick<Kit, "api" | "store">): SharingEffects {
  const list = async (session: string): Promise<void> => {
    try {
      const { shares: links } = await api.listShares(session);
      store.dispatch({ type: "sharing/listed", session, links });
    } catch (error) {
      store.dispatch({ type: "sharing/failed", session, failure: describeFailure(error), isList: true });
    }
  };
  return {
    openSharing(session) {
      store.dispatch({ type: "sharing/opened", session });
      void list(session);
    },
    async createShare(expiresInMs) {
      const { sharing } = store.getSnapshot();
      if (sharing === undefined || sharing.isMaking) return;
      const { session } = sharing;
      store.dispatch({ type: "sharing/making" });
      try {
        const link = await api.createShare(session, expiresInMs);
        store.dispatch({ type: "sharing/made", session, link, isCopied: await copy(link.url) });
      } catch (error) {
        store.dispatch({ type: "sharing/failed", session, failure: describeFailure(error), isList: false });
      }
    },
    async revokeShare(share) {
      const { sharing } = store.getSnapshot();
      if (sharing === undefined || sharing.revoking !== undefined) return;
      const { session } = sharing;
      store.dispatch({ type: "sharing/revoking", share });
      try {
        await api.deleteShare(session, share);
        store.dispatch({ type: "sharing/revoked", session, share });
      } catch (error) {
        const failure = describeFailure(error);
        // Somebody else was quicker.
        if (failure.code === "not_found") store.dispatch({ type: "sharing/revoked", session, share });
        else store.dispatch({ type: "sharing/failed", session, failure, isList: false });
      }
    },
  };
}

/** A page that came by plain HTTP from elsewhere has no clipboard. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
