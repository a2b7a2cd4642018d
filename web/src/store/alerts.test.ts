import { expect, it } from "vitest";
import { NO_ALERTS, reduceAlerts, type SessionAlert } from "./alerts.ts";

const raise = (session: string, kind: SessionAlert["kind"]) =>
  ({ type: "alert/raised", alert: { session, kind, detail: "" } }) as const;

it("keeps the latest alert of each session until the user opens it", () => {
  let alerts = NO_ALERTS;
  for (const action of [raise("a", "approval"), raise("b", "error"), raise("a", "complete")])
    alerts = reduceAlerts(alerts, action);
  expect(alerts.map(({ session, kind }) => [session, kind])).toEqual([
    ["b", "error"],
    ["a", "complete"],
  ]);
  expect(reduceAlerts(alerts, { type: "session/opened", session: "c" })).toBe(alerts);
  const left = reduceAlerts(alerts, { type: "session/opened", session: "b" });
  expect(left.map(({ session }) => session)).toEqual(["a"]);
  expect(reduceAlerts(left, { type: "alert/cleared", session: "a" })).toEqual([]);
});
