/**
 * Removes the signs of Markdown from a short text, for titles and search results. The text may be cut anywhere. Signs that
 * may mean something else stay: `2**10`, `snake_case` and `a * b`.
 */
export function stripMarkdown(text: string): string {
  return (
    text
      // Fences, rules below headings, and rows between the head and the body of a table.
      .replaceAll(/^[ \t]*(?:`{3,}|~{3,})[^\n`]*$|^[ \t]*(?:-{3,}|={3,}|\|?[ \t]*:?-{2,}:?[ \t|:-]*)$/gm, "")
      .replaceAll(/^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+(?:\[[ xX]\][ \t]+)?)+/gm, "")
      .replaceAll(/^[ \t]*\|(.*?)\|?[ \t]*$/gm, (_row, cells: string) => cells.replaceAll(/[ \t]*\|/g, ""))
      // Links and images keep their text. The first or last part may be cut off.
      .replaceAll(/(?<![\w)])!?\[([^\][\n]*)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?: "[^"\n]*")?(?:\)|$)/g, "$1")
      .replaceAll(/^[^\][\n]*\]\((?:https?:|\/)[^()\s]*\)/g, (rest) => rest.slice(0, rest.indexOf("]")))
      .replaceAll(
        /(?<=^|[[\s\p{P}]--[*_~]])(\*\*\*|\*\*|\*|___|__|_|~~)(?=\S)([^\n]*?\S)\1(?=$|[[\s\p{P}]--[*_~]])/gv,
        "$2",
      )
      .replaceAll(/(?<=\p{Script=Han})\*\*(?=\S)([^*\n]+)\*\*|\*\*(?=\S)([^*\n]+)\*\*(?=\p{Script=Han})/gu, "$1$2")
      // One of a pair that was cut off.
      .replaceAll(/(?<=^|\s)(?:\*\*|__|~~)(?=\p{L})|(?<=\p{L})(?:\*\*|~~)(?=$|[\s.,:;!?])/gu, "")
      .replaceAll("`", "")
      .replaceAll(/\\([!-/:-@[-`{-~])/g, "$1")
  );
}
