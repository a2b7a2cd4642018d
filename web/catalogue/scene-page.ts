/** A page without a server: the store has the state that the given actions lead to, and requests do nothing. */
import type { UiLanguage } from "loom-agent/react";
import type { PageController } from "../src/effects/create-page-controller.ts";
import { createStore } from "../src/store/create-store.ts";
import { createPageState, type PageAction, reducePage } from "../src/store/page-state.ts";
import type { Theme } from "../src/store/settings.ts";
import type { SessionListRow } from "../src/store/session-rows.ts";
import { NOW } from "./now.ts";
import { pick, SceneSession } from "./scene.tsx";

const AGENT = { tools: [], is_default: false, model: "offline" } as const;
const AGENTS = [
  { ...AGENT, name: "react", kind: "react", is_default: true },
  { ...AGENT, name: "tot", kind: "tot" },
  { ...AGENT, name: "got", kind: "got" },
] as const;
const OFFLINE = { name: "offline", needs_key: false, has_key: false, is_offline: true, in_use: true } as const;
const AUTH = { mode: "open", signed_in: false, scopes: [], shared_session_ids: [] } as const;
const HOUR_MS = 3_600_000;

/** A row of the session list. */
export function createRow(
  id: string,
  title: string,
  hoursAgo: number,
  more: Partial<SessionListRow> = {},
): SessionListRow {
  const updated_at = NOW - hoursAgo * HOUR_MS;
  const rest = { created_at: updated_at, first_event_id: 1, last_event_id: 9, bytes: 900, cursor: "c", root_id: id };
  return { session_id: id, updated_at, title, ...rest, ...more };
}

export function listRows(language: UiLanguage): PageAction {
  const titles = pick(
    language,
    [
      "Highest tides of the year",
      "Product launch",
      "Game of 24",
      "A title that is longer than the list is wide, so it is cut",
    ],
    ["一年中最高的潮汐", "产品发布", "24 点", "一个比列表更宽因而会被截断的很长很长的标题"],
  );
  return {
    type: "sessions/listed",
    isMore: false,
    page: { sessions: titles.map((title, index) => createRow(`s-${index}`, title, index * 20)) },
  };
}

export interface ScenePageOptions {
  readonly language: UiLanguage;
  readonly theme?: Theme;
  readonly actions?: readonly PageAction[];
  /** The session that is open. Default: none. */
  readonly session?: SceneSession;
}

const SHARES = [
  { share_id: "a", created_at: NOW, opened: 3, opened_at: NOW },
  { share_id: "b", created_at: NOW, expires_at: NOW + 7 * 86_400_000, opened: 0 },
];

export function createScenePage({
  language,
  theme = "system",
  actions = [],
  session,
}: ScenePageOptions): PageController {
  const store = createStore(reducePage, createPageState({ language, theme, hasSidebar: true }));
  const { receiver } = session ?? new SceneSession();
  const start: readonly PageAction[] = [
    { type: "access/loaded", auth: AUTH, shared: undefined, now: NOW },
    { type: "models/loaded", models: { providers: [OFFLINE], models: ["offline"] } },
    { type: "agents/loaded", agents: AGENTS },
    ...(session === undefined ? [] : [{ type: "session/opened", session: session.id } as const]),
  ];
  for (const action of [...start, ...actions]) store.dispatch(action);
  const known: Partial<PageController> = {
    store,
    receiver,
    uiStates: new Map(),
    dispatch: (action) => store.dispatch(action),
    open: () => undefined,
    api: {
      async *readFrames() {
        for (const text of session?.frames ?? []) yield { text };
      },
      listShares: () => Promise.resolve({ shares: SHARES, this_machine_only: true }),
    } as Partial<PageController["api"]> as PageController["api"],
  };
  return new Proxy(known as PageController, {
    get: (target, name): unknown => Reflect.get(target, name) ?? (() => Promise.resolve(undefined)),
  });
}
