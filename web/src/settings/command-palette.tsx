/** Command palette: finds sessions, actions and agents as the user types. */
import { type KeyboardEvent, type ReactNode, useEffect, useId, useMemo, useRef, useState } from "react";
import {
  defineWords,
  Dialog,
  findLiveRun,
  Icon,
  type IconName,
  useSession,
  useWords,
} from "../../../src/react/page-parts.ts";
import { AGENT_WORDS, chooseAgentIcon, describeKind } from "../composer/agent-words.ts";
import { useChosenAgent } from "../composer/use-chosen-agent.ts";
import type { PageController } from "../effects/create-page-controller.ts";
import { Keys } from "../shell/shortcuts-dialog.tsx";
import { usePage, usePageState } from "../shell/page-context.tsx";
import { type Shortcut, SHORTCUT_KEYS } from "../shell/shortcuts.ts";
import { focusConversation } from "../shell/use-shortcuts.ts";
import { may } from "../store/access.ts";
import type { PageState } from "../store/page-state.ts";

interface PaletteCommand extends PaletteEntry {
  readonly icon: IconName;
  readonly shortcut?: Shortcut | undefined;
  run(): void;
}

const selectState = (state: PageState): PageState => state;

/** Sessions offered before the user types. */
const RECENT_SESSIONS = 5;

export function CommandPalette({ onClose }: { readonly onClose: () => void }): ReactNode {
  const words = useWords(PALETTE_WORDS);
  const page = usePage();
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const input = useRef<HTMLInputElement>(null);
  // A dialog focuses its first control, which is the close button.
  useEffect(() => input.current?.focus(), []);
  const id = useId();
  const commands = useCommands(page);
  const shown = useMemo(() => {
    const sessions = commands.filter(({ group }) => group === words.sessions);
    const few = new Set(query.trim() === "" ? sessions.slice(RECENT_SESSIONS) : []);
    return findCommands(
      commands.filter((command) => !few.has(command)),
      query,
    );
  }, [commands, query, words]);
  const chosen = shown[Math.min(at, shown.length - 1)];
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  const run = (command: PaletteCommand): void => {
    onClose();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && shown.length > 0) setAt((Math.min(at, shown.length - 1) + step + shown.length) % shown.length);
    else if (event.key === "Enter" && chosen !== undefined) run(chosen);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={words.title} onClose={onClose}>
      <div className="page-palette" onKeyDown={onKeyDown}>
        <input
          className="page-field"
          role="combobox"
          aria-label={words.search}
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={chosen === undefined ? undefined : `${id}-${chosen.key}`}
          placeholder={words.search}
          value={query}
          ref={input}
          maxLength={200}
          onChange={(event) => {
            setQuery(event.target.value);
            setAt(0);
          }}
        />
        <ul ref={list} id={id} role="listbox" aria-label={words.title}>
          {shown.map((command, index) => (
            <li
              key={command.key}
              id={`${id}-${command.key}`}
              role="option"
              aria-selected={command === chosen}
              // Scroll positions and pointers at rest must not change the choice.
              onPointerMove={() => setAt(index)}
              onClick={() => run(command)}
            >
              {command.group === shown[index - 1]?.group ? null : (
                <span className="page-palette-group">{command.group}</span>
              )}
              <span className="page-palette-entry">
                <Icon name={command.icon} />
                <span>{command.label}</span>
                {command.detail === undefined ? null : <span className="page-soft">{command.detail}</span>}
                <Keys keys={findKeys(command.shortcut)} />
              </span>
            </li>
          ))}
        </ul>
        <p className="page-soft" role="status">
          {shown.length === 0 ? words.none : ""}
        </p>
      </div>
    </Dialog>
  );
}

function findKeys(shortcut: Shortcut | undefined): readonly string[] {
  return SHORTCUT_KEYS.find(([name]) => name === shortcut)?.[1] ?? [];
}

