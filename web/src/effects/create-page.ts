/** The page without its looks: the store, the receiver, and everything that can be done. One for as long as it is open. */
import { connect, createLoomReceiver, createWebSocketTransport, type Receiver } from "loom-agent/client";
import { chooseLanguage, findStage, type KeptStates } from "loom-agent/react";
import { type Api, createApi } from "../api/create-api.ts";
import { isInside, may } from "../store/access.ts";
import { type ComposingState, findWaiting, type WaitingMessage } from "../store/composing.ts";
import { createStore, type ReducerStore } from "../store/create-store.ts";
import { createPageState, type PageAction, type PageState, reducePage } from "../store/page-state.ts";
import { keepDrafts, readDrafts } from "../store/kept-drafts.ts";
import { formatRoute, formatSharedRoute, readRoute, readSharedRoute, readShareSecret } from "../store/route.ts";
import { type Keeper, keepSettings, readSettings } from "../store/settings.ts";
import { type AccessEffects, createAccessEffects } from "./access-effects.ts";
import { type AttachmentEffects, createAttachmentEffects } from "./attachment-effects.ts";
import { Connections } from "./connections.ts";
import { attempt, createId, type Kit } from "./kit.ts";
import { createKnowledgeEffects, type KnowledgeEffects } from "./knowledge-effects.ts";
import { createMessageEffects, type MessageEffects } from "./message-effects.ts";
import { createSessionEffects, type SessionEffects } from "./session-effects.ts";
import { createSharingEffects, type SharingEffects } from "./sharing-effects.ts";
import { watchSession } from "./watch-sessions.ts";

export interface Page
  extends AccessEffects, SessionEffects, MessageEffects, AttachmentEffects, KnowledgeEffects, SharingEffects {
  readonly store: ReducerStore<PageState, PageAction>;
  readonly receiver: Receiver;
  readonly api: Api;
  /** By session, what readers opened and half-wrote in it: it outlives what is shown of it. */
  readonly kept: Map<string, KeptStates>;
  dispatch(action: PageAction): void;
  open(session: string | undefined): void;
}

/** The session that is shown, and those before it that are at hand without loading. */
const FOLLOWED = 4;
const HELD = 8;
/** A page nobody touches keeps trying for hours; it says so all the while. */
const TRIES = 1000;

export function createPage(): Page {
  const settings = findKeeper(() => localStorage);
  const drafts = findKeeper(() => sessionStorage);
  const store = createStore(
    reducePage,
    createPageState(readSettings(settings, chooseLanguage(navigator.languages)), readDrafts(drafts)),
  );
  const receiver = createLoomReceiver({ limits: { maxSessions: HELD } });
  const transport = createWebSocketTransport({ url: formatSocketAddress() });
  const watches = new Map<string, () => void>();
  const connections = new Connections({
    max: FOLLOWED,
    isBusy: (session) => findWaiting(store.getSnapshot().composing, session).some(isOnItsWay),
    connect(session) {
      watches.set(session, watchSession(kit, session, { sessions, findApproval, onTrouble: checkAccess }));
      return connect(receiver, { transport, session, reconnect: { maxAttempts: TRIES } });
    },
    onClose(session) {
      watches.get(session)?.();
      watches.delete(session);
      receiver.drop(session);
    },
  });
  /** Sessions in which messages were on their way when the page was left. */
  const unsent = new Set(store.getSnapshot().composing.waiting.keys());
  const show = (session: string | undefined, isUnmade = false): void => {
    if (store.getSnapshot().sessions.current === session) return;
    store.dispatch({ type: "session/opened", session, isUnmade });
    if (session === undefined) return;
    // Of one that is followed for the first time its watch finds out whether there is anything to ask.
    if (connections.has(session) && !isUnmade) void sessions.loadDetails(session);
    connections.get(session);
    if (unsent.delete(session))
      for (const message of findWaiting(store.getSnapshot().composing, session))
        if (message.status === "sending") messages.resend(message);
  };
  /** The server may see it otherwise than the page who is here; where nobody is asked, there is nothing to see. */
  const checkAccess = (): void => {
    if (store.getSnapshot().access.phase !== "open") void access.checkAccess();
  };
  const kit: Kit = {
    api: createApi(checkAccess),
    store,
    receiver,
    connectionTo: (session) => connections.get(session),
    disconnect: (session) => connections.close(session),
    open(session, { isUnmade = false } = {}) {
      const route = formatRoute(session);
      if (location.hash !== route) history.pushState(null, "", route);
      show(session, isUnmade);
    },
    createId,
  };
  const sessions = createSessionEffects(kit);
  const messages = createMessageEffects(kit);
  const access = createAccessEffects(kit, {
    findShared: () => readSharedRoute(location.hash),
    setShared: (session) =>
      history.replaceState(null, "", session === undefined ? formatRoute(undefined) : formatSharedRoute(session)),
    onEnter() {
      connections.retryAll();
      followRoute();
      if (!may(store.getSnapshot().access, "read")) return;
      sessions.refresh();
      void loadAgents(kit);
    },
    startOver() {
      store.dispatch({ type: "composing/forgotten" });
      history.replaceState(null, "", formatRoute(undefined));
      location.reload();
    },
    reload: () => location.reload(),
  });
  const followRoute = (): void => {
    const { phase, session } = store.getSnapshot().access;
    const shared = readSharedRoute(location.hash);
    if (phase === "asking") return;
    // What one may see of another place has nothing to do with what is here.
    if (phase !== "open" && shared !== session) location.reload();
    else if (phase === "open" || phase === "in" || phase === "shared") show(shared ?? readRoute(location.hash));
  };
  /** The secret is in the address for as long as it takes to read it. */
  const takeSecret = (): string | undefined => {
    const secret = readShareSecret(location.hash);
    if (secret !== undefined) history.replaceState(null, "", formatRoute(undefined));
    return secret;
  };
  const onAddress = (): void => {
    const secret = takeSecret();
    if (secret === undefined) followRoute();
    else void access.openLink(secret);
  };
  addEventListener("popstate", onAddress);
  addEventListener("hashchange", onAddress);
  addEventListener("online", () => connections.retryAll());
  // As the browser had put it aside: much may have happened since.
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) checkAccess();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState !== "visible") return;
    checkAccess();
    if (!isInside(store.getSnapshot().access)) return;
    sessions.refresh();
    connections.retryAll();
    const { current } = store.getSnapshot().sessions;
    if (current !== undefined && isThere(receiver, current)) void sessions.loadDetails(current);
  });
  keepUp(store, settings);
  followDrafts(store, drafts);
  const secret = takeSecret();
  if (secret === undefined) void access.checkAccess();
  else void access.openLink(secret);

  return {
    store,
    receiver,
    api: kit.api,
    kept: new Map(),
    dispatch: (action) => store.dispatch(action),
    open: (session) => kit.open(session),
    ...access,
    ...sessions,
    ...messages,
    ...createAttachmentEffects(kit),
    ...createKnowledgeEffects(kit),
    ...createSharingEffects(kit),
  };
}

