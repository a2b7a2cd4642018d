// State of the share dialog.
import { expect, it } from "vitest";
import { NO_SHARING, reduceSharing, type SharingAction, type SharingState } from "./sharing.ts";

const link = (id: string) => ({
  share_id: id,
  created_at: 1,
  opened: 0,
  this_machine_only: true,
  secret: `secret-${id}`,
  url: `http://x/#share=${id}`,
});

function run(...actions: readonly SharingAction[]): SharingState {
  return actions.reduce(reduceSharing, NO_SHARING);
}

it("keeps only the secret of the last link, until it is revoked", () => {
  const created = run(
    { type: "listed", links: [{ share_id: "old", created_at: 0, opened: 2, opened_at: 9 }], isLocal: true },
    { type: "created", link: link("a"), isCopied: true },
    { type: "created", link: link("b"), isCopied: false },
  );
  expect(created.links.map(({ share_id }) => share_id)).toEqual(["b", "a", "old"]);
  expect(JSON.stringify(created)).not.toContain("secret-a");
  expect(JSON.stringify(created.links)).not.toContain("secret-b");
  const revoked = reduceSharing(created, { type: "revoked", share: "b" });
  expect([revoked.created, revoked.links.length]).toEqual([undefined, 2]);
});

it("reports failures and can be retried", () => {
  const failure = { code: "x", message: "no" };
  const state = run({ type: "creating" }, { type: "failed", failure, isList: false });
  expect(state).toMatchObject({ isCreating: false, failure, status: "loading" });
  const unlisted = run({ type: "failed", failure, isList: true });
  expect([unlisted.status, reduceSharing(unlisted, { type: "listing" }).status]).toEqual(["failed", "loading"]);
});
