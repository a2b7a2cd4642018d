/**
 * State of a `LoomChat`: a receiver with its connection, the draft, and the messages whose run has not started. A message
 * waits for the connection as long as that is lost; its ID makes repeating it safe.
 */
import { useEffect, useMemo, useRef, useState } from "react";
import {
  type ClientToken,
  connect,
  type Connection,
  createLoomReceiver,
  createWebSocketTransport,
  type Receiver,
  type SessionView,
} from "../../client/index.ts";
import { createCommandId } from "../../client/connection/command-sender.ts";
import { isAway } from "../thoughts/describe-stream.ts";
import { useSession } from "../use-receiver.ts";
import type { Draft, FileActions } from "./draft.ts";
import { type UploadedFile, createFileActions } from "./chat-files.ts";
import type { QueuedMessage } from "./waiting-message.ts";

export interface ChatOptions {
  readonly url: string;
  readonly session: string;
  readonly token: ClientToken | undefined;
  readonly agent: string | undefined;
}

export interface Chat {
  readonly receiver: Receiver;
  /** Undefined until the component is mounted. */
  readonly connection: Connection | undefined;
  readonly draft: Draft<UploadedFile>;
  readonly waiting: readonly UnconfirmedMessage[];
  readonly files: FileActions;
  /** Token to send with requests; undefined: the server needs none, or the browser has a cookie. */
  readonly token: (() => string | Promise<string>) | undefined;
  /** Returns the URL of an endpoint, such as `v1/ws`. */
  readonly resolve: (path: string) => URL;
  type(text: string): void;
  /** Sends the draft, or nothing if a file is missing. */
  send(): void;
  /** Sends a message, without the draft. */
  sendMessage(message: Pick<UnconfirmedMessage, "text" | "files">): void;
  resend(message: UnconfirmedMessage): void;
  /** Puts a failed message back into the box. */
  takeBack(message: UnconfirmedMessage): void;
  withdraw(message: UnconfirmedMessage): void;
}

interface UnconfirmedMessage extends QueuedMessage {
  readonly commandId: string;
  /** It failed, but may have been delivered. */
  readonly isLost?: boolean;
  readonly files: readonly { readonly blob_id: string; readonly name?: string; readonly mediaType?: string }[];
}

const EMPTY: Draft<UploadedFile> = { text: "", attachments: [] };
/** Number of latest turns in which pending messages are looked up. */
const RECENT_TURNS = 50;

