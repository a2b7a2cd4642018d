/** Endpoint that erases everything of an owner. */
import { assertOwner } from "../../log/rules.ts";
import { LoomError } from "../../protocol/index.ts";
import { defineOperation } from "../api/operation.ts";
import type { ErasedOwner as ErasedOwnerShape } from "../api/shapes.generated.ts";
import { authorOf, commandHostFor } from "../commands/command-host.ts";
import { eraseOwner } from "../commands/erase-owner.ts";

export const eraseOwnerOperation = defineOperation({
  id: "eraseOwner",
  method: "DELETE",
  path: "/v1/owners/{owner}",
  summary: "Erase everything of an owner",
  description:
    "Cancels the runs of the owner and deletes its sessions, blobs, tokens, share links, sign-ins and recorded usage. Requires `admin`, or a credential of this owner. Repeating the request is harmless and finishes an interrupted one. The knowledge base has no owners and is kept.",
  params: { owner: "Name of the owner" },
  action: "owners.erase",
  audit: "owner.erase",
  responses: { 200: { description: "Everything is erased", shape: "ErasedOwner" } },
  async handle(core, { caller, params: { owner = "" }, noteAudit }) {
    assertOwner(owner);
    const author = authorOf(core, caller);
    if (!author.isAdmin && author.owner !== owner)
      throw new LoomError("forbidden", "Only `admin` may erase another owner", { scope: "admin" });
    const { blobs, access } = core;
    const host = commandHostFor(core, caller);
    const credentials = (await access.findAuthService())?.credentials;
    const {
      signIns: sign_ins,
      usageRecords: usage_records,
      ...erased
    } = await eraseOwner({ host, blobs, credentials }, owner);
    noteAudit({ target: erased });
    const answer: ErasedOwnerShape = { owner, ...erased, sign_ins, usage_records };
    return Response.json(answer);
  },
});
