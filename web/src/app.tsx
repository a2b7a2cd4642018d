/** The whole page: what it can do, and what its components may ask of it. */
import { type ReactNode, useCallback, useMemo } from "react";
import { type UiActions, UiProvider, useStore } from "loom-agent/react";
import { Gate } from "./access/gate.tsx";
import type { Page } from "./effects/create-page.ts";
import { PLUGINS } from "./plugins.ts";
import { PageBoundary } from "./shell/page-boundary.tsx";
import { PageProvider } from "./shell/page-context.tsx";
import { type AccessState, may } from "./store/access.ts";
import { findImageAddress } from "./store/image-address.ts";
import type { PageState } from "./store/page-state.ts";

const selectLanguage = ({ settings }: PageState): PageState["settings"]["language"] => settings.language;
const selectAccess = ({ access }: PageState): AccessState => access;
const selectCurrent = ({ sessions }: PageState): string | undefined => sessions.current;
const findImage = (url: string): string | undefined => findImageAddress(url, document.baseURI);
/** Whatever a frame calls a file, the address is one of a file. */
const BLOB_ID = /^[\da-f]+$/;

export function App({ page }: { readonly page: Page }): ReactNode {
  const language = useStore(page.store, selectLanguage);
  const session = useStore(page.store, selectCurrent);
  const access = useStore(page.store, selectAccess);
  const actions = useMemo(() => createActions(page, access), [page, access]);
  const findBlob = useCallback(
    (id: string): string | undefined =>
      BLOB_ID.test(id) ? `./v1/sessions/${encodeURIComponent(session ?? "")}/blobs/${id}` : undefined,
    [session],
  );
  return (
    <UiProvider language={language} actions={actions} plugins={PLUGINS} imageUrl={findImage} blobUrl={findBlob}>
      <PageProvider page={page}>
        <PageBoundary>
          <Gate />
        </PageBoundary>
      </PageProvider>
    </UiProvider>
  );
}

/** Those that are theirs to do: what is not given is not offered. */
function createActions(page: Page, access: AccessState): UiActions {
  const mayRun = may(access, "run");
  return {
    ...(may(access, "approve") ? { approve: (answer) => page.approve(answer) } : {}),
    ...(mayRun ? { changeTodo: (change) => page.changeTodo(change), retry: (turn) => page.retryTurn(turn) } : {}),
    // It makes a session, and begins a run there.
    ...(mayRun && may(access, "write") ? { edit: (turn, text) => page.editTurn(turn, text) } : {}),
    inspect: (place) => page.dispatch({ type: "inspector/opened", focus: { ...place } }),
  };
}
