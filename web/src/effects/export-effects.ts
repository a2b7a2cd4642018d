/** Exports a conversation: as a file, to the clipboard, or to the printer. The writers are loaded on demand. */
import { connect, createLoomReceiver, type SessionView, type Transport } from "loom-agent/client";
import { ApiError } from "../api/api-error.ts";
import type { ExportForm } from "../export/describe-conversation.ts";
import { findRow } from "../store/sessions.ts";
import type { EffectContext } from "./effect-context.ts";

export interface ExportEffects {
  /** Exports the session (default: the current one), or one run of the current one. Rejects if it cannot be read. */
  exportSession(form: ExportForm, what?: { readonly session?: string; readonly turnKey?: string }): Promise<void>;
}

export function createExportEffects({ store, receiver }: EffectContext, transport: Transport): ExportEffects {
  /** Reads a session that is not shown. */
  const readView = async (session: string): Promise<SessionView | undefined> => {
    const reader = createLoomReceiver();
    const { reason } = await connect(reader, { transport, session, follow: false }).done;
    if (reason !== undefined) throw new ApiError(reason.code, reason.message);
    return reader.session(session).getSnapshot();
  };
  return {
    async exportSession(form, { session, turnKey } = {}) {
      const { sessions, settings } = store.getSnapshot();
      const { current } = sessions;
      const id = session ?? current;
      if (id === undefined) return;
      const view = id === current ? receiver.session(id).getSnapshot() : await readView(id);
      if (view === undefined) return;
      const title = findRow(sessions, id)?.title;
      const options = { title, language: settings.language, now: Date.now(), turnKey };
      const { exportConversation } = await import("../export/export-conversation.ts");
      await exportConversation(form, view, options);
    },
  };
}
