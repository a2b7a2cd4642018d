/** The menu of an answer: copy, regenerate, export, show frames. */
import type { ReactNode } from "react";
import { Icon, Menu, type MenuItem, type TurnMenuProps, useUi, useWords } from "loom-agent/react";
import { usePage } from "./page-context.tsx";
import { SHELL_WORDS } from "./shell-words.ts";

/** The editor belongs to the message of the user, which is in another place of the run. */
function pressEdit(turnKey: string): void {
  document.querySelector<HTMLElement>(`[data-turn="${CSS.escape(turnKey)}"] [data-action="edit"]`)?.click();
}

export function TurnMenu({ turn }: TurnMenuProps): ReactNode {
  const words = useWords(SHELL_WORDS);
  const page = usePage();
  const { actions } = useUi();
  const { key, status } = turn;
  const regenerate: MenuItem = {
    key: "regenerate",
    label: words.regenerate,
    icon: "retry",
    onSelect: () => actions.retry?.(turn),
  };
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
          onSelect: () => void page.exportSession("copy", key),
        },
        ...(actions.edit === undefined ? [] : [edit]),
        ...(actions.retry === undefined || status === "running" ? [] : [regenerate]),
        {
          key: "markdown",
          label: words.exportMarkdown,
          icon: "download",
          onSelect: () => void page.exportSession("markdown", key),
        },
        {
          key: "html",
          label: words.exportHtml,
          icon: "download",
          onSelect: () => void page.exportSession("html", key),
        },
        {
          key: "frames",
          label: words.showFrames,
          icon: "inspect",
          onSelect: () => actions.inspect?.({ turn: key, kind: "turn", key: "" }),
        },
      ]}
    >
      <Icon name="more" />
    </Menu>
  );
}
