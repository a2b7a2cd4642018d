/** `loom sessions delete --owner`: erases everything of an owner in a store, with its blobs and credentials, or on a server. */
import { assertOwner } from "../../log/rules.ts";
import type { ErasedOwner } from "../../server/api/shapes.generated.ts";
import { eraseOwner } from "../../server/commands/erase-owner.ts";
import { SERVER_LIMITS } from "../../server/guard/server-limits.ts";
import { auditCommand } from "../audit-command.ts";
import { CliError, type ParsedCommand, textOption } from "../command.ts";
import { explainErrors } from "../explain-error.ts";
import { hideCredentials, storeExists } from "../find-store.ts";
import { cleanText, plural } from "../fit-text.ts";
import { openStore } from "../open-store.ts";
import type { Terminal } from "../terminal.ts";
import { confirmDeletion, printJson } from "./run-sessions.ts";
import { ServerApi } from "./server-api.ts";
import { readServiceAddress } from "./server-settings.ts";

export async function runErasure(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  return explainErrors(async () => erase(textOption(parsed, "owner") ?? "", parsed, terminal));
}

async function erase(owner: string, parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  assertOwner(owner);
  if (parsed.arguments.length > 0) throw new CliError("`--owner` and SESSION cannot be used together");
  const address = readServiceAddress(parsed);
  const place = cleanText(address.kind === "server" ? address.url : hideCredentials(address.store));
  if (parsed.options["yes"] !== true) await confirmDeletion(`everything of owner \`${cleanText(owner)}\` in ${place}`);
  if (address.kind === "server") for (const warning of address.warnings) terminal.warn(warning);
  if (address.kind === "store" && !storeExists(address.store)) throw new CliError(`the store ${place} does not exist`);
  const erased =
    address.kind === "store"
      ? await eraseInStore(owner, address.store, parsed, terminal)
      : await new ServerApi(address).getJson<ErasedOwner>({
          method: "DELETE",
          path: `/v1/owners/${encodeURIComponent(owner)}`,
        });
  const { sessions, blobs, tokens, shares } = erased;
  if (parsed.options["json"] === true) await printJson(terminal, erased);
  else
    await terminal.write(
      `erased: ${cleanText(owner)} (${plural(sessions, "session")}, ${plural(blobs, "file")}, ${plural(tokens, "token")}, ${plural(shares, "link")})\n`,
    );
  return 0;
}

async function eraseInStore(
  owner: string,
  store: string,
  parsed: ParsedCommand,
  terminal: Terminal,
): Promise<ErasedOwner> {
  await using parts = await openStore(store);
  const log = await parts.openLog({});
  const blobs = await parts.openBlobs(SERVER_LIMITS);
  const credentials = await parts.findCredentials();
  const about = { action: "owner.erase", target: { owner } } as const;
  const { signIns, usageRecords, ...counts } = await auditCommand({ parsed, terminal }, about, async (note) => {
    const all = await eraseOwner({ host: { log }, blobs, credentials }, owner);
    note({ target: { sessions: all.sessions, blobs: all.blobs, tokens: all.tokens, shares: all.shares } });
    return all;
  });
  return { owner, ...counts, sign_ins: signIns, usage_records: usageRecords };
}
