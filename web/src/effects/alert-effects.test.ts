import { expect, it } from "vitest";
import { createAlertEffects } from "./alert-effects.ts";
import { createFakeContext } from "../../../test/contracts/fake-context.ts";

interface ShownNotification extends EventTarget {
  readonly title: string;
  readonly body: string | undefined;
}

function setUp(answer: NotificationPermission) {
  const context = createFakeContext();
  const shown: ShownNotification[] = [];
  const state = { isVisible: true, focused: 0 };
  class FakeNotification extends EventTarget {
    static permission: NotificationPermission = "default";
    static async requestPermission(): Promise<NotificationPermission> {
      FakeNotification.permission = answer;
      return answer;
    }
    constructor(title: string, { body }: NotificationOptions) {
      super();
      shown.push(Object.assign(this, { title, body }));
    }
    close(): void {}
  }
  const effects = createAlertEffects(context, {
    isVisible: () => state.isVisible,
    notifications: FakeNotification as unknown as typeof Notification,
    focus: () => void state.focused++,
  });
  return { context, shown, state, effects, alerts: () => context.store.getSnapshot().alerts };
}

it("raises no alert about the session that the user looks at", () => {
  const { context, effects, alerts, state } = setUp("granted");
  context.open("s");
  effects.alert({ session: "s", kind: "complete", detail: "" });
  expect(alerts()).toEqual([]);
  state.isVisible = false;
  effects.alert({ session: "s", kind: "complete", detail: "" });
  expect(alerts()).toHaveLength(1);
});

it("shows a notification only if the user agreed, and opens its session", async () => {
  const { context, effects, shown, state } = setUp("granted");
  const alert = { session: "s", kind: "approval", detail: "write_file" } as const;
  effects.alert(alert);
  expect(shown).toEqual([]);
  await effects.setNotifications(true);
  effects.alert(alert);
  expect(shown).toMatchObject([{ title: "New session", body: "Approval needed: write_file" }]);
  shown[0]?.dispatchEvent(new Event("click"));
  expect([context.opened, state.focused]).toEqual([["s"], 1]);
  await effects.setNotifications(false);
  effects.alert(alert);
  expect(shown).toHaveLength(1);
});

it("stays off if the browser refuses", async () => {
  const { context, effects } = setUp("denied");
  await effects.setNotifications(true);
  expect(context.store.getSnapshot().settings.hasNotifications).toBe(false);
});
