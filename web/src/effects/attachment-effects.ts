/** Uploads files before their message is sent. A file belongs to a session, which the first upload creates. */
import { describeFailure } from "../api/api-error.ts";
import { type Attachment, findDraft, MAX_ATTACHMENTS } from "../store/composing.ts";
import type { EffectContext } from "./effect-context.ts";

export interface AttachmentEffects {
  attach(files: readonly File[]): void;
  /** Repeats a failed upload. */
  retryAttachment(id: string): void;
  removeAttachment(id: string): void;
}

/** Failed files kept for a retry, over all sessions. */
const MAX_FAILED = 2 * MAX_ATTACHMENTS;

export function createAttachmentEffects(context: EffectContext): AttachmentEffects {
  const { api, store } = context;
  /** Running uploads by attachment ID. */
  const uploads = new Map<string, AbortController>();
  /** Failed files by attachment ID, oldest first. The oldest is dropped when the limit is reached. */
  const failed = new Map<string, { readonly session: string; readonly file: File }>();

  const put = async (session: string, id: string, file: File): Promise<void> => {
    const controller = new AbortController();
    uploads.set(id, controller);
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

  return {
    attach(files) {
      const { sessions, composing } = store.getSnapshot();
      const session = sessions.current ?? context.createId();
      const attached = findDraft(composing, sessions.current).attachments.length;
      const taken = files.slice(0, MAX_ATTACHMENTS - attached);
      if (taken.length < files.length)
        store.dispatch({ type: "notice/raised", task: "attach", code: "too_many", message: String(MAX_ATTACHMENTS) });
      if (taken.length === 0) return;
      if (sessions.current === undefined) {
        store.dispatch({ type: "draft/moved", from: "", to: session });
        context.open(session, { isNew: true });
      }
      const added = taken.map((file) => ({ id: context.createId(), file }));
      store.dispatch({
        type: "attachments/added",
        session,
        files: added.map(({ id, file: { name, size, type } }) => ({
          id,
          name,
          bytes: size,
          mediaType: type,
          progress: 0,
        })),
      });
      for (const { id, file } of added) void put(session, id, file);
    },
    retryAttachment(id) {
      const upload = failed.get(id);
      if (upload === undefined) return;
      failed.delete(id);
      store.dispatch({ type: "attachment/retried", session: upload.session, id });
      void put(upload.session, id, upload.file);
    },
    removeAttachment(id) {
      failed.delete(id);
      uploads.get(id)?.abort();
      const { current = "" } = store.getSnapshot().sessions;
      store.dispatch({ type: "attachment/removed", session: current, id });
    },
  };
}
