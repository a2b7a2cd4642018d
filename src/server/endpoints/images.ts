/**
 * Endpoint that fetches images from other sites for pages whose content policy allows only this server. It applies the
 * SSRF protection of the fetch tool and does not forward headers of the source. Not an open proxy: requests from pages
 * of other sites are rejected.
 */
import { isLoomError, LoomError } from "../../protocol/index.ts";
import { fetchImage, type FetchImageOptions, type ImageRefusalReason } from "../../tools/fetch/fetch-image.ts";
import { enterGate } from "../api/gates.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import { UNTRUSTED_FILE_HEADERS } from "./serve-bytes.ts";
import { HttpRefusal } from "../api/refuse-request.ts";

const STATUSES: { readonly [reason in ImageRefusalReason]: number } = {
  url_refused: 400,
  too_large: 413,
  not_an_image: 415,
  unreachable: 502,
  timeout: 504,
};

/** `network` replaces DNS and HTTP in tests. */
export function createImageOperation(network: Pick<FetchImageOptions, "resolve" | "exchange"> = {}): AnyOperation {
  return defineOperation<"GetImage">({
    id: "getImage",
    method: "GET",
    path: "/v1/images",
    summary: "Fetch an image from another site",
    description:
      "Fetches an image from a public https URL: PNG, JPEG, GIF, WebP or AVIF. Requests from pages of other sites are rejected.",
    query: "GetImage",
    action: "images.read",
    responses: {
      200: {
        description: "Image",
        mediaTypes: ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"],
      },
    },
    async handle(core, { request, caller, query, signal }) {
      assertSameOrigin(request.headers);
      const { maxImageBytes: maxBytes, imageTimeoutMs: timeoutMs } = core.limits;
      const release = await enterGate(core, "images", caller, signal);
      try {
        const { bytes, mediaType } = await fetchImage(query.url, { ...network, maxBytes, timeoutMs, signal });
        const headers = {
          ...UNTRUSTED_FILE_HEADERS,
          "content-type": mediaType,
          "content-length": String(bytes.length),
          "content-disposition": "inline",
          "cache-control": "private, max-age=3600",
        };
        const isHead = request.method === "HEAD";
        return new Response(isHead ? null : (bytes as Uint8Array<ArrayBuffer>), { headers });
      } catch (error) {
        if (!isLoomError(error, "image_refused")) throw error;
        throw new HttpRefusal(error, { status: STATUSES[error.details["reason"] as ImageRefusalReason] ?? 502 });
      } finally {
        release();
      }
    },
  });
}

export const getImage: AnyOperation = createImageOperation();

/**
 * Browsers send `Sec-Fetch-Site`. Other programs do not, and gain nothing from this endpoint that they cannot fetch
 * themselves.
 */
function assertSameOrigin(headers: Headers): void {
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin" && site !== "none")
    throw new LoomError("forbidden", "Images are only fetched for pages of this server");
}
