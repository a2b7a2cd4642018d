/**
 * The state of the page, and the one reducer that changes it. Runs and what they say are not here: they are in the
 * receiver, which is made for what changes with every token.
 *
 * Invariants: pure and plain; every list has a limit; what an action does not concern stays the same object.
 */
import type { ElementPlace, Language } from "loom-agent/react";
import type { Agents, Models } from "loom-agent/server";
import { type ComposingAction, type ComposingState, NOTHING_COMPOSED, reduceComposing } from "./composing.ts";
import { type KnowledgeAction, type KnowledgeState, NO_KNOWLEDGE, reduceKnowledge } from "./knowledge.ts";
import { NO_SESSIONS, reduceSessions, type SessionsAction, type SessionsState } from "./sessions.ts";
import type { Settings, Theme } from "./settings.ts";

export type AgentInfo = Agents["agents"][number];

/** What was asked for when something went wrong. */
export type Task =
  | "list"
  | "agents"
  | "rename"
  | "delete"
  | "fork"
  | "send"
  | "stop"
  | "withdraw"
  | "edit"
  | "attach"
  | "upload"
  | "knowledge";

export interface Notice {
  readonly id: number;
  readonly task: Task;
  readonly code: string;
  readonly message: string;
}

/** What is said aloud; `count` makes the same said twice two things. */
export interface Announcement {
  readonly count: number;
  readonly what: "complete" | "error" | "cancelled" | "approval";
  /** The tool that waits, or the error. */
  readonly detail: string;
}

export interface PageState {
  readonly sessions: SessionsState;
  readonly composing: ComposingState;
  readonly knowledge: KnowledgeState;
  readonly agents: readonly AgentInfo[];
  readonly models: Models | undefined;
  readonly settings: Settings;
  readonly notices: readonly Notice[];
  readonly announcement: Announcement | undefined;
  /** The list of sessions over the page, where there is no room beside it. */
  readonly isDrawerOpen: boolean;
  /** Undefined: closed. Without a focus it shows the latest run. */
  readonly inspector: { readonly focus: ElementPlace | undefined } | undefined;
  readonly dialog: "knowledge" | "shortcuts" | undefined;
}

export type PageAction =
  | SessionsAction
  | ComposingAction
  | KnowledgeAction
  | { readonly type: "agents/told"; readonly agents: readonly AgentInfo[] }
  | { readonly type: "models/told"; readonly models: Models }
  | { readonly type: "agent/chosen"; readonly kind: string }
  | { readonly type: "model/chosen"; readonly model: string }
  | { readonly type: "language/chosen"; readonly language: Language }
  | { readonly type: "theme/chosen"; readonly theme: Theme }
  | { readonly type: "sidebar/toggled" }
  | { readonly type: "drawer/toggled"; readonly isOpen: boolean }
  | { readonly type: "inspector/opened"; readonly focus: ElementPlace | undefined }
  | { readonly type: "inspector/closed" }
  | { readonly type: "dialog/opened"; readonly dialog: PageState["dialog"] }
  | { readonly type: "notice/raised"; readonly task: Task; readonly code: string; readonly message: string }
  | { readonly type: "notice/closed"; readonly id: number }
  | { readonly type: "said"; readonly what: Announcement["what"]; readonly detail: string };

const MAX_NOTICES = 4;

export function createPageState(settings: Settings, composing: ComposingState = NOTHING_COMPOSED): PageState {
  return {
    sessions: NO_SESSIONS,
    composing,
    knowledge: NO_KNOWLEDGE,
    agents: [],
    models: undefined,
    settings,
    notices: [],
    announcement: undefined,
    isDrawerOpen: false,
    inspector: undefined,
    dialog: undefined,
  };
}

export function reducePage(before: PageState, action: PageAction): PageState {
  const state = reduceRooms(before, action);
  switch (action.type) {
    case "session/opened":
      return action.session === before.sessions.current
        ? state
        : { ...state, isDrawerOpen: false, inspector: undefined };
    case "agents/told":
      return { ...state, agents: action.agents };
    case "models/told":
      return { ...state, models: action.models };
    case "agent/chosen":
      return setSettings(state, { kind: action.kind });
    case "model/chosen":
      return setSettings(state, { model: action.model });
    case "language/chosen":
      return setSettings(state, { language: action.language });
    case "theme/chosen":
      return setSettings(state, { theme: action.theme });
    case "sidebar/toggled":
      return setSettings(state, { hasSidebar: !state.settings.hasSidebar });
    case "drawer/toggled":
      return { ...state, isDrawerOpen: action.isOpen };
    case "inspector/opened":
      return { ...state, inspector: { focus: action.focus } };
    case "inspector/closed":
      return { ...state, inspector: undefined };
    case "dialog/opened":
      return { ...state, dialog: action.dialog };
    case "notice/raised":
      return { ...state, notices: addNotice(state.notices, action) };
    case "notice/closed":
      return { ...state, notices: state.notices.filter(({ id }) => id !== action.id) };
    case "said": {
      const count = (state.announcement?.count ?? 0) + 1;
      return { ...state, announcement: { count, what: action.what, detail: action.detail } };
    }
    default:
      return state;
  }
}

/** Each room looks at what concerns it. */
function reduceRooms(state: PageState, action: PageAction): PageState {
  const sessions = reduceSessions(state.sessions, action as SessionsAction);
  const composing = reduceComposing(state.composing, action as ComposingAction);
  const knowledge = reduceKnowledge(state.knowledge, action as KnowledgeAction);
  if (sessions === state.sessions && composing === state.composing && knowledge === state.knowledge) return state;
  return { ...state, sessions, composing, knowledge };
}

function setSettings(state: PageState, changed: Partial<Settings>): PageState {
  return { ...state, settings: { ...state.settings, ...changed } };
}

/** The same trouble once: what fails every second is one notice. */
function addNotice(notices: readonly Notice[], { task, code, message }: Omit<Notice, "id">): readonly Notice[] {
  const others = notices.filter((notice) => notice.task !== task || notice.code !== code);
  const id = Math.max(0, ...notices.map((notice) => notice.id)) + 1;
  return [...others, { id, task, code, message }].slice(-MAX_NOTICES);
}
