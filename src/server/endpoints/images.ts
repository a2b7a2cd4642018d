/**
 * The images of elsewhere, for a page that may load none but this server's: fetched with the guard of the fetch tool,
 * and given out with nothing of where they came from. It is no open proxy: other sites' pages are refused.
 */
import { isLoomError, LoomError } from "../../protocol/index.ts";
import { fetchImage, type FetchImageOptions, type ImageFault } from "../../tools/fetch/fetch-image.ts";
import { Gate } from "../../tools/gate.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import { FOREIGN_HEADERS } from "../blobs/serve-bytes.ts";
import { HttpRefusal } from "../http/refuse-request.ts";
import type { ServerCore } from "../server-core.ts";

const STATUSES: { readonly [reason in ImageFault]: number } = {
  url_refused: 400,
  too_large: 413,
  not_an_image: 415,
  unreachable: 502,
  timeout: 504,
};

/** Images that wait for their turn. Code `too_many_open`. */
const MAX_WAITING = 64;

/** `how`: another way to the web, for tests. */
export function createImageOperation(how: Pick<FetchImageOptions, "resolve" | "exchange"> = {}): AnyOperation {
  /** One for each server, so that it goes with it. */
  const gates = new WeakMap<ServerCore, Gate>();
  return defineOperation<"GetImage">({
    id: "getImage",
    method: "GET",
    path: "/v1/images",
    tag: "blobs",
    summary: "An image of elsewhere",
    description:
      "Fetches an image from a public https address: PNG, JPEG, GIF, WebP or AVIF. Pages of other sites are refused.",
    query: "GetImage",
    action: "images.read",
    answers: {
      200: {
        about: "The image",
        mediaTypes: ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"],
      },
    },
    async handle(core, { request, query, signal }) {
      assertOwnPage(request.headers);
      const { maxImageBytes: maxBytes, maxImages, imageTimeoutMs: timeoutMs } = core.limits;
      let gate = gates.get(core);
      if (gate === undefined) gates.set(core, (gate = new Gate(maxImages, MAX_WAITING)));
      const release = await gate.enter(AbortSignal.any([signal, core.closing])).catch((error: unknown) => {
        throw isLoomError(error, "queue_full")
          ? new LoomError("too_many_open", "too many images are being fetched", { limit: maxImages })
          : error;
      });
      try {
        const { bytes, mediaType } = await fetchImage(query.url, { ...how, maxBytes, timeoutMs, signal });
        const headers = {
          ...FOREIGN_HEADERS,
          "content-type": mediaType,
          "content-length": String(bytes.length),
          "content-disposition": "inline",
          "cache-control": "private, max-age=3600",
        };
        const isHead = request.method === "HEAD";
        return new Response(isHead ? null : (bytes as Uint8Array<ArrayBuffer>), { headers });
      } catch (error) {
        if (!isLoomError(error, "image_refused")) throw error;
        throw new HttpRefusal(error, { status: STATUSES[error.details["reason"] as ImageFault] ?? 502 });
      } finally {
        release();
      }
    },
  });
}

export const getImage: AnyOperation = createImageOperation();

/** Browsers say whose page asks; programs say nothing, and have no need of this to fetch something. */
function assertOwnPage(headers: Headers): void {
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin" && site !== "none")
    throw new LoomError("forbidden", "images are fetched for pages of this server only");
}
