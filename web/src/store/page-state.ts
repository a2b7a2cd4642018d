/**
 * State of the page and its reducer. Runs and their content are not here: they change with every token and are kept by
 * the receiver.
 *
 * Invariants: pure, plain data; every list is bounded; slices that an action does not change keep their identity.
 */
import type { Reference } from "loom-agent/client";
import type { ElementTarget } from "../../../src/react/page-parts.ts";
import type { Models } from "../../../src/server/api/shapes.generated.ts";
import { type AccessAction, type AccessState, reduceAccess, UNKNOWN_ACCESS } from "./access.ts";
import { type ActivityAction, type ActivityState, NO_ACTIVITY, reduceActivity } from "./activity.ts";
import type { AgentChoice, ListedAgent } from "./agents.ts";
import { type AlertsAction, NO_ALERTS, reduceAlerts, type SessionAlert } from "./alerts.ts";
import { type ComposingAction, type ComposingState, EMPTY_COMPOSING, reduceComposing } from "./composing.ts";
import {
  type InstructionsAction,
  type InstructionsState,
  NO_INSTRUCTIONS,
  reduceInstructions,
} from "./instructions.ts";
import { type KnowledgeAction, type KnowledgeState, NO_KNOWLEDGE, reduceKnowledge } from "./knowledge.ts";
import { NO_SESSIONS, reduceSessions, type SessionsAction, type SessionsState } from "./sessions.ts";
import type { PageSettings } from "./settings.ts";
import { NO_VERSIONS, reduceVersions, type VersionsAction, type VersionsState } from "./versions.ts";
import type { RunPosition } from "./route.ts";

/** Task named in a failure notice. */
export type PageTask =
  | "list"
  | "agents"
  | "rename"
  | "change"
  | "delete"
  | "fork"
  | "send"
  | "stop"
  | "withdraw"
  | "edit"
  | "attach"
  | "upload"
  | "save"
  | "knowledge"
  | "sign-out";

export interface PageNotice {
  readonly id: number;
  readonly task: PageTask;
  readonly code: string;
  readonly message: string;
  /** Error ID in the server's log. */
  readonly reference?: string;
}

/** Text for screen readers. `count` makes repeated announcements distinct. */
export interface Announcement {
  readonly count: number;
  readonly kind: "complete" | "error" | "cancelled" | "approval" | "restarted";
  /** Tool that waits for approval, or the error. */
  readonly detail: string;
}

export interface PageState {
  readonly access: AccessState;
  readonly sessions: SessionsState;
  readonly activity: ActivityState;
  readonly alerts: readonly SessionAlert[];
  readonly versions: VersionsState;
  readonly composing: ComposingState;
  readonly instructions: InstructionsState;
  readonly knowledge: KnowledgeState;
  /** Dialog that shares or exports a session. */
  readonly sessionDialog: { readonly name: "share" | "export"; readonly session: string } | undefined;
  readonly agents: readonly ListedAgent[];
  readonly models: Models | undefined;
  /** Agents chosen for sessions, until the next message. */
  readonly choices: ReadonlyMap<string, AgentChoice>;
  readonly settings: PageSettings;
  readonly notices: readonly PageNotice[];
  readonly announcement: Announcement | undefined;
  /** The session list covers the page on narrow screens. */
  readonly isDrawerOpen: boolean;
  /** Undefined: closed. Without a focus or position, the inspector shows the latest run. */
  readonly inspector:
    | {
        readonly focus: ElementTarget | undefined;
        readonly at?: RunPosition | undefined;
        /** Shows the replay first. */
        readonly isReplay?: boolean | undefined;
      }
    | undefined;
  /** The document that is open, at a passage. It may be open above a dialog. */
  readonly source: Reference | undefined;
  readonly dialog: "knowledge" | "shortcuts" | "settings" | "palette" | "activity" | undefined;
}

export type PageAction =
  | AccessAction
  | { readonly type: "session-dialog/opened"; readonly dialog: PageState["sessionDialog"] }
  | SessionsAction
  | ActivityAction
  | AlertsAction
  | VersionsAction
  | ComposingAction
  | InstructionsAction
  | KnowledgeAction
  | { readonly type: "agents/loaded"; readonly agents: readonly ListedAgent[] }
  | { readonly type: "models/loaded"; readonly models: Models }
  /** `session`: the choice is for its next message; undefined: for new sessions. */
  | { readonly type: "agent/chosen"; readonly choice: AgentChoice; readonly session: string | undefined }
  | { readonly type: "settings/changed"; readonly settings: Partial<PageSettings> }
  | { readonly type: "sidebar/toggled" }
  | { readonly type: "drawer/toggled"; readonly isOpen: boolean }
  | {
      readonly type: "inspector/opened";
      readonly focus: ElementTarget | undefined;
      readonly at?: RunPosition;
      readonly isReplay?: boolean;
    }
  | { readonly type: "inspector/closed" }
  | { readonly type: "source/opened"; readonly source: Reference | undefined }
  | { readonly type: "dialog/opened"; readonly dialog: PageState["dialog"] }
  | {
      readonly type: "notice/raised";
      readonly task: PageTask;
      readonly code: string;
      readonly message: string;
      readonly id?: string;
    }
  | { readonly type: "notice/closed"; readonly id: number }
  | { readonly type: "announced"; readonly kind: Announcement["kind"]; readonly detail: string };

