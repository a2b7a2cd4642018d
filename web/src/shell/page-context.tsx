/** React context of the page controller. */
import { createContext, type ReactNode, use } from "react";
import { useStore } from "../../../src/react/page-parts.ts";
import type { Scope } from "loom-agent/server";
import type { PageController } from "../effects/create-page-controller.ts";
import { may } from "../store/access.ts";
import type { PageState } from "../store/page-state.ts";

const PageContext = createContext<PageController | undefined>(undefined);

export function PageProvider({
  page,
  children,
}: {
  readonly page: PageController;
  readonly children: ReactNode;
}): ReactNode {
  return <PageContext value={page}>{children}</PageContext>;
}

/** Returns the page controller. It never changes. */
export function usePage(): PageController {
  const page = use(PageContext);
  if (page === undefined) throw new Error("usePage must be called inside PageProvider");
  return page;
}

/** Rerenders when the selected value changes. A `select` that builds a new object must keep its identity. */
export function usePageState<S>(select: (state: PageState) => S): S {
  return useStore(usePage().store, select);
}

/** Whether the user has this scope. */
export function useMay(scope: Scope): boolean {
  return may(
    usePageState(({ access }) => access),
    scope,
  );
}
