/**
 * The state of the page, and the one reducer that changes it. Runs and what they say are not here: they are in the
 * receiver, which is made for what changes with every token.
 *
 * Invariants: pure and plain; every list has a limit; what an action does not concern stays the same object.
 */
import type { ElementPlace, Language } from "loom-agent/react";
import type { Agents, Models } from "loom-agent/server";
import { type AccessAction, type AccessState, reduceAccess, UNKNOWN_ACCESS } from "./access.ts";
import { type ComposingAction, type ComposingState, NOTHING_COMPOSED, reduceComposing } from "./composing.ts";
import { type KnowledgeAction, type KnowledgeState, NO_KNOWLEDGE, reduceKnowledge } from "./knowledge.ts";
import { NO_SESSIONS, reduceSessions, type SessionsAction, type SessionsState } from "./sessions.ts";
import type { Settings, Theme } from "./settings.ts";
import { reduceSharing, type SharingAction, type SharingState } from "./sharing.ts";

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
  | "knowledge"
  | "sign-out";

export interface Notice {
  readonly id: number;
  readonly task: Task;
  readonly code: string;
  readonly message: string;
  /** The server's name for the refusal, to ask about it. */
  readonly reference?: string;
}

/** What is said aloud; `count` makes the same said twice two things. */
export interface Announcement {
  readonly count: number;
  readonly what: "complete" | "error" | "cancelled" | "approval";
  /** The tool that waits, or the error. */
  readonly detail: string;
}

export interface PageState {
  readonly access: AccessState;
  readonly sessions: SessionsState;
  readonly composing: ComposingState;
  readonly knowledge: KnowledgeState;
  /** Undefined: nobody looks at links. */
  readonly sharing: SharingState | undefined;
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
  | AccessAction
  | SharingAction
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
  | {
      readonly type: "notice/raised";
      readonly task: Task;
      readonly code: string;
      readonly message: string;
      readonly id?: string;
    }
  | { readonly type: "notice/closed"; readonly id: number }
  | { readonly type: "said"; readonly what: Announcement["what"]; readonly detail: string };

const MAX_NOTICES = 4;

export function createPageState(settings: Settings, composing: ComposingState = NOTHING_COMPOSED): PageState {
  return {
    access: UNKNOWN_ACCESS,
    sessions: NO_SESSIONS,
    composing,
    knowledge: NO_KNOWLEDGE,
    sharing: undefined,
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
  const rooms = {
    access: reduceAccess(state.access, action as AccessAction),
    sessions: reduceSessions(state.sessions, action as SessionsAction),
    composing: reduceComposing(state.composing, action as ComposingAction),
    knowledge: reduceKnowledge(state.knowledge, action as KnowledgeAction),
    sharing: reduceSharing(state.sharing, action as SharingAction),
  };
  const isSame = (Object.keys(rooms) as readonly (keyof typeof rooms)[]).every((name) => rooms[name] === state[name]);
  return isSame ? state : { ...state, ...rooms };
}

function setSettings(state: PageState, changed: Partial<Settings>): PageState {
  return { ...state, settings: { ...state.settings, ...changed } };
}

/** The same trouble once: what fails every second is one notice. */
function addNotice(
  notices: readonly Notice[],
  { task, code, message, id: reference }: Extract<PageAction, { readonly type: "notice/raised" }>,
): readonly Notice[] {
  const others = notices.filter((notice) => notice.task !== task || notice.code !== code);
  const id = Math.max(0, ...notices.map((notice) => notice.id)) + 1;
  const named = reference === undefined ? {} : { reference };
  return [...others, { id, task, code, message, ...named }].slice(-MAX_NOTICES);
}