const MAX_NOTICES = 4;
const MAX_CHOICES = 50;

export function createPageState(settings: PageSettings, composing: ComposingState = EMPTY_COMPOSING): PageState {
  return {
    access: UNKNOWN_ACCESS,
    sessions: NO_SESSIONS,
    activity: NO_ACTIVITY,
    alerts: NO_ALERTS,
    versions: NO_VERSIONS,
    composing,
    instructions: NO_INSTRUCTIONS,
    knowledge: NO_KNOWLEDGE,
    sessionDialog: undefined,
    agents: [],
    models: undefined,
    choices: new Map(),
    settings,
    notices: [],
    announcement: undefined,
    isDrawerOpen: false,
    inspector: undefined,
    source: undefined,
    dialog: undefined,
  };
}

export function reducePage(before: PageState, action: PageAction): PageState {
  const state = reduceSlices(before, action);
  switch (action.type) {
    case "session/opened":
      return action.session === before.sessions.current
        ? state
        : { ...state, isDrawerOpen: false, inspector: undefined };
    case "agents/loaded":
      return { ...state, agents: action.agents };
    case "models/loaded":
      return { ...state, models: action.models };
    case "agent/chosen":
      return action.session === undefined
        ? setSettings(state, action.choice)
        : { ...state, choices: addChoice(state.choices, action.session, action.choice) };
    case "message/sent":
      return { ...state, choices: dropChoice(state.choices, action.session) };
    case "settings/changed":
      return setSettings(state, action.settings);
    case "sidebar/toggled":
      return setSettings(state, { hasSidebar: !state.settings.hasSidebar });
    case "drawer/toggled":
      return { ...state, isDrawerOpen: action.isOpen };
    case "inspector/opened":
      return { ...state, inspector: { focus: action.focus, at: action.at, isReplay: action.isReplay } };
    case "session-dialog/opened":
      return { ...state, sessionDialog: action.dialog };
    case "inspector/closed":
      return { ...state, inspector: undefined };
    case "source/opened":
      return { ...state, source: action.source };
    case "dialog/opened":
      return { ...state, dialog: action.dialog };
    case "notice/raised":
      return { ...state, notices: addNotice(state.notices, action) };
    case "notice/closed":
      return { ...state, notices: state.notices.filter(({ id }) => id !== action.id) };
    case "announced": {
      const count = (state.announcement?.count ?? 0) + 1;
      return { ...state, announcement: { count, kind: action.kind, detail: action.detail } };
    }
    default:
      return state;
  }
}

type AgentChoices = PageState["choices"];

function addChoice(choices: AgentChoices, session: string, choice: AgentChoice): AgentChoices {
  const others = [...dropChoice(choices, session)].slice(-MAX_CHOICES + 1);
  return new Map([...others, [session, { ...choices.get(session), ...choice }]]);
}

function dropChoice(choices: AgentChoices, session: string): AgentChoices {
  return choices.has(session) ? new Map([...choices].filter(([name]) => name !== session)) : choices;
}

/** Each slice reduces its own actions. */
function reduceSlices(state: PageState, action: PageAction): PageState {
  const slices = {
    access: reduceAccess(state.access, action as AccessAction),
    sessions: reduceSessions(state.sessions, action as SessionsAction),
    activity: reduceActivity(state.activity, action as ActivityAction),
    alerts: reduceAlerts(state.alerts, action as AlertsAction),
    versions: reduceVersions(state.versions, action as VersionsAction),
    composing: reduceComposing(state.composing, action as ComposingAction),
    instructions: reduceInstructions(state.instructions, action as InstructionsAction),
    knowledge: reduceKnowledge(state.knowledge, action as KnowledgeAction),
  };
  const isSame = (Object.keys(slices) as readonly (keyof typeof slices)[]).every(
    (name) => slices[name] === state[name],
  );
  return isSame ? state : { ...state, ...slices };
}

function setSettings(state: PageState, changed: Partial<PageSettings>): PageState {
  return { ...state, settings: { ...state.settings, ...changed } };
}

/** Repeated failures of a task with the same code become one notice. */
function addNotice(
  notices: readonly PageNotice[],
  { task, code, message, id: reference }: Extract<PageAction, { readonly type: "notice/raised" }>,
): readonly PageNotice[] {
  const others = notices.filter((notice) => notice.task !== task || notice.code !== code);
  const id = Math.max(0, ...notices.map((notice) => notice.id)) + 1;
  const named = reference === undefined ? {} : { reference };
  return [...others, { id, task, code, message, ...named }].slice(-MAX_NOTICES);
}
