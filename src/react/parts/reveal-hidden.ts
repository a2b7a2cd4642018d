/**
 * Replaces invisible and bidirectional control characters with their code points, so that users see exactly what they
 * approve. Joiners used in words and emoji stay unchanged.
 */
const HIDDEN =
  // oxlint-disable-next-line no-control-regex -- matches control characters on purpose
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;

export function revealHidden(text: string): string {
  return text.replaceAll(HIDDEN, (hidden) => {
    const code = (hidden.codePointAt(0) ?? 0).toString(16).toUpperCase();
    return `⟨U+${code.padStart(4, "0")}⟩`;
  });
}
