/**
 * Endpoints for share links: a link grants read access to one session, including new records, and to nothing else. It
 * is valid until it expires or is revoked, and never for another session with the same ID.
 */
import { LoomError } from "../../protocol/index.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import type { NewShare, Shares } from "../api/shapes.generated.ts";
import type { ShareInfo } from "../auth/credentials/credentials.ts";
import { requireAuthService } from "./auth.ts";
import { findSession } from "./find-session.ts";

const NO_STORE = { "cache-control": "no-store" } as const;

const createShare = defineOperation<"Empty", "CreateShare">({
  id: "createShare",
  method: "POST",
  path: "/v1/sessions/{id}/shares",
  tag: "auth",
  summary: "Create a link that grants read access to the session",
  body: "CreateShare",
  isBodyRequired: false,
  action: "sessions.share",
  audit: "share.create",
  responses: { 201: { description: "Link; its secret is returned only once", shape: "NewShare" } },
  async handle(core, { caller, params: { id = "" }, body: { expires_in_ms: lifetime }, noteAudit }) {
    const { credentials } = requireAuthService(core);
    const { incarnation, owner } = await findSession(core.log, id);
    const expiresAt = lifetime === undefined ? undefined : Date.now() + lifetime;
    const { secret, info } = await credentials.createShare({
      session: id,
      incarnation,
      owner,
      maker: caller.principal.id,
      expiresAt,
    });
    noteAudit({ target: { share: info.shareId } });
    // In the fragment, which browsers do not send, so that no server, proxy or log sees the secret.
    const url = `${caller.origin}${core.basePath}/#share=${secret}`;
    const answer: NewShare = { ...describeShare(info), secret, url };
    return Response.json(answer, { status: 201, headers: NO_STORE });
  },
});

const listShares = defineOperation({
  id: "listShares",
  method: "GET",
  path: "/v1/sessions/{id}/shares",
  tag: "auth",
  summary: "List the valid links of a session, without their secrets",
  action: "sessions.share",
  responses: { 200: { description: "Links", shape: "Shares" } },
  async handle(core, { params: { id = "" } }) {
    const { credentials } = requireAuthService(core);
    const { incarnation } = await findSession(core.log, id);
    const answer: Shares = { shares: (await credentials.listShares(id, incarnation)).map(describeShare) };
    return Response.json(answer, { headers: NO_STORE });
  },
});

const deleteShare = defineOperation({
  id: "deleteShare",
  method: "DELETE",
  path: "/v1/sessions/{id}/shares/{share}",
  tag: "auth",
  summary: "Revoke a link and close connections opened with it",
  params: { share: "Id of the link" },
  action: "sessions.share",
  audit: "share.revoke",
  responses: { 204: { description: "Revoked" } },
  async handle(core, { params: { id = "", share = "" } }) {
    const { credentials } = requireAuthService(core);
    await findSession(core.log, id);
    if (!(await credentials.revokeShare(id, share))) throw new LoomError("not_found", "The session has no such link");
    return new Response(null, { status: 204, headers: NO_STORE });
  },
});

export const SHARE_OPERATIONS: readonly AnyOperation[] = [createShare, listShares, deleteShare];

function describeShare({ shareId, createdAt, expiresAt }: ShareInfo): Shares["shares"][number] {
  return { share_id: shareId, created_at: createdAt, ...(expiresAt === undefined ? {} : { expires_at: expiresAt }) };
}
