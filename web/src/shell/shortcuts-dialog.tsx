/** Dialog that lists the keyboard shortcuts. */
import type { ReactNode } from "react";
import { defineWords, Dialog, useWords } from "../../../src/react/page-parts.ts";
import { may } from "../store/access.ts";
import type { PageState } from "../store/page-state.ts";
import { usePageState } from "./page-context.tsx";
import { SHELL_WORDS } from "./shell-words.ts";
import { isAvailable, SHORTCUT_KEYS } from "./shortcuts.ts";

const WORDS = defineWords({
  en: {
    helpTyping: "Shortcuts while typing",
    send: "Send message",
    line: "New line",
    resend: "Send edited message",
    move: "Move selection",
    open: "Open thought or step",
    zoom: "Zoom image or canvas in, out or to fit",
  },
  zh: {
    helpTyping: "输入时的快捷键",
    send: "发送消息",
    line: "换行",
    resend: "发送编辑后的消息",
    move: "移动选择",
    open: "打开想法或步骤",
    zoom: "放大、缩小图片或画布，或适应窗口",
  },
});

/** In display order. */
const LOCAL_KEYS: readonly (readonly [keyof (typeof WORDS)["en"], readonly string[]])[] = [
  ["helpTyping", ["Alt", "/"]],
  ["send", ["Enter"]],
  ["line", ["Shift", "Enter"]],
  ["resend", ["Ctrl", "Enter"]],
  ["move", ["↑", "↓", "←", "→"]],
  ["open", ["Enter"]],
  ["zoom", ["+", "−", "0"]],
];

/** Keys that differ if Ctrl+Enter sends messages. */
const CTRL_KEYS: { readonly [name: string]: readonly string[] } = { send: ["Ctrl", "Enter"], line: ["Enter"] };

/** Shortcuts that need the scope `run`. */
const NEEDS_RUN_SCOPE: ReadonlySet<string> = new Set(["send", "line", "resend"]);

const selectSendKey = ({ settings }: PageState): PageState["settings"]["sendKey"] => settings.sendKey;
const selectAccess = ({ access }: PageState): PageState["access"] => access;

export function ShortcutsDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const words = useWords(SHELL_WORDS);
  const local = useWords(WORDS);
  const access = usePageState(selectAccess);
  const mayWrite = may(access, "run");
  const sendKey = usePageState(selectSendKey);
  return (
    <Dialog title={words.shortcuts} onClose={onClose}>
      <dl className="page-shortcuts">
        {SHORTCUT_KEYS.filter(([shortcut]) => isAvailable(access, shortcut)).map(([shortcut, keys]) => (
          <Row key={shortcut} label={words.key(shortcut)} keys={keys} />
        ))}
        {LOCAL_KEYS.filter(([name]) => mayWrite || !NEEDS_RUN_SCOPE.has(name)).map(([name, keys]) => (
          <Row key={name} label={local[name]} keys={sendKey === "ctrl-enter" ? (CTRL_KEYS[name] ?? keys) : keys} />
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
        <Keys keys={keys} />
      </dd>
    </div>
  );
}

/** The keys of a shortcut. */
export function Keys({ keys }: { readonly keys: readonly string[] }): ReactNode {
  return (
    <span className="page-shortcut-keys">
      {keys.map((key) => (
        <kbd key={key}>{key}</kbd>
      ))}
    </span>
  );
}
