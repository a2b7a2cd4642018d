/** Files that go up before the message they come with. They belong to a session, which the first of them makes. */
import { describeFailure } from "../api/api-error.ts";
import { type Attachment, findDraft, MAX_ATTACHMENTS } from "../store/composing.ts";
import type { Kit } from "./kit.ts";

export interface AttachmentEffects {
  attach(files: readonly File[]): void;
  /** One that did not go up, once more. */
  retryAttachment(id: string): void;
  removeAttachment(id: string): void;
}

/** Files that did not go up and are held, of whichever session. */
const MAX_FAILED = 2 * MAX_ATTACHMENTS;

export function createAttachmentEffects(kit: Kit): AttachmentEffects {
  const { api, store } = kit;
  /** Those that are going up; each leaves when it is done. */
  const uploads = new Map<string, AbortController>();
  /** Those that did not go up, for another try; the one that failed first makes room. */
  const failed = new Map<string, { readonly session: string; readonly file: File }>();

  const put = async (session: string, id: string, file: File): Promise<void> => {
    const controller = new AbortController();
    uploads.set(id, controller);
    const tell = (told: Partial<Attachment>): void => store.dispatch({ type: "attachment/told", session, id, told });
    try {
      const blob = await api.putBlob(session, file, {
        signal: controller.signal,
        onProgress: (percent) => tell({ progress: Math.round(percent) }),
      });
      tell({ blob, progress: 100 });
    } catch (error) {
      tell({ error: describeFailure(error).message });
      if (!controller.signal.aborted) failed.set(id, { session, file });
      for (const oldest of failed.keys()) if (failed.size > MAX_FAILED) failed.delete(oldest);
    } finally {
      uploads.delete(id);
    }
  };

  return {
    attach(files) {
      const { sessions, composing } = store.getSnapshot();
      const session = sessions.current ?? kit.createId();
      const held = findDraft(composing, sessions.current).attachments.length;
      const taken = files.slice(0, MAX_ATTACHMENTS - held);
      if (taken.length < files.length)
        store.dispatch({ type: "notice/raised", task: "attach", code: "too_many", message: String(MAX_ATTACHMENTS) });
      if (taken.length === 0) return;
      if (sessions.current === undefined) {
        store.dispatch({ type: "draft/moved", from: "", to: session });
        kit.open(session, { isUnmade: true });
      }
      const added = taken.map((file) => ({ id: kit.createId(), file }));
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
      const held = failed.get(id);
      if (held === undefined) return;
      failed.delete(id);
      store.dispatch({ type: "attachment/retried", session: held.session, id });
      void put(held.session, id, held.file);
    },
    removeAttachment(id) {
      failed.delete(id);
      uploads.get(id)?.abort();
      const { current = "" } = store.getSnapshot().sessions;
      store.dispatch({ type: "attachment/removed", session: current, id });
    },
  };
}
