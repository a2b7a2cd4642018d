/**
 * `loom token`: creates, lists and revokes tokens of a store. Running servers see changes immediately.
 */
import { type FileHandle, open, rm } from "node:fs/promises";
import type { Credentials } from "../../server/auth/credentials/credentials.ts";
import { auditCommand } from "../audit-command.ts";
import { CliError, type ParsedCommand, quoteGiven, textOption } from "../command.ts";
import { explainErrors } from "../explain-error.ts";
import { findStore, hideCredentials } from "../find-store.ts";
import { cleanText, formatJson, plural } from "../fit-text.ts";
import { openStore } from "../open-store.ts";
import type { StoreParts } from "../store-parts.ts";
import type { Terminal } from "../terminal.ts";
import { describeToken, formatTokens, isLive, toTokenJson } from "./format-token.ts";
import { readNewToken } from "./read-new-token.ts";
import { TOKEN_CREATE, TOKEN_LIST } from "./token-commands.ts";

export async function runTokens(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  return explainErrors(async () => {
    await using store = await openStore(textOption(parsed, "store") ?? findStore(process.env));
    if (parsed.command === TOKEN_CREATE) return await create(parsed, store, terminal);
    return await (parsed.command === TOKEN_LIST ? list : revoke)(parsed, store, terminal);
  });
}

async function create(parsed: ParsedCommand, store: StoreParts, terminal: Terminal): Promise<number> {
  const now = Date.now();
  const wanted = readNewToken(parsed, now);
  const credentials = await store.openCredentials();
  const isFirst = !(await credentials.hasTokens());
  const output = textOption(parsed, "output");
  const createToken = async (): ReturnType<Credentials["createToken"]> =>
    auditCommand({ parsed, terminal }, { action: "token.create" }, async (note) => {
      const created = await credentials.createToken(wanted);
      const { tokenId: token, name, owner, scopes } = created.info;
      note({ target: { token, name, owner, scopes: scopes.join(",") } });
      return created;
    });
  const { secret, info } = output === undefined ? await createToken() : await saveToken(output, createToken);
  const shown = output === undefined ? { secret } : {};
  const address = hideCredentials(store.address);
  if (parsed.options["json"] === true) {
    await terminal.write(formatJson({ ...toTokenJson(info), store: address, ...shown }));
    return 0;
  }
  if (output === undefined) await terminal.write(`${secret}\n`);
  terminal.warn(describeToken(info, now));
  terminal.warn(
    `it is valid for the store ${cleanText(address)}: servers with authentication accept it now, a server that runs without authentication needs a restart`,
  );
  const others = (await credentials.listTokens()).filter(
    ({ owner, name }) => owner === info.owner && name !== info.name,
  );
  if (wanted.owner === undefined && others.some((token) => isLive(token, now)))
    terminal.warn(
      `it can access the same sessions as the other tokens of owner \`${info.owner}\`; use --owner NAME to separate users`,
    );
  if (output !== undefined) terminal.warn(`saved in \`${cleanText(output)}\`, which only its owner can read`);
  terminal.warn(
    `${output === undefined ? "save it now, it is" : "it is"} not shown again; send it as \`Authorization: Bearer TOKEN\`, or use it to sign in on the page`,
  );
  if (isFirst)
    terminal.warn(
      "this is the first token of the store: `loom serve` requires authentication from its next start, unless --auth is off",
    );
  return 0;
}

/** Saves a token in a new file that only its owner can read. The file is created first: a token must not be lost. */
async function saveToken(
  file: string,
  createToken: () => ReturnType<Credentials["createToken"]>,
): ReturnType<Credentials["createToken"]> {
  let handle: FileHandle;
  try {
    handle = await open(file, "wx", 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === "EEXIST" ? "exists already" : `cannot be written (${code})`;
    throw new CliError(`\`${file}\` ${why}; no token was created`, "name a new file with --output FILE");
  }
  try {
    const created = await createToken();
    await handle.writeFile(`${created.secret}\n`);
    return created;
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}

async function list(parsed: ParsedCommand, store: StoreParts, terminal: Terminal): Promise<number> {
  const credentials = await store.findCredentials();
  const tokens = (await credentials?.listTokens()) ?? [];
  if (parsed.options["json"] === true) {
    await terminal.write(tokens.map((token) => formatJson(toTokenJson(token))).join(""));
    return 0;
  }
  const now = Date.now();
  await terminal.write(formatTokens(tokens, now, terminal));
  const active = tokens.filter((token) => isLive(token, now)).length;
  const summary = `${plural(tokens.length, "token")} (${active} active) of ${cleanText(hideCredentials(store.address))}`;
  terminal.warn(terminal.styleError("dim", summary));
  return 0;
}

async function revoke(parsed: ParsedCommand, store: StoreParts, terminal: Terminal): Promise<number> {
  const isJson = parsed.options["json"] === true;
  const credentials = await store.findCredentials();
  let done = 0;
  for (const given of parsed.arguments) {
    const word = hideSecret(given);
    const about = { action: "token.revoke", target: { token: word } } as const;
    const isRevoked = await auditCommand({ parsed, terminal }, about, async (note) => {
      const wasThere = (await credentials?.revokeToken(word)) === true;
      if (!wasThere) note({ outcome: "not_found" });
      return wasThere;
    });
    if (isRevoked) done += 1;
    if (isJson) await terminal.write(formatJson({ token: word, revoked: isRevoked }));
    else if (isRevoked) await terminal.write(`revoked: ${cleanText(word)}\n`);
    else {
      const command = ["loom token list", ...quoteGiven(parsed, ["store"])].join(" ");
      terminal.warn(cleanText(`no token \`${word}\` to revoke; run \`${command}\` for a list`));
    }
  }
  if (done === parsed.arguments.length) return 0;
  return done > 0 ? 1 : 2;
}

/** Replaces a token by its ID, so that a leaked token can be revoked without being printed. */
function hideSecret(word: string): string {
  return /^loom_tok_(?<id>[a-z0-9]{12})_/.exec(word)?.groups?.["id"] ?? word;
}
