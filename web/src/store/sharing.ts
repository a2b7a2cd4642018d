/**
 * State of the share dialog.
 *
 * Invariant: the secret of a new link exists only here and is dropped when the dialog closes.
 */
import type { NewShare, Shares } from "loom-agent/server";
import type { ApiFailure } from "../api/api-error.ts";
import type { LoadStatus } from "./session-rows.ts";

export type ShareLink = Shares["shares"][number];

export interface SharingState {
  readonly session: string;
  readonly links: readonly ShareLink[];
  readonly status: LoadStatus;
  /** The link created last, with its URL. */
  readonly created: NewShare | undefined;
  readonly isCopied: boolean;
  /** A link is being created, or this one is being revoked. */
  readonly isCreating: boolean;
  readonly revoking: string | undefined;
  readonly failure: ApiFailure | undefined;
}

export type SharingAction =
  | { readonly type: "sharing/opened"; readonly session: string }
  | { readonly type: "sharing/closed" }
  | { readonly type: "sharing/listed"; readonly session: string; readonly links: readonly ShareLink[] }
  | { readonly type: "sharing/creating" }
  | { readonly type: "sharing/created"; readonly session: string; readonly link: NewShare; readonly isCopied: boolean }
  | { readonly type: "sharing/revoking"; readonly share: string }
  | { readonly type: "sharing/revoked"; readonly session: string; readonly share: string }
  /** `isList`: the list failed to load. */
  | {
      readonly type: "sharing/failed";
      readonly session: string;
      readonly failure: ApiFailure;
      readonly isList: boolean;
    };

/** Undefined: the dialog is closed. Responses for another session are ignored. */
export function reduceSharing(state: SharingState | undefined, action: SharingAction): SharingState | undefined {
  if (action.type === "sharing/opened") return openSharing(action.session);
  if (action.type === "sharing/closed" || state === undefined)
    return action.type === "sharing/closed" ? undefined : state;
  if ("session" in action && action.session !== state.session) return state;
  switch (action.type) {
    case "sharing/listed":
      return { ...state, links: action.links, status: "ready" };
    case "sharing/creating":
      return { ...state, isCreating: true, failure: undefined };
    case "sharing/created": {
      const { share_id, created_at, expires_at } = action.link;
      const link = { share_id, created_at, ...(expires_at === undefined ? {} : { expires_at }) };
      const others = state.links.filter((one) => one.share_id !== share_id);
      return { ...state, links: [link, ...others], created: action.link, isCopied: action.isCopied, isCreating: false };
    }
    case "sharing/revoking":
      return { ...state, revoking: action.share, failure: undefined };
    case "sharing/revoked":
      return {
        ...state,
        links: state.links.filter(({ share_id }) => share_id !== action.share),
        created: state.created?.share_id === action.share ? undefined : state.created,
        revoking: undefined,
      };
    case "sharing/failed":
      return {
        ...state,
        status: action.isList ? "failed" : state.status,
        isCreating: false,
        revoking: undefined,
        failure: action.failure,
      };
    // Actions of other slices.
    default:
      return state;
  }
}

function openSharing(session: string): SharingState {
  return {
    session,
    links: [],
    status: "loading",
    created: undefined,
    isCopied: false,
    isCreating: false,
    revoking: undefined,
    failure: undefined,
  };
}
