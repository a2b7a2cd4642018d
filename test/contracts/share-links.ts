// Tests of the share links of every credential store; a part of `testCredentials`.
import { expect, it } from "vitest";
import type { CredentialHandles } from "./credentials.ts";
import type { IssuedCredential, ShareInfo } from "../../src/server/auth/credentials/credentials.ts";
import { ANONYMOUS } from "../../src/server/auth/principal.ts";

export const SHARE = { session: "s 1", incarnation: "i1", owner: "local" };

interface Clock {
  readonly now: () => number;
  readonly wait: (ms: number) => void;
}

export function testShareLinks(make: () => Promise<CredentialHandles>, clock: Clock): void {
  it("creates links to one incarnation of a session", async () => {
    const [reader, writer] = await make();
    const { secret, info } = await writer.createShare(SHARE);
    expect(info).toEqual({ ...SHARE, shareId: secret.slice(9, 21), createdAt: clock.now(), opened: 0 });
    const principal = (await reader.find(secret)) ?? ANONYMOUS;
    expect(principal).toMatchObject({
      kind: "share",
      id: `share:${info.shareId}`,
      owner: "local",
      scopes: new Set(["read"]),
      session: { id: "s 1", incarnation: "i1" },
    });
    expect(await reader.listShares("s 1", "i1")).toEqual([info]);
    expect([await reader.listShares("s 1", "i2"), await reader.listShares("s 2", "i1")]).toEqual([[], []]);
    expect(await writer.revokeShare("s 2", info.shareId)).toBe(false);
    expect(await reader.isValid(principal)).toBe(true);
    expect([await writer.revokeShare("s 1", info.shareId), await writer.revokeShare("s 1", info.shareId)]).toEqual([
      true,
      false,
    ]);
    expect([await reader.find(secret), await reader.isValid(principal)]).toEqual([undefined, false]);
    expect([await reader.hasTokens(), await reader.listShares("s 1", "i1")]).toEqual([false, []]);
  });

  it("counts how often a link was opened, and when", async () => {
    const [reader, writer] = await make();
    const [one, two] = [await writer.createShare(SHARE), await writer.createShare(SHARE)];
    clock.wait(1000);
    await writer.noteOpened(one.info.shareId);
    clock.wait(1000);
    await Promise.all([1, 2, 3].map(() => reader.noteOpened(one.info.shareId)));
    expect(await reader.listShares("s 1", "i1")).toEqual([two.info, { ...one.info, opened: 4, openedAt: clock.now() }]);
    await writer.revokeShare("s 1", one.info.shareId);
    for (const unknown of [one.info.shareId, "", "\0"]) await writer.noteOpened(unknown);
    expect(await reader.listShares("s 1", "i1")).toEqual([two.info]);
    await writer.close();
    // The link was opened even if nothing can record it.
    await writer.noteOpened(two.info.shareId);
  });

  it("revokes links with the token that created them and counts them together", async () => {
    const [reader, writer] = await make();
    const token = await writer.createToken({ name: "a", limits: { maxStreams: 3 }, expiresAt: clock.now() + 1000 });
    const maker = `token:${token.info.tokenId}`;
    const links: IssuedCredential<ShareInfo>[] = [];
    for (const more of [{ maker }, { maker, expiresAt: clock.now() + 500 }, { maker: "jwt:ann" }, {}])
      links.push(await writer.createShare({ ...SHARE, ...more }));
    expect(links.map(({ info }) => info.expiresAt)).toEqual([
      clock.now() + 1000,
      clock.now() + 500,
      undefined,
      undefined,
    ]);
    const principals = await Promise.all(links.map(async ({ secret }) => (await reader.find(secret)) ?? ANONYMOUS));
    expect(principals.map(({ account, limits }) => [account, limits])).toEqual([
      [`links of ${maker}`, { maxStreams: 3 }],
      [`links of ${maker}`, { maxStreams: 3 }],
      ["links of jwt:ann", {}],
      [undefined, {}],
    ]);
    expect(await reader.isNotRevoked(maker)).toBe(true);
    expect(await writer.revokeToken("a")).toBe(true);
    expect(await Promise.all(principals.map((one) => reader.isValid(one)))).toEqual([false, false, true, true]);
    expect((await reader.listShares("s 1", "i1")).map(({ maker: of }) => of)).toEqual([undefined, "jwt:ann"]);
    expect(await Promise.all(["jwt:ann", maker].map((id) => reader.isNotRevoked(id)))).toEqual([true, false]);
    expect(await reader.find((await writer.createShare({ ...SHARE, maker })).secret)).toBeUndefined();
  });
}
