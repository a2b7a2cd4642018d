/** The page without its components: store, receiver and all effects. Created once per page load. */
import { connect, createLoomReceiver, createWebSocketTransport, type Receiver } from "loom-agent/client";
import { chooseLanguage, findStage, type UiStateCache } from "../../../src/react/page-parts.ts";
import { type Api, createApi } from "../api/create-api.ts";
import { formatUrl } from "../api/request.ts";
import { hasAccess, may } from "../store/access.ts";
import { findWaiting, type WaitingMessage } from "../store/composing.ts";
import { createStore, type ReducerStore } from "../store/create-store.ts";
import { createPageState, type PageAction, type PageState, reducePage } from "../store/page-state.ts";
import { readDrafts } from "../store/stored-drafts.ts";
import {
  formatRoute,
  formatSharedRoute,
  readPosition,
  readRoute,
  readSharedRoute,
  readShareSecret,
} from "../store/route.ts";
import { INSTRUCTIONS_KEY } from "../store/instructions.ts";
import { type KeyValueStorage, readSettings, saveSettings } from "../store/settings.ts";
import { type AccessEffects, createAccessEffects } from "./access-effects.ts";
import { type ActivityEffects, createActivityEffects } from "./activity-effects.ts";
import { type AlertEffects, createAlertEffects } from "./alert-effects.ts";
import { type AttachmentEffects, createAttachmentEffects } from "./attachment-effects.ts";
import { Connections } from "./connections.ts";
import { storeDrafts } from "./draft-storage.ts";
import { attempt, createId, type EffectContext } from "./effect-context.ts";
import { storeInstructions } from "./instruction-storage.ts";
import { createExportEffects, type ExportEffects } from "./export-effects.ts";
import { createKnowledgeEffects, type KnowledgeEffects } from "./knowledge-effects.ts";
import { createMessageEffects, type MessageEffects } from "./message-effects.ts";
import { createSessionEffects, type SessionEffects } from "./session-effects.ts";
import { createVersionEffects, type VersionEffects } from "./version-effects.ts";
import { watchSession } from "./watch-session.ts";

export interface PageController
  extends
    AccessEffects,
    SessionEffects,
    MessageEffects,
    AttachmentEffects,
    KnowledgeEffects,
    AlertEffects,
    ActivityEffects,
    ExportEffects,
    VersionEffects {
  readonly store: ReducerStore<PageState, PageAction>;
  readonly receiver: Receiver;
  readonly api: Api;
  /** UI state by session (open parts, unfinished edits). It outlives the components. */
  readonly uiStates: Map<string, UiStateCache>;
  dispatch(action: PageAction): void;
  open(session: string | undefined): void;
}

/** Sessions that stay connected: the current one and the most recent others. */
const MAX_CONNECTIONS = 4;
const MAX_SESSIONS = 8;
/** Keeps reconnecting for hours. The header shows the status meanwhile. */
const MAX_RECONNECTS = 1000;

