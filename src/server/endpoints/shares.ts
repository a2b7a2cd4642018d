/**
 * Endpoints for share links: a link grants read access to one session, including new records, and to nothing else. It
 * is valid until it expires or is revoked, and never for another session with the same ID. Servers without authentication
 * have links too.
 */
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { LoomError } from "../../protocol/index.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import type { NewShare, Shares } from "../api/shapes.generated.ts";
import type { ShareInfo } from "../auth/credentials/credentials.ts";
import type { ServerCore } from "../api/server-core.ts";
import type { Caller } from "../auth/authorize.ts";
import { isLoopbackHost } from "../guard/create-guard.ts";
import { findSession } from "./find-session.ts";

/** Lifetime of a link for which the request names none. */
const LIFETIME_MS = 7 * 24 * 60 * 60 * 1000;

const createShare = defineOperation<"Empty", "CreateShare">({
  id: "createShare",
  method: "POST",
  path: "/v1/sessions/{id}/shares",
  summary: "Create a link that grants read access to the session",
  body: "CreateShare",
  isBodyRequired: false,
  action: "sessions.share",
  audit: "share.create",
  responses: { 201: { description: "Link; its secret is returned only once", shape: "NewShare" } },
  async handle(core, { caller, params: { id = "" }, body, noteAudit }) {
    const { expires_in_ms: lifetime, never_expires: isForever = false } = body;
    if (isForever && lifetime !== undefined)
      throw new LoomError(
        "invalid_request",
        "`never_expires` and `expires_in_ms` exclude each other; send one of them",
        {
          path: "never_expires",
          in: "body",
        },
      );
    const { incarnation, owner } = await findSession(core.log, id);
    const { credentials } = await core.access.openAuthService();
    const expiresAt = isForever ? undefined : Date.now() + (lifetime ?? LIFETIME_MS);
    const { secret, info } = await credentials.createShare({
      session: id,
      incarnation,
      owner,
      maker: caller.principal.id,
      expiresAt,
    });
    noteAudit({ target: { share: info.shareId } });
    // In the fragment, which browsers do not send, so that no server, proxy or log sees the secret.
    const origin = findShareOrigin(core, caller);
    const url = `${origin}${core.basePath}/#share=${secret}`;
    const answer: NewShare = { ...describeShare(info), secret, url, this_machine_only: isLoopbackOrigin(origin) };
    return Response.json(answer, { status: 201 });
  },
});

const listShares = defineOperation({
  id: "listShares",
  method: "GET",
  path: "/v1/sessions/{id}/shares",
  summary: "List the valid links of a session, without their secrets",
  action: "sessions.share",
  responses: { 200: { description: "Links", shape: "Shares" } },
  async handle(core, { caller, params: { id = "" } }) {
    const { incarnation } = await findSession(core.log, id);
    const credentials = (await core.access.findAuthService())?.credentials;
    const shares = ((await credentials?.listShares(id, incarnation)) ?? []).map(describeShare);
    const answer: Shares = { shares, this_machine_only: isLoopbackOrigin(findShareOrigin(core, caller)) };
    return Response.json(answer);
  },
});

const deleteShare = defineOperation({
  id: "deleteShare",
  method: "DELETE",
  path: "/v1/sessions/{id}/shares/{share}",
  summary: "Revoke a link and close connections opened with it",
  params: { share: "Id of the link" },
  action: "sessions.share",
  audit: "share.revoke",
  responses: { 204: { description: "Revoked" } },
  async handle(core, { params: { id = "", share = "" } }) {
    await findSession(core.log, id);
    const credentials = (await core.access.findAuthService())?.credentials;
    if ((await credentials?.revokeShare(id, share)) !== true)
      throw new LoomError("not_found", "The session has no such link");
    return new Response(null, { status: 204 });
  },
});

export const SHARE_OPERATIONS: readonly AnyOperation[] = [createShare, listShares, deleteShare];

function describeShare({ shareId, createdAt, expiresAt, opened, openedAt }: ShareInfo): Shares["shares"][number] {
  return dropUndefined({
    share_id: shareId,
    created_at: createdAt,
    expires_at: expiresAt,
    opened,
    opened_at: openedAt,
  });
}

/** The address under which others reach the server, if the creator uses a loopback address. */
function findShareOrigin({ networkOrigin }: Pick<ServerCore, "networkOrigin">, { origin }: Caller): string {
  return isLoopbackOrigin(origin) ? (networkOrigin?.() ?? origin) : origin;
}

function isLoopbackOrigin(origin: string): boolean {
  const host = URL.parse(origin)?.host;
  return host !== undefined && isLoopbackHost(host);
}