export function useChat({ url, session, token, agent }: ChatOptions): Chat {
  const [receiver] = useState(() => createLoomReceiver());
  const [connection, setConnection] = useState<Connection>();
  const [draft, setDraft] = useState(EMPTY);
  const [waiting, setWaiting] = useState<readonly UnconfirmedMessage[]>([]);
  // A function that is given inline is another one in each render, and must not reconnect.
  const given = useRef(token);
  useEffect(() => {
    given.current = token;
  });
  const hasToken = token !== undefined;
  const fixedToken = typeof token === "string" ? token : undefined;
  const [resolve, readToken] = useMemo(() => {
    const base = new URL(`${url.replace(/\/+$/, "")}/`, globalThis.location?.href ?? "http://localhost");
    const read = (): string | Promise<string> =>
      typeof given.current === "function" ? given.current() : (given.current ?? "");
    return [(path: string) => new URL(path, base), hasToken ? read : undefined] as const;
  }, [url, hasToken]);
  useEffect(() => {
    const socket = resolve("v1/ws");
    socket.protocol = socket.protocol.replace("http", "ws");
    const transport = createWebSocketTransport({
      url: socket.href,
      ...(readToken === undefined ? {} : { token: readToken }),
    });
    const opened = connect(receiver, { transport, session });
    setConnection(opened);
    return () => {
      setConnection(undefined);
      opened.close();
      transport.close();
    };
  }, [receiver, resolve, readToken, session, fixedToken]);
  const isOpen = useRef(false);
  useEffect(() => {
    isOpen.current = true;
    return () => {
      isOpen.current = false;
    };
  }, []);

  useStarted(receiver, session, waiting, (runIds) =>
    setWaiting((all) => all.filter(({ runId }) => !runIds.includes(runId))),
  );
  const change = (runId: string, changes: Partial<UnconfirmedMessage>): void =>
    setWaiting((all) => all.map((one) => (one.runId === runId ? { ...one, ...changes } : one)));
  const remove = (runId: string): void => setWaiting((all) => all.filter((one) => one.runId !== runId));

  const deliver = async ({ commandId: id, runId: run_id, text: message, files }: UnconfirmedMessage): Promise<void> => {
    if (connection === undefined) return;
    const command = {
      id,
      run_id,
      message,
      when_busy: "enqueue" as const,
      ...(agent === undefined ? {} : { agent }),
      ...(files.length === 0
        ? {}
        : {
            attachments: files.map(({ blob_id, name }) => ({ blob_id, ...(name === undefined ? {} : { name }) })),
          }),
    };
    let result;
    do result = await connection.run(command);
    while (result.kind === "lost" && isOpen.current && isAway(receiver.session(session).getSnapshot()?.state));
    if (result.kind === "accepted") change(run_id, { status: "queued" });
    else if (result.kind !== "done")
      change(run_id, { status: "failed", error: result.message, isLost: result.kind === "lost" });
  };
  const sendMessage = ({ text, files }: Pick<UnconfirmedMessage, "text" | "files">): void => {
    const message: UnconfirmedMessage = {
      commandId: createCommandId(),
      runId: createCommandId(),
      text,
      files,
      status: "sending",
    };
    setWaiting((all) => [...all, message]);
    void deliver(message);
  };

  return {
    receiver,
    connection,
    draft,
    waiting,
    token: readToken,
    resolve,
    files: useMemo(
      () =>
        createFileActions({
          url: resolve(`v1/sessions/${encodeURIComponent(session)}/blobs`),
          token: readToken,
          change: setDraft,
        }),
      [resolve, readToken, session],
    ),
    type: (text) => setDraft((now) => ({ ...now, text })),
    send() {
      const files = draft.attachments.flatMap(({ name, mediaType, blob }) =>
        blob === undefined ? [] : [{ blob_id: blob.blob_id, name, mediaType }],
      );
      if (connection === undefined || files.length < draft.attachments.length) return;
      setDraft(EMPTY);
      for (const { preview } of draft.attachments) if (preview !== undefined) URL.revokeObjectURL(preview);
      sendMessage({ text: draft.text, files });
    },
    sendMessage,
    resend(message) {
      change(message.runId, { status: "sending", error: undefined, isLost: false });
      void deliver(message);
    },
    takeBack({ runId, text, files, isLost = false }) {
      remove(runId);
      const taken = files.map(({ blob_id, name = "", mediaType = "" }): UploadedFile => ({
        id: blob_id,
        name,
        bytes: 0,
        mediaType,
        progress: 100,
        blob: { blob_id },
      }));
      setDraft((now) => ({
        text: [text, now.text].filter((each) => each !== "").join("\n\n"),
        attachments: [...taken, ...now.attachments],
      }));
      if (isLost) void connection?.cancel({ run_id: runId });
    },
    withdraw({ runId, status, isLost = false }) {
      if (status === "failed") {
        remove(runId);
        if (isLost) void connection?.cancel({ run_id: runId });
        return;
      }
      change(runId, { status: "withdrawing" });
      void connection?.cancel({ run_id: runId }).then(({ kind }) => {
        if (kind === "done") remove(runId);
        else change(runId, { status: "queued" });
      });
    },
  };
}

/** Calls `onStart` with the messages whose run has appeared. */
function useStarted(
  receiver: Receiver,
  session: string,
  waiting: readonly UnconfirmedMessage[],
  onStart: (runIds: readonly string[]) => void,
): void {
  const select = useMemo(
    () => (view: SessionView | undefined) => {
      const begun = new Set(view?.turns.slice(-RECENT_TURNS).map(({ runId }) => runId));
      // A string, so that new tokens do not render the chat.
      return waiting.flatMap(({ runId }) => (begun.has(runId) ? [runId] : [])).join(" ");
    },
    [waiting],
  );
  const started = useSession(receiver, session, select);
  useEffect(() => {
    if (started !== "") onStart(started.split(" "));
  }, [started]);
}
