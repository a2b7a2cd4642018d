/** Creates, copies, lists and revokes share links. */
import { describeFailure } from "../api/api-error.ts";
import type { EffectContext } from "./effect-context.ts";

export interface SharingEffects {
  /** Opens the share dialog and loads the links. */
  openSharing(session: string): void;
  /** Creates a link and copies it if the browser allows. `expiresInMs` undefined: valid until revoked. */
  createShare(expiresInMs: number | undefined): Promise<void>;
  revokeShare(share: string): Promise<void>;
}

export function createSharingEffects({ api, store }: Pick<EffectContext, "api" | "store">): SharingEffects {
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
      if (sharing === undefined || sharing.isCreating) return;
      const { session } = sharing;
      store.dispatch({ type: "sharing/creating" });
      try {
        const link = await api.createShare(session, expiresInMs);
        store.dispatch({ type: "sharing/created", session, link, isCopied: await copy(link.url) });
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
        // Another client revoked it first.
        if (failure.code === "not_found") store.dispatch({ type: "sharing/revoked", session, share });
        else store.dispatch({ type: "sharing/failed", session, failure, isList: false });
      }
    },
  };
}

/** The clipboard is missing on plain-HTTP pages outside localhost. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