export function createPageController(): PageController {
  const settings = findStorage(() => localStorage);
  const drafts = findStorage(() => sessionStorage);
  const store = createStore(
    reducePage,
    createPageState(readSettings(settings, chooseLanguage(navigator.languages)), readDrafts(drafts)),
  );
  const receiver = createLoomReceiver({ limits: { maxSessions: MAX_SESSIONS } });
  const transport = createWebSocketTransport({ url: formatSocketUrl });
  const watches = new Map<string, () => void>();
  const connections = new Connections({
    max: MAX_CONNECTIONS,
    isBusy: (session) => findWaiting(store.getSnapshot().composing, session).some(isPending),
    connect(session) {
      watches.set(
        session,
        watchSession(context, session, {
          sessions,
          findApproval,
          alerts,
          onRunChange: () => activity.refreshActivity(),
          onStreamFailure: checkAccess,
        }),
      );
      return connect(receiver, { transport, session, reconnect: { maxAttempts: MAX_RECONNECTS } });
    },
    onClose(session) {
      watches.get(session)?.();
      watches.delete(session);
      receiver.drop(session);
    },
  });
  /** Sessions with messages that were unsent when the page was closed. */
  const unsent = new Set(store.getSnapshot().composing.waiting.keys());
  const show = (session: string | undefined, isNew = false): void => {
    if (store.getSnapshot().sessions.current === session) return;
    store.dispatch({ type: "session/opened", session, isNew });
    if (session === undefined) return;
    // On the first connection, `watchSession` loads the details.
    if (connections.has(session) && !isNew) void sessions.loadDetails(session);
    connections.get(session);
    if (unsent.delete(session))
      for (const message of findWaiting(store.getSnapshot().composing, session))
        if (message.status === "sending") messages.resend(message);
  };
  /** Checks access again, unless authentication is off. */
  const checkAccess = (): void => {
    if (store.getSnapshot().access.phase !== "open") void access.checkAccess();
  };
  const context: EffectContext = {
    api: createApi(checkAccess),
    store,
    receiver,
    connectionTo: (session) => connections.get(session),
    disconnect: (session) => connections.close(session),
    open(session, { isNew = false } = {}) {
      const route = formatRoute(session);
      if (location.hash !== route) history.pushState(null, "", route);
      show(session, isNew);
    },
    createId,
    notifyTabs: connectTabs(() => {
      sessions.refresh(store.getSnapshot().sessions.current);
      activity.refreshActivity();
    }),
  };
  const isVisible = (): boolean => document.visibilityState === "visible";
  const alerts = createAlertEffects(context, {
    isVisible,
    notifications: typeof Notification === "undefined" ? undefined : Notification,
    focus: () => window.focus(),
  });
  const activity = createActivityEffects(context, {
    isVisible,
    isConnected: (session) => connections.has(session),
    onEnd: (session) => sessions.refresh(session),
    alerts,
  });
  const instructions = storeInstructions(store, settings);
  const storedDrafts = storeDrafts(store, drafts);
  addEventListener("pagehide", () => storedDrafts.save());
  const versions = createVersionEffects(context);
  const sessions = createSessionEffects(context, (session) => void versions.loadVersions(session));
  const messages = createMessageEffects(context);
  const access = createAccessEffects(context, {
    findShared: () => readSharedRoute(location.hash),
    setShared: (session) =>
      history.replaceState(null, "", session === undefined ? formatRoute(undefined) : formatSharedRoute(session)),
    onEnter() {
      if (!storedDrafts.claim()) unsent.clear();
      instructions.load();
      connections.retryAll();
      followRoute();
      if (!may(store.getSnapshot().access, "read")) return;
      sessions.refresh();
      activity.refreshActivity();
      void loadAgents(context);
    },
    startOver() {
      store.dispatch({ type: "composing/cleared" });
      instructions.clear();
      history.replaceState(null, "", formatRoute(undefined));
      location.reload();
    },
    reload: () => location.reload(),
  });
  const followRoute = (): void => {
    const { phase, session } = store.getSnapshot().access;
    const shared = readSharedRoute(location.hash);
    if (phase === "checking") return;
    // Access to a shared session and to the user's own sessions differ. Reload to switch.
    if (shared !== session) location.reload();
    else if (phase === "open" || phase === "signed-in" || phase === "shared") {
      show(shared ?? readRoute(location.hash));
      showPosition();
    }
  };
  /** Opens the inspector where the URL says, and removes the position: it would be opened again after a reload. */
  const showPosition = (): void => {
    const at = readPosition(location.hash);
    if (at === undefined) return;
    history.replaceState(null, "", location.hash.replace(/\?.*$/, ""));
    store.dispatch({ type: "inspector/opened", focus: undefined, at });
  };
  /** Reads the share secret and removes it from the URL. */
  const takeShareSecret = (): string | undefined => {
    const secret = readShareSecret(location.hash);
    if (secret !== undefined) history.replaceState(null, "", formatRoute(undefined));
    return secret;
  };
  const onRouteChange = (): void => {
    const secret = takeShareSecret();
    if (secret === undefined) followRoute();
    else void access.openLink(secret);
  };
  addEventListener("popstate", onRouteChange);
  addEventListener("hashchange", onRouteChange);
  // Another tab has stored something; without a key, everything was removed.
  addEventListener("storage", ({ key }) => {
    if (key === null || key === INSTRUCTIONS_KEY) instructions.load();
  });
  addEventListener("online", () => connections.retryAll());
  // The page was restored from the back/forward cache, so its state may be stale.
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) checkAccess();
  });
  document.addEventListener("visibilitychange", () => {
    if (!isVisible()) return;
    checkAccess();
    if (!hasAccess(store.getSnapshot().access)) return;
    sessions.refresh();
    activity.refreshActivity();
    connections.retryAll();
    const { current } = store.getSnapshot().sessions;
    if (current !== undefined) alerts.clear(current);
    if (current !== undefined && hasTurns(receiver, current)) void sessions.loadDetails(current);
  });
  followSettings(store, settings);
  const secret = takeShareSecret();
  if (secret === undefined) void access.checkAccess();
  else void access.openLink(secret);

  return {
    store,
    receiver,
    api: context.api,
    uiStates: new Map(),
    dispatch: (action) => store.dispatch(action),
    open: (session) => context.open(session),
    ...access,
    ...sessions,
    ...versions,
    ...messages,
    ...createAttachmentEffects(context),
    ...createKnowledgeEffects(context),
    ...createExportEffects(context, transport),
    ...activity,
    setNotifications: (isOn) => alerts.setNotifications(isOn),
  };
}

