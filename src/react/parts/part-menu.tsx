/**
 * Menu of one part: copy its text, show its frames. It lies above the top edge of the part and takes no space, so cards
 * are as wide as the column. It is visible while the part is hovered, tapped or focused.
 */
import type { ReactNode } from "react";
import type { MessagePart } from "../../client/index.ts";
import { Icon } from "../ui/icon.tsx";
import { Menu, type MenuItem } from "../ui/menu.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";

const WORDS = defineWords({
  en: { actions: "Actions for this step", copy: "Copy", inspect: "Show frames" },
  zh: { actions: "此步骤的操作", copy: "复制", inspect: "查看数据帧" },
});

export interface PartMenuProps {
  readonly part: MessagePart;
  /** Key of the run, as in `TurnView.key`. */
  readonly turnKey: string;
}

/** Renders nothing without `UiActions.inspect`, and for text: the menu of the answer is that of its text. */
export function PartMenu({ part, turnKey }: PartMenuProps): ReactNode {
  const words = useWords(WORDS);
  const { actions } = useUi();
  if (actions.inspect === undefined || part.type === "text") return null;
  const text = readText(part);
  const copy: MenuItem = {
    key: "copy",
    label: words.copy,
    icon: "copy",
    onSelect: () => void navigator.clipboard.writeText(text),
  };
  return (
    <span className="loom-part-menu">
      <Menu
        label={words.actions}
        items={[
          // Pages served over plain HTTP from another host have no clipboard.
          ...(text === "" || !globalThis.isSecureContext ? [] : [copy]),
          {
            key: "inspect",
            label: words.inspect,
            icon: "inspect",
            onSelect: () => actions.inspect?.({ turn: turnKey, kind: "part", key: part.key }),
          },
        ]}
      >
        <Icon name="more" />
      </Menu>
    </span>
  );
}

function readText(part: MessagePart): string {
  switch (part.type) {
    case "thinking":
      return part.text;
    case "tool":
      return part.call.result?.text ?? "";
    case "error":
      return part.message;
    default:
      return "";
  }
}
