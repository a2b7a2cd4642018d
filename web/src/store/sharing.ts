/** The links to one session, while they are looked at. The secret of a link is here until its window closes, and nowhere else. */
import type { NewShare, Shares } from "loom-agent/server";
import type { Failure } from "../api/api-error.ts";
import type { Loading } from "./sessions.ts";

export type ShareLink = Shares["shares"][number];

export interface SharingState {
  readonly session: string;
  readonly links: readonly ShareLink[];
  readonly status: Loading;
  /** The one that was made last, with its address. */
  readonly made: NewShare | undefined;
  readonly isCopied: boolean;
  /** One is being made, or this one taken back. */
  readonly isMaking: boolean;
  readonly revoking: string | undefined;
  readonly trouble: Failure | undefined;
}

export type SharingAction =
  | { readonly type: "sharing/opened"; readonly session: string }
  | { readonly type: "sharing/closed" }
  | { readonly type: "sharing/listed"; readonly session: string; readonly links: readonly ShareLink[] }
  | { readonly type: "sharing/making" }
  | { readonly type: "sharing/made"; readonly session: string; readonly link: NewShare; readonly isCopied: boolean }
  | { readonly type: "sharing/revoking"; readonly share: string }
  | { readonly type: "sharing/revoked"; readonly session: string; readonly share: string }
  /** `isList`: what could not be had is the list itself. */
  | {
      readonly type: "sharing/failed";
      readonly session: string;
      readonly failure: Failure;
      readonly isList: boolean;
    };

/** Undefined: nobody looks. What comes for another session comes too late. */
export function reduceSharing(state: SharingState | undefined, action: SharingAction): SharingState | undefined {
  if (action.type === "sharing/opened") return openSharing(action.session);
  if (action.type === "sharing/closed" || state === undefined)
    return action.type === "sharing/closed" ? undefined : state;
  if ("session" in action && action.session !== state.session) return state;
  switch (action.type) {
    case "sharing/listed":
      return { ...state, links: action.links, status: "ready" };
    case "sharing/making":
      return { ...state, isMaking: true, trouble: undefined };
    case "sharing/made": {
      const { share_id, created_at, expires_at } = action.link;
      const link = { share_id, created_at, ...(expires_at === undefined ? {} : { expires_at }) };
      const others = state.links.filter((one) => one.share_id !== share_id);
      return { ...state, links: [link, ...others], made: action.link, isCopied: action.isCopied, isMaking: false };
    }
    case "sharing/revoking":
      return { ...state, revoking: action.share, trouble: undefined };
    case "sharing/revoked":
      return {
        ...state,
        links: state.links.filter(({ share_id }) => share_id !== action.share),
        made: state.made?.share_id === action.share ? undefined : state.made,
        revoking: undefined,
      };
    case "sharing/failed":
      return {
        ...state,
        status: action.isList ? "failed" : state.status,
        isMaking: false,
        revoking: undefined,
        trouble: action.failure,
      };
    // What concerns others.
    default:
      return state;
  }
}

function openSharing(session: string): SharingState {
  return {
    session,
    links: [],
    status: "loading",
    made: undefined,
    isCopied: false,
    isMaking: false,
    revoking: undefined,
    trouble: undefined,
  };
}
