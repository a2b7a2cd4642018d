/** Root component: provides the page controller, the UI actions and the plugins. */
import { type ReactNode, useCallback, useMemo } from "react";
import { type UiActions, UiProvider, useStore } from "../../src/react/page-parts.ts";
import { Gate } from "./access/gate.tsx";
import type { PageController } from "./effects/create-page-controller.ts";
import { PLUGINS } from "./plugins.tsx";
import { PageBoundary } from "./shell/page-boundary.tsx";
import { PageProvider } from "./shell/page-context.tsx";
import { type AccessState, may } from "./store/access.ts";
import { formatUrl } from "./api/request.ts";
import { resolveImageUrl } from "./store/image-url.ts";
import type { VersionsByRun } from "./store/find-versions.ts";
import type { PageState } from "./store/page-state.ts";
import { selectVersions } from "./store/versions.ts";

const selectLanguage = ({ settings }: PageState): PageState["settings"]["language"] => settings.language;
const selectSendKey = ({ settings }: PageState): "enter" | "ctrl-enter" => settings.sendKey ?? "enter";
const selectAccess = ({ access }: PageState): AccessState => access;
const selectCurrent = ({ sessions }: PageState): string | undefined => sessions.current;
const selectShownVersions = ({ versions, sessions }: PageState): VersionsByRun =>
  selectVersions(versions, sessions.current);
const findImage = (url: string): string | undefined => resolveImageUrl(url, document.baseURI);
/** Blob IDs come from frames. Only hexadecimal IDs become part of a URL. */
const BLOB_ID = /^[\da-f]+$/;

export function App({ page }: { readonly page: PageController }): ReactNode {
  const language = useStore(page.store, selectLanguage);
  const sendKey = useStore(page.store, selectSendKey);
  const session = useStore(page.store, selectCurrent);
  const access = useStore(page.store, selectAccess);
  const versions = useStore(page.store, selectShownVersions);
  const actions = useMemo(() => createActions(page, access), [page, access]);
  const findBlob = useCallback(
    (id: string): string | undefined =>
      BLOB_ID.test(id) ? formatUrl(`/v1/sessions/${encodeURIComponent(session ?? "")}/blobs/${id}`) : undefined,
    [session],
  );
  return (
    <UiProvider
      language={language}
      actions={actions}
      versions={versions}
      plugins={PLUGINS}
      imageUrl={findImage}
      blobUrl={findBlob}
      sendKey={sendKey}
    >
      <PageProvider page={page}>
        <PageBoundary>
          <Gate />
        </PageBoundary>
      </PageProvider>
    </UiProvider>
  );
}

/** Actions that the user has no scope for are left out, so the UI does not offer them. */
function createActions(page: PageController, access: AccessState): UiActions {
  const mayRun = may(access, "run");
  return {
    ...(may(access, "approve")
      ? { approve: (answer) => page.approve(answer), allowTool: (name, rule) => page.allowTool(name, rule) }
      : {}),
    ...(mayRun
      ? {
          changeTodo: (change) => page.changeTodo(change),
          retry: (turn) => page.retryTurn(turn),
          rate: (feedback) => page.rate(feedback),
        }
      : {}),
    // Editing creates a session and starts a run in it.
    ...(mayRun && may(access, "write") ? { edit: (turn, text) => page.editTurn(turn, text) } : {}),
    openVersion: (session, turnKey) => page.openVersion(session, turnKey),
    openSource: (source) => page.dispatch({ type: "source/opened", source }),
    inspect: (place) => page.dispatch({ type: "inspector/opened", focus: { ...place } }),
  };
}
