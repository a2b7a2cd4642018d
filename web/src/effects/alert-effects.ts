/**
 * Tells the user what happened in sessions that they do not look at: in the title of the tab, and as a notification if
 * the user turned them on.
 */
import type { SessionAlert } from "../store/alerts.ts";
import { findRow } from "../store/sessions.ts";
import { SHELL_WORDS } from "../shell/shell-words.ts";
import type { EffectContext } from "./effect-context.ts";

export interface AlertEffects {
  /** Turns notifications on, if the browser and the user agree, or off. */
  setNotifications(isOn: boolean): Promise<void>;
}

export interface AlertOptions {
  /** False while the tab is in the background. */
  readonly isVisible: () => boolean;
  /** Undefined if the browser has no notifications. */
  readonly notifications: typeof Notification | undefined;
  /** Brings the tab to the front. */
  readonly focus: () => void;
}

export interface Alerts extends AlertEffects {
  /** Alerts the user, unless they look at the session. */
  alert(alert: SessionAlert): void;
  clear(session: string): void;
}

const MAX_BODY = 200;

export function createAlertEffects(context: EffectContext, options: AlertOptions): Alerts {
  const { store } = context;
  const { isVisible, notifications, focus } = options;

  const notify = ({ session, kind, detail }: SessionAlert): void => {
    const { settings, sessions } = store.getSnapshot();
    if (settings.hasNotifications !== true || notifications?.permission !== "granted") return;
    const words = SHELL_WORDS[settings.language];
    try {
      // Tabs with the same tag replace each other's notification.
      const shown = new notifications(findRow(sessions, session)?.title ?? words.untitled, {
        body: [words.alertTitle(kind), detail]
          .filter((text) => text !== "")
          .join(": ")
          .slice(0, MAX_BODY),
        tag: `loom:${session}`,
      });
      shown.addEventListener("click", () => {
        focus();
        context.open(session);
        shown.close();
      });
    } catch {
      // Some browsers allow notifications only in service workers.
    }
  };

  return {
    alert(alert) {
      if (isVisible() && store.getSnapshot().sessions.current === alert.session) return;
      store.dispatch({ type: "alert/raised", alert });
      notify(alert);
    },
    clear: (session) => store.dispatch({ type: "alert/cleared", session }),
    async setNotifications(isOn) {
      const isGranted =
        isOn &&
        notifications !== undefined &&
        (await notifications.requestPermission().catch(() => "denied")) === "granted";
      store.dispatch({ type: "settings/changed", settings: { hasNotifications: isGranted } });
    },
  };
}
