/**
 * Links to a session: whoever has one may read that session, as it is and as it goes on, and nothing else. They are good
 * until they end or are taken back, and never for another session of the same name.
 */
import { LoomError } from "../../protocol/index.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import type { NewShare, Shares } from "../api/shapes.generated.ts";
import type { ShareInfo } from "../auth/credentials/credentials.ts";
import { findDesk } from "./auth.ts";
import { findSession } from "./find-session.ts";

const NO_STORE = { "cache-control": "no-store" } as const;

const createShare = defineOperation<"Nothing", "CreateShare">({
  id: "createShare",
  method: "POST",
  path: "/v1/sessions/{id}/shares",
  tag: "auth",
  summary: "A link that lets anybody who has it read the session",
  body: "CreateShare",
  isBodyRequired: false,
  action: "sessions.share",
  answers: { 201: { about: "The link; its secret is told this once", shape: "NewShare" } },
  async handle(core, { caller, params: { id = "" }, body: { expires_in_ms: lifetime } }) {
    const { credentials } = findDesk(core);
    const { incarnation, owner } = await findSession(core.log, id);
    const expiresAt = lifetime === undefined ? undefined : Date.now() + lifetime;
    const { secret, info } = credentials.createShare({
      session: id,
      incarnation,
      owner,
      maker: caller.principal.id,
      expiresAt,
    });
    // After the sign that browsers keep to themselves: no server, proxy or log sees it.
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
  summary: "The links to a session that are good, without their secrets",
  action: "sessions.share",
  answers: { 200: { about: "The links", shape: "Shares" } },
  async handle(core, { params: { id = "" } }) {
    const { credentials } = findDesk(core);
    const { incarnation } = await findSession(core.log, id);
    const answer: Shares = { shares: credentials.listShares(id, incarnation).map(describeShare) };
    return Response.json(answer, { headers: NO_STORE });
  },
});

const deleteShare = defineOperation({
  id: "deleteShare",
  method: "DELETE",
  path: "/v1/sessions/{id}/shares/{share}",
  tag: "auth",
  summary: "Takes a link back: it opens nothing any more, and what it opened ends",
  params: { share: "Id of the link" },
  action: "sessions.share",
  answers: { 204: { about: "It is worthless" } },
  async handle(core, { params: { id = "", share = "" } }) {
    const { credentials } = findDesk(core);
    await findSession(core.log, id);
    if (!credentials.revokeShare(id, share)) throw new LoomError("not_found", "the session has no such link");
    return new Response(null, { status: 204, headers: NO_STORE });
  },
});

export const SHARE_OPERATIONS: readonly AnyOperation[] = [createShare, listShares, deleteShare];

function describeShare({ shareId, createdAt, expiresAt }: ShareInfo): Shares["shares"][number] {
  return { share_id: shareId, created_at: createdAt, ...(expiresAt === undefined ? {} : { expires_at: expiresAt }) };
}
