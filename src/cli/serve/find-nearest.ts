/** What somebody probably meant: of some names, the one that the fewest changes lead to; none where all are far. */
const MOST_CHANGES = 3;

export function findNearest(word: string, names: readonly string[]): string | undefined {
  const plain = toPlain(word.slice(0, 60));
  let nearest: string | undefined;
  let fewest = Math.min(MOST_CHANGES, Math.ceil(plain.length / 2)) + 1;
  for (const name of names) {
    const changes = countChanges(plain, toPlain(name));
    if (changes >= fewest) continue;
    fewest = changes;
    nearest = name;
  }
  return nearest;
}

/** `maxBody`, `max_body` and `MAX-BODY` mean the same. */
function toPlain(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "");
}

/** Letters put in, left out or changed. */
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
