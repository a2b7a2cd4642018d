// State of the share dialog.
import { expect, it } from "vitest";
import { reduceSharing, type SharingAction, type SharingState } from "./sharing.ts";

const link = (id: string) => ({ share_id: id, created_at: 1, secret: `secret-${id}`, url: `http://x/#share=${id}` });

function run(...actions: readonly SharingAction[]): SharingState | undefined {
  return actions.reduce<SharingState | undefined>(reduceSharing, undefined);
}

it("keeps only the secret of the last link, until the dialog closes", () => {
  const created = run(
    { type: "sharing/opened", session: "s" },
    { type: "sharing/listed", session: "s", links: [{ share_id: "old", created_at: 0 }] },
    { type: "sharing/created", session: "s", link: link("a"), isCopied: true },
    { type: "sharing/created", session: "s", link: link("b"), isCopied: false },
  );
  expect(created?.links.map(({ share_id }) => share_id)).toEqual(["b", "a", "old"]);
  expect(JSON.stringify(created)).not.toContain("secret-a");
  expect(JSON.stringify(created?.links)).not.toContain("secret-b");
  const revoked = reduceSharing(created, { type: "sharing/revoked", session: "s", share: "b" });
  expect([revoked?.created, revoked?.links.length]).toEqual([undefined, 2]);
  expect(reduceSharing(created, { type: "sharing/closed" })).toBeUndefined();
});

it("ignores responses for another session", () => {
  const state = run({ type: "sharing/opened", session: "s" });
  const failure = { code: "x", message: "no" };
  for (const action of [
    { type: "sharing/listed", session: "other", links: [] },
    { type: "sharing/created", session: "other", link: link("a"), isCopied: true },
    { type: "sharing/revoked", session: "other", share: "a" },
    { type: "sharing/failed", session: "other", failure, isList: true },
  ] as const) {
    expect(reduceSharing(state, action)).toBe(state);
    expect(reduceSharing(undefined, action)).toBeUndefined();
  }
  expect(reduceSharing(undefined, { type: "notice/closed" } as never)).toBeUndefined();
});

it("reports failures and can be retried", () => {
  const failure = { code: "x", message: "no" };
  const state = run(
    { type: "sharing/opened", session: "s" },
    { type: "sharing/creating" },
    { type: "sharing/failed", session: "s", failure, isList: false },
  );
  expect(state).toMatchObject({ isCreating: false, failure, status: "loading" });
  expect(
    run({ type: "sharing/opened", session: "s" }, { type: "sharing/failed", session: "s", failure, isList: true })
      ?.status,
  ).toBe("failed");
});
