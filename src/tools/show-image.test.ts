import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject, LoomEvent } from "../protocol/index.ts";
import type { ImageEvent } from "../protocol/events.generated.ts";
import { findEventFault } from "../protocol/validate.ts";
import { findSvgFault } from "./find-svg-fault.ts";
import { runToolCall } from "./run-tool-call.ts";
import { createImageTool, type ImageToolOptions } from "./show-image.ts";
import { createToolbox } from "./toolbox.ts";

async function show(input: JsonObject, options: ImageToolOptions = {}) {
  const events: LoomEvent[] = [];
  const call = { callId: "c1", name: "show_image", input, rawInput: "" };
  const { result, isError } = await runToolCall(call, createToolbox([createImageTool(options)]), {
    sessionId: "s1",
    runId: "r1",
    signal: new AbortController().signal,
    emit: (event) => void events.push(event),
    ready: async () => undefined,
    requestApproval: async () => Promise.reject(new Error("no approval expected")),
  });
  for (const event of events) expect(findEventFault(event)).toBeUndefined();
  const images = events.filter((event): event is ImageEvent & LoomEvent => event.type === "image");
  return { result, isError, images };
}

const decode = (url: string): string => Buffer.from(url.split(",")[1] ?? "", "base64").toString("utf8");
const SVG = '<svg viewBox="0 0 9 9"><circle cx="5" cy="5" r="4" fill="red"/></svg>';
const PIXEL = "data:image/png;base64,iVBORw0KGgo=";