function useCommands(page: PageController): readonly PaletteCommand[] {
  const words = useWords(PALETTE_WORDS);
  const composer = useWords(AGENT_WORDS);
  const state = usePageState(selectState);
  const session = state.sessions.current;
  const hasRun = useSession(page.receiver, session ?? "", (view) => (view?.turns.length ?? 0) > 0);
  const isLive = useSession(page.receiver, session ?? "", (view) => findLiveRun(view) !== undefined);
  const { options, chosen } = useChosenAgent(session);
  return useMemo(() => {
    const { access, sessions, settings } = state;
    const action = (
      key: string,
      label: string,
      icon: IconName,
      run: () => void,
      shortcut?: Shortcut,
    ): PaletteCommand => ({ key, label, icon, group: words.actions, shortcut, run });
    const open = (dialog: PageState["dialog"]) => (): void => page.dispatch({ type: "dialog/opened", dialog });
    const change = (changed: Partial<PageState["settings"]>): void =>
      page.dispatch({ type: "settings/changed", settings: changed });
    const isSystemDark = matchMedia("(prefers-color-scheme: dark)").matches;
    const isDark = settings.theme === "system" ? isSystemDark : settings.theme === "dark";
    const start = (): void => {
      page.open(undefined);
      focusConversation();
    };
    return [
      ...(may(access, "run") ? [action("new", words.create, "add", start, "new")] : []),
      ...(isLive && may(access, "run") ? [action("stop", words.stop, "stop", () => void page.stop(), "escape")] : []),
      ...(session !== undefined && hasRun && may(access, "write")
        ? [
            action("share", words.share, "link", () =>
              page.dispatch({ type: "session-dialog/opened", dialog: { name: "share", session } }),
            ),
          ]
        : []),
      ...(hasRun
        ? [
            action("markdown", words.markdown, "download", () => void page.exportSession("markdown")),
            action("html", words.html, "download", () => void page.exportSession("html")),
            action("copy", words.copy, "copy", () => void page.exportSession("copy")),
            action("print", words.print, "print", () => void page.exportSession("print")),
            action(
              "inspector",
              words.inspector,
              "inspect",
              () => page.dispatch({ type: "inspector/opened", focus: undefined }),
              "inspector",
            ),
          ]
        : []),
      ...(may(access, "read") ? [action("activity", words.activity, "activity", open("activity"))] : []),
      action("settings", words.settings, "settings", open("settings")),
      ...(may(access, "read") ? [action("knowledge", words.knowledge, "book", open("knowledge"), "knowledge")] : []),
      action("shortcuts", words.shortcuts, "keyboard", open("shortcuts"), "help"),
      isDark
        ? action("light", words.light, "sun", () => change({ theme: "light" }))
        : action("dark", words.dark, "moon", () => change({ theme: "dark" })),
      action("language", words.language, "language", () =>
        change({ language: settings.language === "en" ? "zh" : "en" }),
      ),
      ...sessions.list.rows.map((row): PaletteCommand => ({
        key: `s-${row.session_id}`,
        label: row.title ?? words.untitled,
        icon: "session",
        group: words.sessions,
        run: () => page.open(row.session_id),
      })),
      ...(may(access, "run") ? options : []).map((option): PaletteCommand => ({
        key: `a-${option.name}`,
        label: describeKind(composer, option).label,
        detail: option === chosen?.option ? words.chosen : undefined,
        icon: chooseAgentIcon(option.kind),
        group: words.agents,
        run: () => page.dispatch({ type: "agent/chosen", choice: { kind: option.name }, session }),
      })),
    ];
  }, [state, words, composer, page, session, hasRun, isLive, options, chosen?.option]);
}

interface PaletteEntry {
  readonly key: string;
  readonly label: string;
  /** Heading of the group that the entry belongs to. */
  readonly group: string;
  readonly detail?: string | undefined;
}

/** Entries shown at once. */
const MAX_SHOWN = 50;

/**
 * Ranks entries by how well they match the typed text. Returns those that contain every word of the query: those that
 * begin with it first, then those with a word that does, then the others. Groups stay together, in the order of their
 * best entry. Without a query, all are returned.
 */
export function findCommands<E extends PaletteEntry>(entries: readonly E[], query: string): readonly E[] {
  const words = fold(query).split(/\s+/u).filter(Boolean);
  const ranked = entries
    .flatMap((entry) => {
      const rank = rankOf(fold(entry.label), words);
      return rank === undefined ? [] : [{ entry, rank }];
    })
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, MAX_SHOWN)
    .map(({ entry }) => entry);
  return [...Map.groupBy(ranked, ({ group }) => group).values()].flat();
}

function rankOf(label: string, words: readonly string[]): number | undefined {
  if (!words.every((word) => label.includes(word))) return undefined;
  const [first = ""] = words;
  if (label.startsWith(first)) return 0;
  return label.includes(` ${first}`) ? 1 : 2;
}

function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

/** UI strings of the command palette. */
const PALETTE_WORDS = defineWords({
  en: {
    title: "Command palette",
    search: "Search sessions, actions and agents",
    none: "Nothing found",
    actions: "Actions",
    sessions: "Sessions",
    agents: "Agents",
    create: "New session",
    settings: "Open settings",
    knowledge: "Open knowledge base",
    activity: "Show activity",
    shortcuts: "Show keyboard shortcuts",
    inspector: "Open inspector",
    markdown: "Export as Markdown",
    html: "Export as HTML",
    copy: "Copy conversation",
    print: "Print conversation",
    stop: "Stop run",
    share: "Share session",
    light: "Use light theme",
    dark: "Use dark theme",
    language: "切换到中文",
    chosen: "Selected",
    untitled: "Untitled session",
  },
  zh: {
    title: "命令面板",
    search: "搜索会话、操作和智能体",
    none: "未找到结果",
    actions: "操作",
    sessions: "会话",
    agents: "智能体",
    create: "新会话",
    settings: "打开设置",
    knowledge: "打开知识库",
    activity: "查看运行与审批",
    shortcuts: "显示键盘快捷键",
    inspector: "打开检查器",
    markdown: "导出为 Markdown",
    html: "导出为 HTML",
    copy: "复制对话",
    print: "打印对话",
    stop: "停止运行",
    share: "分享会话",
    light: "使用浅色主题",
    dark: "使用深色主题",
    language: "Switch to English",
    chosen: "已选择",
    untitled: "未命名会话",
  },
});
