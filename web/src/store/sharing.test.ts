// Links to a session, while they are looked at.
import { expect, it } from "vitest";
import { reduceSharing, type SharingAction, type SharingState } from "./sharing.ts";

const link = (id: string) => ({ share_id: id, created_at: 1, secret: `secret-${id}`, url: `http://x/#share=${id}` });

function run(...actions: readonly SharingAction[]): SharingState | undefined {
  return actions.reduce<SharingState | undefined>(reduceSharing, undefined);
}

it("keeps the secret of the last link alone, and not beyond its window", () => {
  const made = run(
    { type: "sharing/opened", session: "s" },
    { type: "sharing/listed", session: "s", links: [{ share_id: "old", created_at: 0 }] },
    { type: "sharing/made", session: "s", link: link("a"), isCopied: true },
    { type: "sharing/made", session: "s", link: link("b"), isCopied: false },
  );
  expect(made?.links.map(({ share_id }) => share_id)).toEqual(["b", "a", "old"]);
  expect(JSON.stringify(made)).not.toContain("secret-a");
  expect(JSON.stringify(made?.links)).not.toContain("secret-b");
  const revoked = reduceSharing(made, { type: "sharing/revoked", session: "s", share: "b" });
  expect([revoked?.made, revoked?.links.length]).toEqual([undefined, 2]);
  expect(reduceSharing(made, { type: "sharing/closed" })).toBeUndefined();
});

it("hears nothing of a session that is no longer looked at", () => {
  const state = run({ type: "sharing/opened", session: "s" });
  const failure = { code: "x", message: "no" };
  for (const action of [
    { type: "sharing/listed", session: "other", links: [] },
    { type: "sharing/made", session: "other", link: link("a"), isCopied: true },
    { type: "sharing/revoked", session: "other", share: "a" },
    { type: "sharing/failed", session: "other", failure, isList: true },
  ] as const) {
    expect(reduceSharing(state, action)).toBe(state);
    expect(reduceSharing(undefined, action)).toBeUndefined();
  }
  expect(reduceSharing(undefined, { type: "notice/closed" } as never)).toBeUndefined();
});

it("says what failed, and can be asked again", () => {
  const failure = { code: "x", message: "no" };
  const state = run(
    { type: "sharing/opened", session: "s" },
    { type: "sharing/making" },
    { type: "sharing/failed", session: "s", failure, isList: false },
  );
  expect(state).toMatchObject({ isMaking: false, trouble: failure, status: "loading" });
  expect(
    run({ type: "sharing/opened", session: "s" }, { type: "sharing/failed", session: "s", failure, isList: true })
      ?.status,
  ).toBe("failed");
});
