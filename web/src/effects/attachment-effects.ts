/** Uploads files before their message is sent. A file belongs to a session, which the first upload creates. */
import { ApiError, describeFailure } from "../api/api-error.ts";
import { type Attachment, findDraft, findWaiting, MAX_ATTACHMENTS } from "../store/composing.ts";
import { findRow } from "../store/sessions.ts";
import type { EffectContext } from "./effect-context.ts";

export interface AttachmentEffects {
  attach(files: readonly File[]): void;
  /** Attaches a text that was pasted at this position of the box. */
  attachText(name: string, text: string, at: number): void;
  /** Repeats a failed upload. */
  retryAttachment(id: string): void;
  /** A session that was created for the file only is deleted with its last file. */
  removeAttachment(id: string): void;
  /** Removes a pasted file and puts its text into the box. */
  undoPaste(id: string): void;
}

/** Failed files kept for a retry, over all sessions. */
const MAX_FAILED = 2 * MAX_ATTACHMENTS;

export function createAttachmentEffects(context: EffectContext): AttachmentEffects {
  const { api, store } = context;
  /** Running uploads by attachment ID. */
  const uploads = new Map<
    string,
    { readonly controller: AbortController; readonly session: string; readonly done: Promise<void> }
  >();
  /** Sessions that the first upload created. */
  const created = new Set<string>();
  /** Failed files by attachment ID, oldest first. The oldest is dropped when the limit is reached. */
  const failed = new Map<string, { readonly session: string; readonly file: File }>();

  const put = (session: string, id: string, file: File): void => {
    const controller = new AbortController();
    uploads.set(id, { controller, session, done: upload(session, id, file, controller) });
  };
  const upload = async (session: string, id: string, file: File, controller: AbortController): Promise<void> => {
    const update = (changes: Partial<Attachment>): void =>
      store.dispatch({ type: "attachment/updated", session, id, changes });
    try {
      const blob = await api.putBlob(session, file, {
        signal: controller.signal,
        onProgress: (percent) => update({ progress: Math.round(percent) }),
      });
      update({ blob, progress: 100 });
    } catch (error) {
      update({ error: describeFailure(error).message });
      if (!controller.signal.aborted) failed.set(id, { session, file });
      for (const oldest of failed.keys()) if (failed.size > MAX_FAILED) failed.delete(oldest);
    } finally {
      uploads.delete(id);
    }
  };

  /** The session exists only because a file was uploaded to it. */
  const isOnlyUploads = (session: string): boolean => {
    const { composing, sessions } = store.getSnapshot();
    const turns = context.receiver.session(session).getSnapshot()?.turns ?? [];
    if (turns.length > 0 || findWaiting(composing, session).length > 0) return false;
    return created.has(session) || findRow(sessions, session)?.last_event_id === 0;
  };

  /** Without files, a new session is not needed yet: its draft is that of the next one. */
  const dropUnused = async (session: string): Promise<void> => {
    const { composing, sessions } = store.getSnapshot();
    if (findDraft(composing, session).attachments.length > 0 || !isOnlyUploads(session)) return;
    created.delete(session);
    store.dispatch({ type: "draft/moved", from: session, to: "" });
    if (sessions.current === session) context.open(undefined);
    context.disconnect(session);
    store.dispatch({ type: "session/deleted", session });
    // A cancelled upload may still arrive.
    await Promise.all([...uploads.values()].filter((each) => each.session === session).map(({ done }) => done));
    try {
      await api.deleteConversation(session);
    } catch (error) {
      // No upload has arrived.
      if (!(error instanceof ApiError)) throw error;
    }
    store.dispatch({ type: "session/deleted", session });
    context.notifyTabs();
  };

  const attachAll = (files: readonly { readonly file: File; readonly pasted?: Attachment["pasted"] }[]): void => {
    const { sessions, composing } = store.getSnapshot();
    const session = sessions.current ?? context.createId();
    const attached = findDraft(composing, sessions.current).attachments.length;
    const taken = files.slice(0, MAX_ATTACHMENTS - attached);
    if (taken.length < files.length)
      store.dispatch({ type: "notice/raised", task: "attach", code: "too_many", message: String(MAX_ATTACHMENTS) });
    if (taken.length === 0) return;
    if (sessions.current === undefined) {
      created.add(session);
      store.dispatch({ type: "draft/moved", from: "", to: session });
      context.open(session, { isNew: true });
    }
    const added = taken.map(({ file, pasted }) => ({ id: context.createId(), file, pasted }));
    store.dispatch({
      type: "attachments/added",
      session,
      files: added.map(({ id, file: { name, size, type }, pasted }) => ({
        id,
        name,
        bytes: size,
        mediaType: type,
        progress: 0,
        ...(pasted === undefined ? {} : { pasted }),
      })),
    });
    for (const { id, file } of added) put(session, id, file);
  };

  const drop = (id: string, type: "attachment/removed" | "paste/undone"): void => {
    failed.delete(id);
    uploads.get(id)?.controller.abort();
    const { current = "" } = store.getSnapshot().sessions;
    store.dispatch({ type, session: current, id });
    void dropUnused(current);
  };

  return {
    attach: (files) => attachAll(files.map((file) => ({ file }))),
    attachText(name, text, at) {
      attachAll([{ file: new File([text], name, { type: "text/plain" }), pasted: { text, at } }]);
    },
    retryAttachment(id) {
      const upload = failed.get(id);
      if (upload === undefined) return;
      failed.delete(id);
      store.dispatch({ type: "attachment/retried", session: upload.session, id });
      put(upload.session, id, upload.file);
    },
    removeAttachment: (id) => drop(id, "attachment/removed"),
    undoPaste: (id) => drop(id, "paste/undone"),
  };
}
