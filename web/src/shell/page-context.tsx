/** The page in its components: what they read of its state, and what they call. */
import { createContext, type ReactNode, use } from "react";
import { useStore } from "loom-agent/react";
import type { Scope } from "loom-agent/server";
import type { Page } from "../effects/create-page.ts";
import { may } from "../store/access.ts";
import type { PageState } from "../store/page-state.ts";

const PageContext = createContext<Page | undefined>(undefined);

export function PageProvider({ page, children }: { readonly page: Page; readonly children: ReactNode }): ReactNode {
  return <PageContext value={page}>{children}</PageContext>;
}

/** The same for as long as the page is open. */
export function usePage(): Page {
  const page = use(PageContext);
  if (page === undefined) throw new Error("a component of the page stands outside it");
  return page;
}

/** Renders anew when what is selected became something else; give a function that stays the same. */
export function usePageState<S>(select: (state: PageState) => S): S {
  return useStore(usePage().store, select);
}

/** Whether whoever is here may do this; what they may not is not offered. */
export function useMay(scope: Scope): boolean {
  return may(usePageState(selectAccess), scope);
}

const selectAccess = ({ access }: PageState): PageState["access"] => access;
