/** Lists, creates, copies and revokes the share links of a session, while its dialog is open. */
import { useEffect, useMemo, useReducer, useRef } from "react";
import { describeFailure } from "../api/api-error.ts";
import type { Api } from "../api/create-api.ts";
import { createQuery } from "../api/query.ts";
import { NO_SHARING, reduceSharing, type SharingState } from "./sharing.ts";

export interface Sharing {
  readonly sharing: SharingState;
  readonly list: () => void;
  /** Creates a link and copies it if the browser allows. `expiresInMs` undefined: valid until revoked. */
  readonly create: (expiresInMs: number | undefined) => Promise<void>;
  readonly revoke: (share: string) => Promise<void>;
}

/** How often the openings are read again. */
const REFRESH_MS = 5000;

export function useSharing(api: Pick<Api, "listShares" | "createShare" | "deleteShare">, session: string): Sharing {
  const [sharing, dispatch] = useReducer(reduceSharing, NO_SHARING);
  // A second click before the next render must not send a second request.
  const isBusy = useRef(false);
  const effects = useMemo(() => {
    const query = createQuery();
    const alone = async (work: () => Promise<void>): Promise<void> => {
      if (isBusy.current) return;
      isBusy.current = true;
      try {
        await query.changing(work);
      } catch (error) {
        dispatch({ type: "failed", failure: describeFailure(error), isList: false });
      } finally {
        isBusy.current = false;
      }
    };
    const load = async (): Promise<void> => {
      // A list that was read before a link was created or revoked is out of date.
      const { shares: links, this_machine_only: isLocal } = await query.fresh(() => api.listShares(session));
      dispatch({ type: "listed", links, isLocal });
    };
    return {
      // On failure, the list that is shown stays.
      refresh: () => (isBusy.current ? undefined : void load().catch(() => undefined)),
      list() {
        dispatch({ type: "listing" });
        void load().catch((error: unknown) =>
          dispatch({ type: "failed", failure: describeFailure(error), isList: true }),
        );
      },
      create: (expiresInMs: number | undefined) =>
        alone(async () => {
          dispatch({ type: "creating" });
          const link = await api.createShare(session, expiresInMs);
          dispatch({ type: "created", link, isCopied: await copy(link.url) });
        }),
      revoke: (share: string) =>
        alone(async () => {
          dispatch({ type: "revoking", share });
          try {
            await api.deleteShare(session, share);
          } catch (error) {
            // Another client revoked it first.
            if (describeFailure(error).code !== "not_found") throw error;
          }
          dispatch({ type: "revoked", share });
        }),
    };
  }, [api, session]);
  useEffect(() => {
    effects.list();
    const timer = setInterval(() => effects.refresh(), REFRESH_MS);
    return () => clearInterval(timer);
  }, [effects]);
  return { sharing, ...effects };
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
