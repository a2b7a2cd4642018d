import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JoinedText, type JoinedPiece } from "./joined-text.ts";

const makePiece = (): JoinedPiece => ({ text: "", order: 0, isSuperseded: false });

function joinPieces({ pieces }: JoinedText<JoinedPiece>): string {
  return pieces.map(({ text, isSuperseded }) => (isSuperseded ? "" : text)).join("");
}

describe("a joined text", () => {
  it("contains all pieces in order, whichever grew and whenever it was shown", () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ what: fc.constant("add" as const), at: fc.nat() }) },
      { weight: 6, arbitrary: fc.record({ what: fc.constant("append" as const), at: fc.nat() }) },
      { weight: 3, arbitrary: fc.record({ what: fc.constant("show" as const), at: fc.nat() }) },
      { weight: 1, arbitrary: fc.record({ what: fc.constant("replace" as const), at: fc.nat() }) },
      { weight: 1, arbitrary: fc.record({ what: fc.constant("supersede" as const), at: fc.nat() }) },
    );
    fc.assert(
      fc.property(fc.array(step, { minLength: 60, maxLength: 200 }), (steps) => {
        const text = new JoinedText<JoinedPiece>(Infinity);
        let made = 0;
        for (const { what, at } of steps) {
          const piece = text.pieces[at % text.pieces.length];
          if (what === "add") text.add(makePiece());
          else if (what === "append" && piece !== undefined) text.append(piece, `${made++},`);
          else if (what === "replace" && piece !== undefined) {
            const gone = new Set(text.pieces.filter((each, i) => each !== piece && (i + at) % 3 > 0));
            text.replace(piece, `${made++};`, gone);
            expect(text.pieces.some((each) => gone.has(each))).toBe(false);
          } else if (what === "supersede" && piece !== undefined) {
            Object.assign(piece, { isSuperseded: true });
            text.leaveOut(piece);
          } else if (what === "show") expect(text.show()).toBe(joinPieces(text));
        }
        expect(text.show()).toBe(joinPieces(text));
      }),
    );
  });

  it("is cut at the limit, without a hole or half a character", () => {
    const text = new JoinedText<JoinedPiece>(4);
    const [first, second] = [makePiece(), makePiece()];
    text.add(first);
    text.add(second);
    expect(text.append(first, "abc")).toBe(0);
    expect(text.append(second, "\u{1F600}x")).toBe(3);
    expect(text.append(first, "d")).toBe(1);
    expect([text.show(), text.isCut]).toEqual(["abc", true]);
  });
});
