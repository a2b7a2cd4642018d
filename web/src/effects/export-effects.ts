/** Exports the current conversation: as a file, to the clipboard, or to the printer. The writers are loaded on demand. */
import type { ExportForm } from "../export/describe-conversation.ts";
import { findRow } from "../store/sessions.ts";
import type { EffectContext } from "./effect-context.ts";

export interface ExportEffects {
  /** Exports the current session, or one run of it. */
  exportSession(form: ExportForm, turnKey?: string): Promise<void>;
}

export function createExportEffects({ store, receiver }: EffectContext): ExportEffects {
  return {
    async exportSession(form, turnKey) {
      const { sessions, settings } = store.getSnapshot();
      const { current } = sessions;
      const view = current === undefined ? undefined : receiver.session(current).getSnapshot();
      if (view === undefined) return;
      const title = findRow(sessions, current)?.title;
      const options = { title, language: settings.language, now: Date.now(), turnKey };
      const { exportConversation } = await import("../export/export-conversation.ts");
      await exportConversation(form, view, options);
    },
  };
}
