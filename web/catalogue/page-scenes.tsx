/** Screens and panels of the page: session list, composer, dialogs, inspector and sign-in. */
import { type ReactNode, useState } from "react";
import type { UiLanguage } from "loom-agent/react";
import { App } from "../src/app.tsx";
import type { PageAction } from "../src/store/page-state.ts";
import { pick, say, type Scene, SceneSession } from "./scene.tsx";
import { createRow, createScenePage, listRows } from "./scene-page.ts";

interface PageSceneProps {
  readonly language: UiLanguage;
  readonly actions?: readonly PageAction[];
  /** Writes the open session. Default: no session is open. */
  readonly write?: (session: SceneSession) => unknown;
}

function PageScene({ language, actions = [], write }: PageSceneProps): ReactNode {
  const [page] = useState(() => {
    const session = write === undefined ? undefined : new SceneSession("s-0");
    if (session !== undefined) write?.(session);
    return createScenePage({ language, actions, ...(session === undefined ? {} : { session }) });
  });
  return <App page={page} />;
}

const text = (language: UiLanguage): string =>
  pick(language, "The spring tides near the equinoxes are the highest.", "春分和秋分前后的大潮最高。");
const ask = (session: SceneSession, language: UiLanguage): SceneSession =>
  session
    .begin("run-1", { message: pick(language, "Which tides are the highest?", "哪一次潮汐最高？") })
    .put({ type: "node_enter", id: "think" }, say(text(language)));
const answer = (session: SceneSession, language: UiLanguage): SceneSession =>
  ask(session, language).put({ type: "node_exit", id: "think", result: "Ok" }).end({}, text(language));

/** The page with an answered question and these actions. */
function show(...make: readonly ((language: UiLanguage) => PageAction)[]): (language: UiLanguage) => ReactNode {
  return (language) => (
    <PageScene
      language={language}
      write={(session) => answer(session, language)}
      actions={[listRows(language), ...make.map((one) => one(language))]}
    />
  );
}

const DRAFT = "s-0";
const file = (id: string, name: string, progress: number) => ({
  id,
  name,
  bytes: 48_000,
  mediaType: "text/csv",
  progress,
});
const failure = { code: "connection_lost", message: "No response from the server." };
const document = (name: string) => ({
  document_id: name,
  name,
  title: name,
  collection: "default",
  format: "markdown" as const,
  bytes: 48_213,
  passages: 12,
  indexed_at: Date.UTC(2025, 10, 14),
});

export const PAGE_SCENES: readonly Scene[] = [
  {
    component: "page start",
    modules: ["web/start/start", "web/shell/shell", "web/shell/header", "web/shell/brand"],
    states: {
      empty: (language) => (
        <PageScene language={language} actions={[{ type: "sessions/listed", isMore: false, page: { sessions: [] } }]} />
      ),
      finished: (language) => <PageScene language={language} actions={[listRows(language)]} />,
    },
  },
  {
    component: "page conversation",
    modules: ["web/shell/conversation-pane", "web/shell/turn-menu", "web/app"],
    states: {
      streaming: (language) => (
        <PageScene
          language={language}
          write={(session) => ask(session, language)}
          actions={[listRows(language), { type: "session/live", session: DRAFT, isLive: true }]}
        />
      ),
      finished: show(),
      failed: show(() => ({ type: "notice/raised", task: "send", ...failure })),
    },
  },
  {
    component: "page composer",
    modules: [
      "web/composer/composer",
      "chat/allowed-tools",
      "chat/attachment-chips",
      "chat/composer",
      "chat/session-status",
      "chat/waiting-list",
      "web/composer/pickers",
    ],
    states: {
      draft: show((language) => ({ type: "draft/typed", session: DRAFT, text: text(language) })),
      attachments: show(() => ({
        type: "attachments/added",
        session: DRAFT,
        files: [file("1", "tides-2025.csv", 40), { ...file("2", "harbour.csv", 0), error: "too_large" }],
      })),
      waiting: (language) => (
        <PageScene
          language={language}
          write={(session) => ask(session, language)}
          actions={[
            listRows(language),
            {
              type: "queue/loaded",
              session: DRAFT,
              queued: [{ command_id: "c-2", run_id: "run-2", message: text(language), created_at: 0 }],
            },
          ]}
        />
      ),
      long: show((language) => ({ type: "draft/typed", session: DRAFT, text: `${text(language)}\n`.repeat(20) })),
    },
  },
  {
    component: "page sessions",
    modules: ["web/sidebar/sidebar", "web/sidebar/session-list", "web/sidebar/session-item"],
    states: {
      loading: (language) => <PageScene language={language} actions={[{ type: "sessions/loading" }]} />,
      failed: (language) => <PageScene language={language} actions={[{ type: "sessions/failed" }]} />,
      pinned: show(() => ({
        type: "pinned/listed",
        page: { sessions: [createRow("p", "Tides of 2025", 300, { is_pinned: true })] },
      })),
      "search without results": show(
        () => ({ type: "search/typed", query: "moon" }),
        () => ({ type: "search/found", query: "moon", page: { sessions: [] }, isMore: false }),
      ),
      renaming: show(() => ({ type: "session/renaming", session: "s-1" })),
      drawer: show(() => ({ type: "drawer/toggled", isOpen: true })),
    },
  },
  {
    component: "page dialogs",
    modules: [
      "web/settings/settings-dialog",
      "web/settings/command-palette",
      "web/shell/shortcuts-dialog",
      "web/knowledge/knowledge-dialog",
      "web/access/share-dialog",
    ],
    states: {
      settings: show(() => ({ type: "dialog/opened", dialog: "settings" })),
      palette: show(() => ({ type: "dialog/opened", dialog: "palette" })),
      shortcuts: show(() => ({ type: "dialog/opened", dialog: "shortcuts" })),
      "knowledge empty": show(
        () => knowledge([]),
        () => ({ type: "dialog/opened", dialog: "knowledge" }),
      ),
      knowledge: show(
        () => knowledge(["tides.md", "harbours.pdf"]),
        () => ({ type: "dialog/opened", dialog: "knowledge" }),
      ),
      "knowledge failed": show(
        () => ({ type: "knowledge/failed", error: failure.message }),
        () => ({ type: "dialog/opened", dialog: "knowledge" }),
      ),
      share: show(() => ({ type: "session-dialog/opened", dialog: { name: "share", session: DRAFT } })),
    },
  },
  {
    component: "page inspector",
    modules: ["web/inspector/inspector", "web/inspector/timeline-view", "web/inspector/scrubber"],
    states: { finished: show(() => ({ type: "inspector/opened", focus: undefined })) },
  },
  {
    component: "page sign-in",
    modules: ["web/access/gate", "web/access/sign-in"],
    states: {
      empty: (language) => <PageScene language={language} actions={[signedOut()]} />,
      failed: (language) => (
        <PageScene language={language} actions={[signedOut(), { type: "access/failed", failure }]} />
      ),
      "invalid link": (language) => <PageScene language={language} actions={[{ type: "access/link-invalid" }]} />,
    },
  },
];

function signedOut(): PageAction {
  const auth = { mode: "required", signed_in: false, scopes: [], shared_session_ids: [] } as const;
  return { type: "access/loaded", auth, shared: undefined, now: 0 };
}

function knowledge(names: readonly string[]): PageAction {
  const totals = { documents: names.length, passages: 12 * names.length, bytes: 48_213 * names.length };
  const page = { documents: names.map(document), totals, collections: [], accepts: [".md"], max_document_bytes: 1e7 };
  return { type: "knowledge/listed", page, isMore: false };
}
