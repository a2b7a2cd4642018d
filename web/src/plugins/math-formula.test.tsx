// Formulas as elements: only listed MathML, without links or loads.
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { buildFormula } from "./math-formula.tsx";

const show = (source: string, isBlock = false): string => renderToStaticMarkup(buildFormula(source, isBlock));

describe("a formula", () => {
  it("is MathML", () => {
    expect(show(String.raw`\frac{a}{b}`)).toMatch(/^<math.*><mfrac><mi>a<\/mi><mi>b<\/mi><\/mfrac>.*<\/math>$/);
    expect(show("x", true)).toContain('display="block"');
  });

  it("keeps tables, colors and text", () => {
    const shown = show(String.raw`\begin{pmatrix}1&2\\3&4\end{pmatrix} \color{red}{x} \text{if } y`, true);
    expect(shown).toContain("<mtable");
    expect(shown).toContain("color:#ff0000");
    expect(shown).toContain("if");
  });

  it.each([
    String.raw`\href{javascript:alert(1)}{x}`,
    String.raw`\url{https://evil.example}`,
    String.raw`\includegraphics{https://evil.example/x.png}`,
    String.raw`\class{x}{y}`,
    String.raw`\id{x}{y}`,
    String.raw`\style{background:url(https://evil.example)}{y}`,
    String.raw`\text{<img src=x onerror=alert(1)>}`,
    String.raw`\htmlData{x=y}{z}`,
    String.raw`\color{url(https://evil.example)}{x}`,
  ])("has no URL, code or foreign element: %s", (source) => {
    let shown = "";
    try {
      shown = show(source);
    } catch {
      // Refused: its source is shown.
    }
    expect(shown).not.toMatch(/<(?!\/?(?:math|m[a-z]+|none|semantics)\b)/);
    expect(shown).not.toMatch(/<[^>]*(?:\s(?:href|src|id|on\w+|xlink)=|url\()/);
  });

  it("is refused if it is not LaTeX", () => {
    expect(() => show(String.raw`\frac{a`)).toThrow("end of input");
    expect(() => show("{".repeat(5000))).toThrow(/./);
  });
});