function isThere(receiver: Receiver, session: string): boolean {
  return (receiver.session(session).getSnapshot()?.turns.length ?? 0) > 0;
}

function isOnItsWay({ status }: WaitingMessage): boolean {
  return status === "sending" || status === "withdrawing";
}

function findApproval(turn: Parameters<typeof findStage>[0]): string | undefined {
  const stage = findStage(turn);
  return stage?.kind === "approval" ? stage.tool : undefined;
}

async function loadAgents(kit: Kit): Promise<void> {
  const told = await attempt(kit, "agents", () => Promise.all([kit.api.listAgents(), kit.api.listModels()]));
  if (told === undefined) return;
  const [{ agents }, models] = told;
  kit.store.dispatch({ type: "agents/told", agents });
  kit.store.dispatch({ type: "models/told", models });
}

/** What is set is kept, and holds for the document. */
function keepUp(store: ReducerStore<PageState, PageAction>, keeper: Keeper | undefined): void {
  const apply = (): void => {
    const { language, theme } = store.getSnapshot().settings;
    const { documentElement } = document;
    documentElement.lang = language === "zh" ? "zh-CN" : "en";
    if (theme === "system") delete documentElement.dataset["theme"];
    else documentElement.dataset["theme"] = theme;
  };
  let { settings } = store.getSnapshot();
  apply();
  store.subscribe(() => {
    const now = store.getSnapshot().settings;
    if (now === settings) return;
    settings = now;
    apply();
    keepSettings(keeper, now);
  });
}

/** In a pause of typing. */
const DRAFTS_MS = 400;

function followDrafts(store: ReducerStore<PageState, PageAction>, keeper: Keeper | undefined): void {
  let composing: ComposingState = store.getSnapshot().composing;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const keep = (): void => keepDrafts(keeper, composing);
  store.subscribe(() => {
    const now = store.getSnapshot().composing;
    if (now === composing) return;
    composing = now;
    clearTimeout(timer);
    timer = setTimeout(keep, DRAFTS_MS);
  });
  addEventListener("pagehide", keep);
}

/** Some browsers refuse even to be asked. */
function findKeeper(find: () => Keeper): Keeper | undefined {
  try {
    return find();
  } catch {
    return undefined;
  }
}

function formatSocketAddress(): string {
  const url = new URL("./v1/ws", document.baseURI);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.hash = "";
  return url.href;
}