function hasTurns(receiver: Receiver, session: string): boolean {
  return (receiver.session(session).getSnapshot()?.turns.length ?? 0) > 0;
}

function isPending({ status }: WaitingMessage): boolean {
  return status === "sending" || status === "withdrawing";
}

function findApproval(turn: Parameters<typeof findStage>[0]): string | undefined {
  const stage = findStage(turn);
  return stage?.kind === "approval" ? stage.tool : undefined;
}

async function loadAgents(context: EffectContext): Promise<void> {
  const loaded = await attempt(context, "agents", () =>
    Promise.all([context.api.listAgents(), context.api.listModels()]),
  );
  if (loaded === undefined) return;
  const [{ agents }, models] = loaded;
  // The picker of an agent's model needs to know the providers.
  context.store.dispatch({ type: "models/loaded", models });
  context.store.dispatch({ type: "agents/loaded", agents });
}

/** Applies settings to the document and stores each change of them. */
function followSettings(store: ReducerStore<PageState, PageAction>, storage: KeyValueStorage | undefined): void {
  const apply = (): void => {
    const { language, theme, hasReducedMotion } = store.getSnapshot().settings;
    const { documentElement } = document;
    documentElement.lang = language === "zh" ? "zh-CN" : "en";
    if (theme === "system") delete documentElement.dataset["theme"];
    else documentElement.dataset["theme"] = theme;
    if (hasReducedMotion === true) documentElement.dataset["motion"] = "reduced";
    else delete documentElement.dataset["motion"];
  };
  let { settings } = store.getSnapshot();
  apply();
  store.subscribe(() => {
    const now = store.getSnapshot().settings;
    if (now === settings) return;
    settings = now;
    apply();
    saveSettings(storage, settings);
  });
}

/** Some browsers throw when storage is accessed. */
function findStorage(find: () => KeyValueStorage): KeyValueStorage | undefined {
  try {
    return find();
  } catch {
    return undefined;
  }
}

function formatSocketUrl(): string {
  const url = new URL(formatUrl("/v1/ws"), document.baseURI);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.hash = "";
  return url.href;
}

const CHANNEL = "loom.sessions";

/**
 * Returns a function that tells the other tabs of this browser that sessions have changed. `onChange` is called when
 * another tab did. Other devices find out when they are used.
 */
function connectTabs(onChange: () => void): () => void {
  // Some browsers refuse a channel, for example in a sandboxed frame.
  try {
    const channel = new BroadcastChannel(CHANNEL);
    channel.addEventListener("message", onChange);
    return () => channel.postMessage("changed");
  } catch {
    return () => undefined;
  }
}
