/** The menu of an answer: copy, edit, export, show frames; share and export the whole session. */
import type { ReactNode } from "react";
import { Icon, Menu, type MenuItem, type TurnMenuProps, useUi, useWords } from "../../../src/react/page-parts.ts";
import { useSessionItems } from "../access/use-session-items.ts";
import type { PageState } from "../store/page-state.ts";
import { usePage, usePageState } from "./page-context.tsx";
import { SHELL_WORDS } from "./shell-words.ts";

/** The editor belongs to the message of the user, which is in another place of the run. */
function pressEdit(turnKey: string): void {
  document.querySelector<HTMLElement>(`[data-turn="${CSS.escape(turnKey)}"] [data-action="edit"]`)?.click();
}

const selectCurrent = ({ sessions }: PageState): string | undefined => sessions.current;

export function TurnMenu({ turn }: TurnMenuProps): ReactNode {
  const words = useWords(SHELL_WORDS);
  const page = usePage();
  const { actions } = useUi();
  const { key } = turn;
  const session = usePageState(selectCurrent);
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
