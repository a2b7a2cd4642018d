/** A whole chat in one component: the conversation of one session and the box to write in. */
import { type DragEvent, type ReactNode, useMemo, useState, useSyncExternalStore } from "react";
import type { ClientToken, TurnView } from "../../client/index.ts";
import { fetchFile } from "../../client/transport/session-files.ts";
import { Conversation } from "../conversation/conversation.tsx";
import { findLiveRun, isAway } from "../thoughts/describe-stream.ts";
import { type UiActions, type UiLanguage, UiProvider, useUi } from "../ui/ui-context.tsx";
import { chooseLanguage, defineWords, useWords } from "../ui/words.ts";
import { useSession } from "../use-receiver.ts";
import { AllowedTools } from "./allowed-tools.tsx";
import { Composer } from "./composer.tsx";
import { createSessionActions } from "./session-actions.ts";
import { SessionStatus } from "./session-status.tsx";
import { type Chat, useChat } from "./use-chat.ts";
import { WaitingList } from "./waiting-list.tsx";
import { splitWaiting } from "./waiting-message.ts";

const WORDS = defineWords({ en: { chat: "Chat" }, zh: { chat: "聊天" } });

/** Blob IDs come from frames. Only hexadecimal IDs become part of a URL. */
const BLOB_ID = /^[\da-f]+$/;

/** Props of `LoomChat`. */
export interface LoomChatProps {
  /** URL of the server, with its base path: `https://example.com/agents`. A relative URL is relative to the page. */
  readonly url: string;
  /** ID of the session. It need not exist: the first message creates it. */
  readonly session: string;
  /**
   * Token of the user, or a function that returns a short-lived one. The function is called whenever the chat connects,
   * uploads a file or loads one. Default: no token, for servers without authentication and pages that are signed in.
   */
  readonly token?: ClientToken | undefined;
  /** Agent that answers. Default: the default agent of the server. */
  readonly agent?: string | undefined;
  /** Default: the language of the browser. */
  readonly language?: UiLanguage | undefined;
}

/**
 * Shows a session as a chat: messages, approvals, files, and what is wrong with the connection. It fills a container that
 * has a height, and otherwise has its own height. Plugins are those of a surrounding `UiProvider`.
 *
 * ```tsx
 * <LoomChat url="https://agents.example.com" session="demo" token={() => fetchToken()} />
 * ```
 */
export function LoomChat(props: LoomChatProps): ReactNode {
  return <SessionChat key={`${props.url} ${props.session}`} {...props} />;
}

function SessionChat({ url, session, token, agent, language }: LoomChatProps): ReactNode {
  const { plugins } = useUi();
  const browserLanguage = useSyncExternalStore(listenToNothing, readLanguage, () => "en" as const);
  const shown = language ?? browserLanguage;
  const chat = useChat({ url, session, token, agent });
  const { connection, resolve } = chat;
  const actions = useMemo(
    (): UiActions =>
      connection === undefined
        ? {}
        : { ...createSessionActions(connection), retry: (turn) => chat.sendMessage(readQuestion(turn)) },
    [connection],
  );
  const loadBlob = useMemo(
    () => async (id: string, signal: AbortSignal) => {
      if (!BLOB_ID.test(id)) throw new Error("Not the ID of a file");
      const { href } = resolve(`v1/sessions/${encodeURIComponent(session)}/blobs/${id}`);
      return fetchFile(href, { token: chat.token, signal });
    },
    [resolve, session, chat.token],
  );
  return (
    <UiProvider language={shown} actions={actions} plugins={plugins} loadBlob={loadBlob} sendKey="enter">
      <ChatFrame chat={chat} session={session} language={shown} />
    </UiProvider>
  );
}

interface ChatFrameProps {
  readonly chat: Chat;
  readonly session: string;
  readonly language: UiLanguage;
}

function ChatFrame({ chat, session, language }: ChatFrameProps): ReactNode {
  const words = useWords(WORDS);
  const { receiver, connection, draft, waiting, files } = chat;
  const [stopping, setStopping] = useState<string>();
  const liveRun = useSession(receiver, session, (view) => findLiveRun(view)?.runId);
  const isLive = liveRun !== undefined;
  const away = useSession(receiver, session, (view) => isAway(view?.state));
  const { next, others } = useMemo(() => splitWaiting(waiting, isLive), [waiting, isLive]);
  const stop = (): void => {
    if (liveRun === undefined) return;
    setStopping(liveRun);
    void connection?.cancel({ run_id: liveRun }).then(({ kind }) => {
      if (kind !== "done" && kind !== "accepted") setStopping(undefined);
    });
  };
  const onDrag = (event: DragEvent): void => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    if (event.type === "drop") files.attach([...event.dataTransfer.files]);
  };
  return (
    <section className="loom-chat" aria-label={words.chat} lang={language} onDragOver={onDrag} onDrop={onDrag}>
      <Conversation receiver={receiver} sessionId={session} pending={next} />
      <Composer
        text={draft.text}
        onType={(text) => chat.type(text)}
        onSend={() => chat.send()}
        files={draft.attachments}
        fileActions={files}
        onStop={isLive ? stop : undefined}
        isStopping={isLive && stopping === liveRun}
        isBusy={isLive || waiting.some(({ status }) => status === "queued")}
        tools={<SessionStatus receiver={receiver} sessionId={session} onRetry={() => connection?.retry()} />}
      >
        <AllowedTools receiver={receiver} sessionId={session} />
        <WaitingList
          messages={others}
          isAway={away}
          onEdit={(message) => chat.takeBack(message)}
          onResend={(message) => chat.resend(message)}
          onWithdraw={(message) => chat.withdraw(message)}
        />
      </Composer>
    </section>
  );
}

/** Returns the user's message of a run, to send it again. */
function readQuestion(turn: TurnView): Parameters<Chat["sendMessage"]>[0] {
  const question = turn.messages.find(({ role }) => role === "user");
  const files = (question?.attachments ?? []).map(({ blob_id, name, media_type: mediaType }) => ({
    blob_id,
    mediaType,
    ...(name === undefined ? {} : { name }),
  }));
  return { text: question?.mainContent ?? "", files };
}

const listenToNothing = () => (): void => undefined;
const readLanguage = (): UiLanguage => chooseLanguage(navigator.languages);
