/**
 * Decides whether a name is that of a secret, for keys of values and names in texts. Names are split into words, so
 * that `tokenizer` and `secretary` do not match.
 */

/** Suffixes of secret names at the end of a word: `dbpassword`, `X-Api-Key`, `clientSecretFile`. */
const SUFFIXES = [
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
/** Match only as the whole name. */
const WHOLE_NAMES = new Set(["pin", "otp", "totp", "csrf", "xsrf", "creds"]);
/** Match only as the whole name, and in texts only before a value that looks like a key. */
const AMBIGUOUS = new Set(["key", "auth", "sig", "pass"]);
const CHINESE = ["密码", "口令", "令牌", "密钥"];
/** Words after `token` that make it a count or description. */
const TOKEN_ATTRIBUTES = new Set([
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
const MAX_SUFFIX = 16;

export interface SecretNames {
  /** Whether a key is that of a secret, given its value. */
  isSecret(name: string, value?: unknown): boolean;
  /** The same for a name in a text, where ambiguous names do not match. */
  isSecretInText(name: string, value?: unknown): boolean;
  /** Whether several words of a text end with the name of a secret. */
  endsWithSecretName(words: string): boolean;
  isAmbiguous(name: string): boolean;
}

export function createSecretNames(keys: readonly string[]): SecretNames {
  const own = keys.map(simplify).filter((key) => key !== "");
  // Some languages have no spaces between words.
  const isOwn = (name: string): boolean =>
    own.some((key) => name === key || (/\P{ASCII}/u.test(key) && name.endsWith(key)));

  const isClear = (name: string, value?: unknown): boolean => {
    const simple = simplify(name);
    if (isOwn(simple) || WHOLE_NAMES.has(simple) || CHINESE.some((part) => simple.includes(part))) return true;
    const words = splitWords(name);
    const isAboutTokens = typeof value === "number" || TOKEN_ATTRIBUTES.has(words.at(-1) ?? "");
    let tail = "";
    for (const word of words) {
      tail = (tail + word).slice(-MAX_SUFFIX);
      const ending = findSuffix(tail);
      if (ending !== undefined && !(ending === "token" && isAboutTokens)) return true;
    }
    return false;
  };

  return {
    isSecretInText: isClear,
    isSecret: (name, value) => AMBIGUOUS.has(simplify(name)) || isClear(name, value),
    endsWithSecretName(words) {
      const simple = simplify(words);
      return isOwn(simple) || findSuffix(simple) !== undefined;
    },
    isAmbiguous: (name) => AMBIGUOUS.has(splitWords(name).at(-1) ?? ""),
  };
}

function findSuffix(name: string): string | undefined {
  return SUFFIXES.find((ending) => name.endsWith(ending) || name.endsWith(`${ending}s`));
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
