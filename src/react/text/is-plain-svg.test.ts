import { describe, expect, it } from "vitest";
import { isPlainSvg } from "./is-plain-svg.ts";

describe("isPlainSvg", () => {
  it("accepts shapes and text", () => {
    expect(isPlainSvg('<svg xmlns="http://www.w3.org/2000/svg"><circle cx="5" cy="5" r="4" fill="red"/></svg>')).toBe(
      true,
    );
    expect(isPlainSvg('<svg viewBox="0 0 1 1"><g><path d="M0 0"/></g><text>a &lt; b</text></svg>')).toBe(true);
  });

  it.each([
    "",
    "no drawing",
    "<svg><script>1</script></svg>",
    '<svg><use href="#a"/></svg>',
    '<svg><image href="https://x.example/a.png"/></svg>',
    "<svg><filter/></svg>",
    "<svg><foreignObject/></svg>",
    '<!DOCTYPE svg [<!ENTITY a "aa">]><svg>&a;</svg>',
    "<svg><style>*{}</style></svg>",
    "<svg><animate/></svg>",
    "<svg><x:use/></svg>",
    `<svg>${'<g clip-path="url(#a)"/>'.repeat(101)}</svg>`,
    `<svg>${" ".repeat(300_000)}</svg>`,
  ])("rejects %.60s", (text) => expect(isPlainSvg(text)).toBe(false));
});
