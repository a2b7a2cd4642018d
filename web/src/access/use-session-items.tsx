/** Menu items that share and export a whole session, for the menus of the session and of an answer. */
import { lazy, type ReactNode, Suspense, useState } from "react";
import { type MenuItem, useWords } from "loom-agent/react";
import { PageBoundary } from "../shell/page-boundary.tsx";
import { useMay, usePage } from "../shell/page-context.tsx";
import { ACCESS_WORDS } from "./access-words.ts";

const ExportDialog = lazy(async () => ({ default: (await import("../export/export-dialog.tsx")).ExportDialog }));

/** `dialog` must be rendered beside the menu. */
export function useSessionItems(session: string | undefined): {
  readonly items: readonly MenuItem[];
  readonly dialog: ReactNode;
} {
  const words = useWords(ACCESS_WORDS);
  const page = usePage();
  const mayShare = useMay("write");
  const [isExporting, setExporting] = useState(false);
  const close = (): void => setExporting(false);
  if (session === undefined) return { items: [], dialog: null };
  const share = {
    key: "share",
    label: words.share,
    icon: "link",
    onSelect: () => page.dispatch({ type: "sharing/opened", session }),
  } as const;
  const exportAll = {
    key: "export",
    label: words.export,
    icon: "download",
    onSelect: () => setExporting(true),
  } as const;
  return {
    items: [...(mayShare ? [share] : []), exportAll],
    dialog: isExporting ? (
      <PageBoundary onClose={close}>
        <Suspense fallback={null}>
          <ExportDialog session={session} onClose={close} />
        </Suspense>
      </PageBoundary>
    ) : null,
  };
}
