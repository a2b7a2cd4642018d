/** `loom owner erase`: erases everything of an owner in a store, its blobs and its credentials. */
import { assertOwner } from "../../log/rules.ts";
import { eraseOwner } from "../../server/commands/erase-owner.ts";
import { SERVER_LIMITS } from "../../server/guard/server-limits.ts";
import { auditCommand } from "../audit-command.ts";
import { CliError, type ParsedCommand, textOption } from "../command.ts";
import { explainErrors } from "../explain-error.ts";
import { findStore, hideCredentials, storeExists } from "../find-store.ts";
import { cleanText, formatJson, plural } from "../fit-text.ts";
import { openStore } from "../open-store.ts";
import type { Terminal } from "../terminal.ts";

export async function runOwner(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const owner = parsed.argument ?? "";
  const store = textOption(parsed, "store") ?? findStore(process.env);
  return explainErrors(async () => {
    assertOwner(owner);
    if (parsed.options["yes"] !== true)
      throw new CliError(
        `this deletes everything of owner \`${cleanText(owner)}\` in ${cleanText(hideCredentials(store))}`,
        "add --yes to erase it",
      );
    if (!storeExists(store)) throw new CliError(`the store ${cleanText(store)} does not exist`);
    return erase(owner, store, parsed, terminal);
  });
}

async function erase(owner: string, store: string, parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  await using parts = await openStore(store);
  const log = await parts.openLog({});
  const blobs = await parts.openBlobs(SERVER_LIMITS);
  const credentials = await parts.findCredentials();
  const about = { action: "owner.erase", target: { owner } } as const;
  const erased = await auditCommand({ parsed, terminal }, about, async (note) => {
    const all = await eraseOwner({ host: { log }, blobs, credentials }, owner);
    const { sessions, blobs: files, tokens, shares } = all;
    note({ target: { sessions, blobs: files, tokens, shares } });
    return all;
  });
  const { signIns: sign_ins, usageRecords: usage_records, ...counts } = erased;
  if (parsed.options["json"] === true) await terminal.write(formatJson({ owner, ...counts, sign_ins, usage_records }));
  else
    await terminal.write(
      `erased: ${cleanText(owner)} (${plural(erased.sessions, "session")}, ${plural(erased.blobs, "file")}, ${plural(erased.tokens, "token")}, ${plural(erased.shares, "link")})\n`,
    );
  return 0;
}
