/**
 * State of the share dialog.
 *
 * Invariant: the secret of a new link exists only here and is dropped when the dialog closes.
 */
import type { NewShare, Shares } from "../../../src/server/api/shapes.generated.ts";
import type { ApiFailure } from "../api/api-error.ts";
import type { LoadStatus } from "../store/session-rows.ts";

export type ShareLink = Shares["shares"][number];

export interface SharingState {
  readonly links: readonly ShareLink[];
  /** Whether links open on the server's machine only. */
  readonly isLocal: boolean;
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
  | { readonly type: "listing" }
  | { readonly type: "listed"; readonly links: readonly ShareLink[]; readonly isLocal: boolean }
  | { readonly type: "creating" }
  | { readonly type: "created"; readonly link: NewShare; readonly isCopied: boolean }
  | { readonly type: "revoking"; readonly share: string }
  | { readonly type: "revoked"; readonly share: string }
  /** `isList`: the list failed to load. */
  | { readonly type: "failed"; readonly failure: ApiFailure; readonly isList: boolean };

export const NO_SHARING: SharingState = {
  links: [],
  isLocal: false,
  status: "loading",
  created: undefined,
  isCopied: false,
  isCreating: false,
  revoking: undefined,
  failure: undefined,
};

export function reduceSharing(state: SharingState, action: SharingAction): SharingState {
  switch (action.type) {
    case "listing":
      return { ...state, status: "loading" };
    case "listed":
      return { ...state, links: action.links, isLocal: action.isLocal, status: "ready" };
    case "creating":
      return { ...state, isCreating: true, failure: undefined };
    case "created": {
      const { share_id, created_at, expires_at, opened } = action.link;
      const link = { share_id, created_at, opened, ...(expires_at === undefined ? {} : { expires_at }) };
      const others = state.links.filter((one) => one.share_id !== share_id);
      return { ...state, links: [link, ...others], created: action.link, isCopied: action.isCopied, isCreating: false };
    }
    case "revoking":
      return { ...state, revoking: action.share, failure: undefined };
    case "revoked":
      return {
        ...state,
        links: state.links.filter(({ share_id }) => share_id !== action.share),
        created: state.created?.share_id === action.share ? undefined : state.created,
        revoking: undefined,
      };
    case "failed":
      return {
        ...state,
        status: action.isList ? "failed" : state.status,
        isCreating: false,
        revoking: undefined,
        failure: action.failure,
      };
  }
}
