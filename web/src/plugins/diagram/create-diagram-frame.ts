/**
 * The frame that draws diagrams. It is sandboxed without `allow-same-origin`, so its scripts cannot reach the page, and
 * the page accepts only messages of the expected form from this frame.
 */
import type { Renderer, RendererEvents } from "../drawing-queue.ts";
import { type DiagramOutcome, type DiagramRequest, readDiagramOutcome } from "../../diagram-frame/diagram-messages.ts";

export function createDiagramFrame({ onMessage, onError }: RendererEvents<DiagramOutcome>): Renderer<DiagramRequest> {
  const frame = document.createElement("iframe");
  let number = 0;
  const receive = ({ source, origin, data }: MessageEvent<unknown>): void => {
    if (source !== frame.contentWindow || origin !== "null") return;
    if (data === "ready") return onMessage(data);
    const message = readDiagramOutcome(data);
    // Late outcomes have another number.
    if (message?.number !== number) return;
    onMessage(message);
  };
  addEventListener("message", receive);
  frame.setAttribute("sandbox", "allow-scripts");
  frame.src = new URL("assets/diagram-frame.html", document.baseURI).href;
  frame.className = "page-diagram-frame";
  frame.title = "Mermaid";
  frame.inert = true;
  frame.ariaHidden = "true";
  frame.tabIndex = -1;
  frame.addEventListener("error", onError);
  document.body.append(frame);
  return {
    // A sandboxed frame has no origin to name; the policy of the page loads only its own documents into frames.
    send: (request) => frame.contentWindow?.postMessage({ ...request, number: ++number }, "*"),
    end() {
      removeEventListener("message", receive);
      frame.remove();
    },
  };
}
