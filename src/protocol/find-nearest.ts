/** Finds the name that was probably meant by a word, for the messages of errors. */
const MAX_CHANGES = 3;
/** Shorter words are the start or a part of many names by chance. */
const MIN_START = 4;
const MIN_PART = 6;

/**
 * Finds the name that was probably meant by a word: one that differs in one character, one that starts with the word
 * (`temperature` for `temp`), the most similar one (edit distance), or one that contains the word (`idleTimeoutMs` for
 * `timeoutMs`). Returns undefined if there is none.
 */
export function findNearest(word: string, names: readonly string[]): string | undefined {
  const plain = normalize(word.slice(0, 60));
  const similar = findSimilar(plain, names);
  if (similar !== undefined && similar.changes <= 1) return similar.name;
  const byLength = names.toSorted((a, b) => a.length - b.length);
  const findShortest = (minLength: number, isMatch: (name: string) => boolean): string | undefined =>
    plain.length < minLength ? undefined : byLength.find((name) => isMatch(normalize(name)));
  return (
    findShortest(MIN_START, (name) => name.startsWith(plain)) ??
    similar?.name ??
    findShortest(MIN_PART, (name) => name.includes(plain))
  );
}

function findSimilar(
  plain: string,
  names: readonly string[],
): { readonly name: string; readonly changes: number } | undefined {
  let most = Math.min(MAX_CHANGES, Math.ceil(plain.length / 2));
  let found: { readonly name: string; readonly changes: number } | undefined;
  for (const name of names) {
    const changes = countChanges(plain, normalize(name));
    if (changes > most) continue;
    found = { name, changes };
    most = changes - 1;
  }
  return found;
}

/** Ignores case and separators: `maxBody`, `max_body` and `MAX-BODY` are equal. */
function normalize(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "");
}

/** Levenshtein distance. */
function countChanges(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 0; i < from.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j++) {
      const change = (row[j] ?? 0) + (from[i] === to[j] ? 0 : 1);
      next.push(Math.min(change, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
