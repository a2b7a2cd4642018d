/** The keys of the page: those that work anywhere, and those of a place on it. */
import type { ReactNode } from "react";
import { defineWords, Dialog, useWords } from "loom-agent/react";
import { may } from "../store/access.ts";
import type { PageState } from "../store/page-state.ts";
import { usePageState } from "./page-context.tsx";
import { SHELL_WORDS } from "./shell-words.ts";
import { isOffered, SHORTCUT_KEYS } from "./shortcuts.ts";

const WORDS = defineWords({
  en: {
    helpTyping: "The same, also while you write",
    send: "In the message box: send",
    line: "In the message box: a new line",
    resend: "In a message that you change: send",
    move: "In trees, graphs, lists and menus: go on",
    open: "In trees and graphs: open",
    zoom: "In an image that is open: larger, smaller, fit",
  },
  zh: {
    helpTyping: "同上，输入文字时也可用",
    send: "在消息框中：发送",
    line: "在消息框中：换行",
    resend: "修改消息时：发送",
    move: "在树、图、列表和菜单中：移动",
    open: "在树和图中：打开",
    zoom: "在打开的图片中：放大、缩小、适应窗口",
  },
});

/** In the order they are shown. */
const LOCAL_KEYS: readonly (readonly [keyof (typeof WORDS)["en"], readonly string[]])[] = [
  ["helpTyping", ["Alt", "/"]],
  ["send", ["Enter"]],
  ["line", ["Shift", "Enter"]],
  ["resend", ["Ctrl", "Enter"]],
  ["move", ["↑", "↓", "←", "→"]],
  ["open", ["Enter"]],
  ["zoom", ["+", "−", "0"]],
];

/** Those that only who may run an agent has a use for. */
const FOR_WRITERS: ReadonlySet<string> = new Set(["send", "line", "resend"]);

const selectAccess = ({ access }: PageState): PageState["access"] => access;

export function ShortcutsDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const words = useWords(SHELL_WORDS);
  const local = useWords(WORDS);
  const access = usePageState(selectAccess);
  const mayWrite = may(access, "run");
  return (
    <Dialog title={words.shortcuts} onClose={onClose}>
      <dl className="page-shortcuts">
        {SHORTCUT_KEYS.filter(([shortcut]) => isOffered(access, shortcut)).map(([shortcut, keys]) => (
          <Row key={shortcut} label={words.key(shortcut)} keys={keys} />
        ))}
        {LOCAL_KEYS.filter(([name]) => mayWrite || !FOR_WRITERS.has(name)).map(([name, keys]) => (
          <Row key={name} label={local[name]} keys={keys} />
        ))}
      </dl>
    </Dialog>
  );
}

function Row({ label, keys }: { readonly label: string; readonly keys: readonly string[] }): ReactNode {
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        {keys.map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
      </dd>
    </div>
  );
}
