/** Menu items that share and export a whole session, for the menus of the session and of an answer. */
import { type MenuItem, useWords } from "../../../src/react/page-parts.ts";
import { useMay, usePage } from "../shell/page-context.tsx";
import { ACCESS_WORDS } from "./access-words.ts";

export function useSessionItems(session: string | undefined): readonly MenuItem[] {
  const words = useWords(ACCESS_WORDS);
  const page = usePage();
  const mayShare = useMay("write");
  if (session === undefined) return [];
  const open = (name: "share" | "export") => () =>
    page.dispatch({ type: "session-dialog/opened", dialog: { name, session } });
  return [
    ...(mayShare ? [{ key: "share", label: words.share, icon: "link", onSelect: open("share") } as const] : []),
    { key: "export", label: words.export, icon: "download", onSelect: open("export") },
  ];
}
