/**
 * Draws Mermaid diagrams, one after the other, in a sandboxed frame: it has an opaque origin, cannot reach the page, and
 * its content security policy forbids every request.
 */
import mermaid, { type MermaidConfig } from "mermaid";
import {
  type DiagramOutcome,
  type DiagramRequest,
  type DiagramStyle,
  limitOutcome,
  MAX_SOURCE,
  readDiagramRequest,
} from "./diagram-messages.ts";

/** More edges take too long to lay out. */
const MAX_EDGES = 300;

function configure(style: DiagramStyle): MermaidConfig {
  const { isDark, font, ink, soft, line, strong, paper, wash, series } = style;
  return {
    startOnLoad: false,
    securityLevel: "strict",
    suppressErrorRendering: true,
    maxTextSize: MAX_SOURCE,
    maxEdges: MAX_EDGES,
    // What the source cannot change.
    secure:
      "secure securityLevel startOnLoad suppressErrorRendering maxTextSize maxEdges dompurifyConfig theme themeCSS themeVariables darkMode fontFamily altFontFamily".split(
        " ",
      ),
    // The policy would block them; this avoids the attempt.
    dompurifyConfig: {
      FORBID_TAGS: ["img", "image", "video", "audio", "iframe", "object", "embed", "link", "style", "a"],
    },
    theme: "base",
    darkMode: isDark,
    fontFamily: font,
    themeVariables: {
      darkMode: isDark,
      fontFamily: font,
      fontSize: "14px",
      background: paper,
      primaryColor: wash,
      primaryTextColor: ink,
      primaryBorderColor: strong,
      secondaryColor: paper,
      secondaryBorderColor: line,
      secondaryTextColor: ink,
      tertiaryColor: paper,
      tertiaryBorderColor: line,
      tertiaryTextColor: ink,
      lineColor: soft,
      textColor: ink,
      titleColor: ink,
      edgeLabelBackground: paper,
      noteBkgColor: wash,
      noteTextColor: ink,
      noteBorderColor: strong,
      ...Object.fromEntries(
        series.flatMap((color, index) => [
          [`pie${index + 1}`, color],
          [`cScale${index}`, color],
          [`cScaleLabel${index}`, paper],
          [`git${index}`, color],
          [`gitBranchLabel${index}`, paper],
        ]),
      ),
      pieTitleTextColor: ink,
      pieLegendTextColor: ink,
      pieSectionTextColor: paper,
      pieStrokeColor: paper,
      pieOuterStrokeColor: paper,
      pieOpacity: "1",
    },
  };
}

async function draw({ source, style }: DiagramRequest): Promise<DiagramOutcome> {
  const area = document.createElement("div");
  document.body.replaceChildren(area);
  try {
    mermaid.initialize(configure(style));
    const { svg, diagramType } = await mermaid.render("diagram", source, area);
    area.innerHTML = svg;
    const drawing = area.querySelector("svg");
    if (drawing === null) return { failure: "invalid", message: "" };
    return describe(drawing, diagramType);
  } catch (error) {
    // The first line says where; the others repeat the source.
    const message = error instanceof Error ? (error.message.split("\n")[0] ?? "") : "";
    return /maximum (?:text size|.*edges)/i.test(message) ? { failure: "too_large" } : { failure: "invalid", message };
  } finally {
    document.body.replaceChildren();
  }
}

function describe(drawing: SVGSVGElement, kind: string): DiagramOutcome {
  const { width, height } = drawing.viewBox.baseVal;
  // The page chooses the size; an image without a size would have none.
  drawing.removeAttribute("style");
  drawing.setAttribute("width", String(Math.ceil(width)));
  drawing.setAttribute("height", String(Math.ceil(height)));
  const told = ["title", "desc"].map((tag) => drawing.querySelector(`:scope > ${tag}`)?.textContent?.trim() ?? "");
  const name = told.filter((text) => text !== "").join(". ") || kind.replace(/(?:-v\d+|Diagram|-elk)$/, "");
  const svg = new XMLSerializer().serializeToString(drawing);
  return { svg, width: Math.ceil(width), height: Math.ceil(height), name };
}

addEventListener("message", ({ source, data }) => {
  const request = source === parent ? readDiagramRequest(data) : undefined;
  if (request === undefined) return;
  // The parent is the page: the policy of this document allows no other. An opaque origin cannot name it.
  void draw(request).then((outcome) => parent.postMessage({ ...limitOutcome(outcome), number: request.number }, "*"));
});
parent.postMessage("ready", "*");