describe("show_image", () => {
  it("shows an SVG as a data URL with the SVG namespace", async () => {
    const { result, images } = await show({ svg: ` ${SVG}\n`, alt: "a red circle" });
    expect(result).toBe("Shown to the user: a red circle");
    expect(images).toMatchObject([{ type: "image", media_type: "image/svg+xml", alt: "a red circle" }]);
    expect(images[0]?.url).toMatch(/^data:image\/svg\+xml;base64,/);
    expect(decode(images[0]?.url ?? "")).toBe(SVG.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"'));
    const named = SVG.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"').replace("red", "蓝");
    expect(decode((await show({ svg: named, alt: "x" })).images[0]?.url ?? "")).toBe(named);
  });

  it.each(['aria-label="a > b" xmlns="http://www.w3.org/2000/svg"', 'aria-label=" xmlns=" width="1"', 'width="1"'])(
    "adds the namespace only once: %s",
    async (attributes) => {
      const shown = decode((await show({ svg: `<svg ${attributes}/>`, alt: "x" })).images[0]?.url ?? "");
      expect(shown.match(/xmlns="http/g)).toHaveLength(1);
      expect(findSvgFault(shown)).toBeUndefined();
    },
  );

  it("shows raster images given as data URLs", async () => {
    expect((await show({ url: PIXEL, alt: "a dot" })).images).toEqual([
      { type: "image", url: PIXEL, media_type: "image/png", alt: "a dot" },
    ]);
  });

  it("shows URLs of the allowed hosts only", async () => {
    const hosts = ["Example.org"];
    const url = "https://example.org/a.png?size=2";
    expect((await show({ url, alt: "x" }, { hosts })).images).toEqual([{ type: "image", url, alt: "x" }]);
    for (const other of [
      "https://example.org.evil.test/a.png",
      "https://evil.test/?example.org",
      "https://user:secret@example.org/a.png",
      "http://example.org/a.png",
      "https://example.org:8443/a.png",
    ]) {
      const { images, isError } = await show({ url: other, alt: "x" }, { hosts });
      expect([other, images.length, isError]).toEqual([other, 0, true]);
    }
    const port = "https://example.org:8443/a.png";
    expect((await show({ url: port, alt: "x" }, { hosts: ["example.org:8443"] })).images).toHaveLength(1);
    for (const host of ["example.org:443", "EXAMPLE.org"])
      expect((await show({ url, alt: "x" }, { hosts: [host] })).images).toHaveLength(1);
    expect((await show({ url: "https://xn--bcher-kva.de/", alt: "x" }, { hosts: ["bücher.de"] })).images).toHaveLength(
      1,
    );
    for (const host of ["https://example.org", "example.org/", "*.example.org", "a b", "me@example.org", ""])
      expect(() => createImageTool({ hosts: [host] })).toThrow("is not a host");
    const refused = await show({ url, alt: "x" });
    expect(refused).toMatchObject({ images: [], isError: true });
    expect(refused.result).toBe("Images from example.org cannot be shown; draw it as an SVG. Nothing was shown.");
  });

  it.each<[JsonObject, string]>([
    [{ alt: "x" }, "Pass either `svg` or `url`"],
    [{ alt: "x", svg: SVG, url: PIXEL }, "Pass either `svg` or `url`"],
    [{ svg: SVG }, "`alt`: is missing"],
    [{ alt: "x", url: "javascript:alert(1)" }, "must be an image as a data URL"],
    [{ alt: "x", url: "file:///etc/passwd" }, "must be an image as a data URL"],
    [{ alt: "x", url: "data:text/html;base64,aaaa" }, "must be an image as a data URL"],
    [{ alt: "x", url: "data:image/svg+xml;base64,aaaa" }, "Pass an SVG as text"],
    [{ alt: "x", url: 'data:image/png;base64,aa"onerror=' }, "must be an image as a data URL"],
    [{ alt: "x", url: `data:image/png;base64,${"a".repeat(600_000)}` }, "at most 500000 characters"],
    [{ alt: "x", svg: `<svg>${" ".repeat(200_000)}</svg>` }, "at most 200000 are allowed"],
    [{ alt: "x", svg: `<svg><text>${"图".repeat(199_000)}</text></svg>` }, "characters as a data URL; at most 500000"],
  ])("rejects %.80j", async (input, words) => {
    const { result, isError, images } = await show(input);
    expect(images).toEqual([]);
    expect(isError).toBe(true);
    expect(result).toContain(words);
  });

  it("rejects an SVG that is too long", async () => {
    const svg = SVG.padEnd(200_001, " ") + SVG;
    expect((await show({ svg, alt: "x" })).result).toContain("at most 200000 are allowed");
  });
});

describe("an SVG", () => {
  const inside = (text: string): string => `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">${text}</svg>`;

  it.each([
    "",
    '<g transform="rotate(5)"><path d="M0 0L1 1Z" stroke-width="2"/></g>',
    "<text x='1' y='2'>Tom &amp; Ann: 1 &lt; 2, 图</text>",
    '<defs><linearGradient id="g"><stop offset="0" stop-color="#fff"/></linearGradient></defs><rect fill="url(#g)"/>',
    '<title>Data: https://example.org</title><rect aria-label="data: a &amp; b"/>',
    "<rect\n  x='1'\n/>",
    `<text font-family="'Noto Sans', 微软雅黑, serif" font-size="1.5em" transform="translate(1 -2e1), scale(.5)">a</text>`,
    '<rect fill="#1d6fd1" stroke="rgb(0 0 0 / 50%)" color="hsla(120, 50%, 50%, .3)" stroke-dasharray="1,2 3%"/>',
    '<rect fill="url(#g) none" clip-path="url( #c )" points="1,2 -3.5,4"/>',
    '<clipPath id="c"><rect/></clipPath><g clip-path="url(#c)"><rect clip-path="url(#c)"/></g>',
  ])("can have %s", (text) => {
    expect(findSvgFault(inside(text))).toBeUndefined();
  });

  it.each([
    "<script>alert(1)</script>",
    "<SCRIPT/>",
    '<rect onload="alert(1)"/>',
    '<rect ONLOAD="alert(1)"/>',
    '<a href="https://evil.test"><rect/></a>',
    '<image href="https://evil.test/a.png"/>',
    '<use href="#a"/>',
    '<use xlink:href="https://evil.test/a.svg#a"/>',
    "<style>@import 'https://evil.test';</style>",
    '<rect style="fill:url(https://evil.test)"/>',
    '<rect style="fill:red"/>',
    '<rect href="a.svg"/>',
    '<rect class="a"/>',
    '<rect fill="red" filter="url(#a)"/>',
    '<rect fill="url(https://evil.test/#a)"/>',
    '<rect fill="URL ( //evil.test )"/>',
    '<rect fill="u\\72l(//evil.test)"/>',
    '<rect fill="&#117;rl(//evil.test)"/>',
    '<rect fill="url(#a) url(//evil.test)"/>',
    '<rect fill="ftp://x"/>',
    '<rect fill="//evil.test"/>',
    "<rect fill=\"src('//evil.test')\"/>",
    "<rect clip-path=\"image-set('//evil.test' 1x)\"/>",
    '<rect fill="rgb(0,0,0) url(//evil.test)"/>',
    '<rect transform="url(#a)"/>',
    '<text font-family="a, src(b)"/>',
    '<clipPath id="a" clip-path="url(#a)"/>',
    '<clipPath id="a"><g><rect clip-path="url(#b)"/></g></clipPath>',
    '<g clip-path="url(#a)"/>'.repeat(101),
    ...["\u00a0", "\u3000", "\u2028", "\ufeff"].flatMap((space) => [`<rect${space}x="1"/>`, `<rect x="1"${space}/>`]),
    "<foreignObject><body/></foreignObject>",
    '<animate attributeName="href" values="javascript:alert(1)"/>',
    '<set attributeName="onload" to="x"/>',
    "<!-- a comment -->",
    "<![CDATA[x]]>",
    "<?xml-stylesheet href='https://evil.test'?>",
    "<svg/>",
    '<rect xmlns="http://www.w3.org/1999/xhtml"/>',
    '<svg:script xmlns:svg="http://www.w3.org/2000/svg"/>',
    "<rect x=1/>",
    "<rect x='1' x='2'/>",
    "<rect",
    "<g>",
    "</g>",
    "<g></rect>",
    "</svg><svg>",
    "a & b",
    "&evil;",
    "]]>",
    "\u0000",
    "\ud800",
    `${"<g>".repeat(40)}${"</g>".repeat(40)}`,
  ])("cannot have %j", (text) => {
    expect(findSvgFault(inside(text))).toBeTypeOf("string");
  });

  it.each([
    "",
    "hello",
    "<rect/>",
    `<!DOCTYPE svg [<!ENTITY a "b">]>${SVG}`,
    `<?xml version="1.0"?>${SVG}`,
    `${SVG}x`,
    `x${SVG}`,
    `\ufeff${SVG}`,
    SVG + SVG,
  ])("cannot be %j", (text) => {
    expect(findSvgFault(text)).toBeTypeOf("string");
  });

  it("is checked quickly for any text, and contains only allowed markup if it passes", () => {
    const part = fc.constantFrom(
      ...'<svg> </svg> <g> </g> <rect /> < > / <script> fill="red" onload=\'x\' href="#a" url( &amp; & \' " text <!-- ]]> = xmlns'.split(
        " ",
      ),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
        const svg = inside(parts.join(" "));
        if (findSvgFault(svg) === undefined) expect(svg).not.toMatch(/<script|<[^>]*\s(?:onload|href)\s*=|<!/i);
      }),
      { numRuns: 500 },
    );
    for (const text of [
      "<",
      "<svg",
      "<g ",
      " ",
      "&amp;",
      '<rect fill="',
      "url(",
      'fill="a" ',
      "<g>",
      "url  ",
      "rotate(1)",
      "rotate(",
      "rgb(",
    ]) {
      findSvgFault(inside(text.repeat(Math.floor(190_000 / text.length))));
      const value = text.replaceAll(/[<"]/g, "").repeat(10_000);
      for (const name of ["fill", "transform", "font-family"]) findSvgFault(inside(`<rect ${name}="${value}"/>`));
    }
  });
});

describe("an image that is too large for an event", () => {
  const png = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(400_000)]);
  const url = `data:image/png;base64,${png.toString("base64")}`;
  const saved: { readonly bytes: Uint8Array; readonly mediaType: string }[] = [];
  const shown: unknown[] = [];
  const context = {
    callId: "c",
    sessionId: "s",
    runId: "r",
    signal: new AbortController().signal,
    print: () => undefined,
    report: () => undefined,
    show: (event: unknown) => void shown.push(event),
    ready: async () => undefined,
  };
  const saveBlob = async (bytes: Uint8Array, { mediaType }: { readonly mediaType: string }) => {
    saved.push({ bytes, mediaType });
    return { blob_id: "b", url: "/v1/sessions/s/blobs/b" };
  };

  it("is saved as a blob and shown by its URL", async () => {
    const tool = createImageTool();
    await tool.execute({ url, alt: "A cat" }, { ...context, saveBlob });
    expect(shown).toEqual([{ type: "image", url: "/v1/sessions/s/blobs/b", media_type: "image/png", alt: "A cat" }]);
    expect(saved.map(({ bytes, mediaType }) => [png.equals(bytes), mediaType])).toEqual([[true, "image/png"]]);
  });

  it("is rejected without a blob store, and if it is not an image", async () => {
    const tool = createImageTool();
    expect(await tool.execute({ url, alt: "A cat" }, context)).toMatchObject({ isError: true });
    const wrong = url.replace("image/png", "image/gif");
    expect(await tool.execute({ url: wrong, alt: "A cat" }, { ...context, saveBlob })).toMatchObject({ isError: true });
    expect([shown.length, saved.length]).toEqual([1, 1]);
  });
});
