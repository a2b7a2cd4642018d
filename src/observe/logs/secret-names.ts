/**
 * Which names are those of secrets: one list for keys of values and for names in texts. A name is read by its words,
 * however they are put together, so that a `tokenizer` is no token and a `secretary` no secret.
 */

/** How a name may end, at the end of one of its words: `dbpassword`, `X-Api-Key`, `clientSecretFile`. */
const ENDINGS = [
  "authorization",
  "apikey",
  "accesskey",
  "privatekey",
  "secretkey",
  "signingkey",
  "encryptionkey",
  "sshkey",
  "sessionkey",
  "password",
  "passwd",
  "passphrase",
  "passcode",
  "pwd",
  "secret",
  "token",
  "cookie",
  "credential",
  "bearer",
  "jwt",
  "signature",
];
/** Meant only as the whole name. */
const WHOLE = new Set(["pin", "otp", "totp", "csrf", "xsrf", "creds"]);
/** The same, and in a text only before what looks like a key: there these are words like others. */
const VAGUE = new Set(["key", "auth", "sig", "pass"]);
const CHINESE = ["密码", "口令", "令牌", "密钥"];
/** What follows `token` where it is counted or described, not told. */
const ABOUT_TOKENS = new Set([
  "count",
  "counts",
  "usage",
  "limit",
  "budget",
  "type",
  "length",
  "size",
  "cost",
  "price",
]);
const MAX_ENDING = 16;

export interface SecretNames {
  /** Of a key, with what stands under it. */
  isSecret(name: string, value?: unknown): boolean;
  /** The same of a name in a text, where vague ones are words like others. */
  isClear(name: string, value?: unknown): boolean;
  /** Of several words of a text, where only what they end with counts. */
  endsClear(words: string): boolean;
  isVague(name: string): boolean;
}

export function createSecretNames(keys: readonly string[]): SecretNames {
  const own = keys.map(simplify).filter((key) => key !== "");
  // Words of some languages have no space between them.
  const isOwn = (name: string): boolean =>
    own.some((key) => name === key || (/\P{ASCII}/u.test(key) && name.endsWith(key)));

  const isClear = (name: string, value?: unknown): boolean => {
    const simple = simplify(name);
    if (isOwn(simple) || WHOLE.has(simple) || CHINESE.some((part) => simple.includes(part))) return true;
    const words = splitWords(name);
    const isAboutTokens = typeof value === "number" || ABOUT_TOKENS.has(words.at(-1) ?? "");
    let tail = "";
    for (const word of words) {
      tail = (tail + word).slice(-MAX_ENDING);
      const ending = findEnding(tail);
      if (ending !== undefined && !(ending === "token" && isAboutTokens)) return true;
    }
    return false;
  };

  return {
    isClear,
    isSecret: (name, value) => VAGUE.has(simplify(name)) || isClear(name, value),
    endsClear(words) {
      const simple = simplify(words);
      return isOwn(simple) || findEnding(simple) !== undefined;
    },
    isVague: (name) => VAGUE.has(splitWords(name).at(-1) ?? ""),
  };
}

function findEnding(name: string): string | undefined {
  return ENDINGS.find((ending) => name.endsWith(ending) || name.endsWith(`${ending}s`));
}

function splitWords(name: string): readonly string[] {
  return name
    .replaceAll(/(?<=[\p{Ll}\d])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu, " ")
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .filter((word) => word !== "");
}

function simplify(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "");
}
