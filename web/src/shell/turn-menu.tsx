/** The menu of an answer: copy, edit, export, show frames; share and export the whole session. */
import type { ReactNode } from "react";
import { Icon, Menu, type MenuItem, type TurnMenuProps, useUi, useWords } from "../../../src/react/page-parts.ts";
import { useMay, usePage, usePageState } from "./page-context.tsx";
import { SHELL_WORDS } from "./shell-words.ts";
import { ACCESS_WORDS } from "../access/access-words.ts";

/** The editor belongs to the message of the user, which is in another place of the run. */
function pressEdit(turnKey: string): void {
  document.querySelector<HTMLElement>(`[data-turn="${CSS.escape(turnKey)}"] [data-action="edit"]`)?.click();
}

export function TurnMenu({ turn }: TurnMenuProps): ReactNode {
  const words = useWords(SHELL_WORDS);
  const page = usePage();
  const { actions } = useUi();
  const { key } = turn;
  const session = usePageState(({ sessions }) => sessions.current);
  const items = useSessionItems(session);
  const edit: MenuItem = {
    key: "edit",
    label: words.editMessage,
    icon: "edit",
    onSelect: () => pressEdit(key),
  };
  return (
    <Menu
      label={words.moreActions}
      className="page-icon-only"
      items={[
        {
          key: "copy",
          label: words.copyBoth,
          icon: "copy",
          onSelect: () => void page.exportSession("copy", { turnKey: key }),
        },
        ...(actions.edit === undefined ? [] : [edit]),
        {
          key: "markdown",
          label: words.exportMarkdown,
          icon: "download",
          onSelect: () => void page.exportSession("markdown", { turnKey: key }),
        },
        {
          key: "html",
          label: words.exportHtml,
          icon: "download",
          onSelect: () => void page.exportSession("html", { turnKey: key }),
        },
        {
          key: "frames",
          label: words.showFrames,
          icon: "inspect",
          onSelect: () => actions.inspect?.({ turn: key, kind: "turn", key: "" }),
        },
        ...items,
      ]}
    >
      <Icon name="more" />
    </Menu>
  );
}

/** Menu items that share and export a whole session, for the menus of the session and of an answer. */
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
