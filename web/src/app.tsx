/** The whole page: what it can do, and what its components may ask of it. */
import { type ReactNode, useMemo } from "react";
import { type UiActions, UiProvider, useStore } from "loom-agent/react";
import type { Page } from "./effects/create-page.ts";
import { PLUGINS } from "./plugins.ts";
import { PageBoundary } from "./shell/page-boundary.tsx";
import { PageProvider } from "./shell/page-context.tsx";
import { Shell } from "./shell/shell.tsx";
import { findImageAddress } from "./store/image-address.ts";
import type { PageState } from "./store/page-state.ts";

const selectLanguage = ({ settings }: PageState): PageState["settings"]["language"] => settings.language;
const selectCurrent = ({ sessions }: PageState): string | undefined => sessions.current;
const findImage = (url: string): string | undefined => findImageAddress(url, document.baseURI);

export function App({ page }: { readonly page: Page }): ReactNode {
  const language = useStore(page.store, selectLanguage);
  const session = useStore(page.store, selectCurrent);
  const actions = useMemo(() => createActions(page), [page]);
  const findBlob = (id: string): string =>
    `./v1/sessions/${encodeURIComponent(session ?? "")}/blobs/${encodeURIComponent(id)}`;
  return (
    <UiProvider language={language} actions={actions} plugins={PLUGINS} imageUrl={findImage} blobUrl={findBlob}>
      <PageProvider page={page}>
        <PageBoundary>
          <Shell />
        </PageBoundary>
      </PageProvider>
    </UiProvider>
  );
}

function createActions(page: Page): UiActions {
  return {
    approve: (answer) => page.approve(answer),
    changeTodo: (change) => page.changeTodo(change),
    retry: (turn) => page.retryTurn(turn),
    edit: (turn, text) => page.editTurn(turn, text),
    inspect: (place) => page.dispatch({ type: "inspector/opened", focus: { ...place } }),
  };
}
