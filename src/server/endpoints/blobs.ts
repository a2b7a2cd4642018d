/**
 * Endpoints for the images and files of a session. Uploads are streamed to the store; a body that is too large is
 * rejected as soon as that is known.
 */
import { LoomError } from "../../protocol/index.ts";
import { defineOperation } from "../api/operation.ts";
import type { Blob as BlobShape } from "../api/shapes.generated.ts";
import { blobUrl, unknownBlob } from "../blobs/blob-rules.ts";
import type { BlobInfo } from "../blobs/blob-store.ts";
import { openUpload, storeOf } from "./open-upload.ts";
import { readRequestedContent, serveBytes } from "./serve-bytes.ts";
import { createRevocableBody } from "./revocable-body.ts";
import { readBody } from "../guard/read-body.ts";
import { HttpRefusal } from "../api/refuse-request.ts";
import type { ServerCore } from "../api/server-core.ts";

export const putBlob = defineOperation<"PutBlob">({
  id: "putBlob",
  method: "POST",
  path: "/v1/sessions/{id}/blobs",
  summary: "Upload an image or file",
  description:
    "The body is the file and `Content-Type` its media type. Uploading the same bytes again returns the same blob. A missing session is created.",
  headers: { "Content-Disposition": "`attachment; filename=…`: name of the file" },
  query: "PutBlob",
  rawBodyTypes: ["application/octet-stream", "image/*", "text/*", "application/*", "audio/*", "video/*"],
  action: "blobs.write",
  responses: {
    201: { description: "Stored", shape: "Blob" },
    408: {
      description: "The sender was idle for too long, or the upload took too long: `request_timeout`",
      shape: "Problem",
    },
    413: { description: "The file is too large: `blob_too_large`", shape: "Problem" },
    429: { description: "Too many uploads of this credential wait: `too_many_uploads`", shape: "Problem" },
    507: { description: "No space is left: `store_full`, `blobs_full` or `quota_exceeded`", shape: "Problem" },
  },
  async handle(core, { request, caller, params, query, signal, upload }) {
    const { id = "" } = params;
    const mediaType = request.headers.get("content-type") ?? "application/octet-stream";
    if (/^multipart\//i.test(mediaType.trim()))
      throw new LoomError("invalid_request", "Send the file itself as the body, not as multipart form data");
    const { maxBlobBytes } = core.limits;
    if (Number(request.headers.get("content-length") ?? 0) > maxBlobBytes)
      throw new LoomError("blob_too_large", `A blob can have at most ${maxBlobBytes} bytes`, { limit: maxBlobBytes });
    const name = query.name ?? readFileName(request.headers.get("content-disposition"));
    const put = await openUpload(core, caller, id);
    const { bodyTimeoutMs: idleMs, uploadTimeoutMs: totalMs } = core.limits;
    await upload.enter();
    const limits = { maxBytes: Infinity, idleMs, totalMs };
    const bytes = request.body === null ? [] : readBody(request.body, limits, signal);
    const info = await put(bytes, { mediaType, name, signal });
    const blob = describeBlob(core, info);
    return Response.json(blob, { status: 201, headers: { location: blob.url } });
  },
});

export const listBlobs = defineOperation({
  id: "listBlobs",
  method: "GET",
  path: "/v1/sessions/{id}/blobs",
  summary: "List the images and files of a session",
  action: "blobs.read",
  responses: { 200: { description: "Blobs, oldest first", shape: "Blobs" } },
  async handle(core, { params: { id = "" } }) {
    const damaged: string[] = [];
    const found = await storeOf(core).list(id, (blobId) => damaged.push(blobId));
    const blobs = found.map((info) => describeBlob(core, info));
    return Response.json({ blobs, ...(damaged.length === 0 ? {} : { damaged }) });
  },
});

export const getBlob = defineOperation({
  id: "getBlob",
  method: "GET",
  path: "/v1/sessions/{id}/blobs/{blob}",
  summary: "Download an image or file",
  description:
    "Raster images and plain text are displayed inline, everything else is sent as an attachment. Supports `If-None-Match`, `If-Range` and a single `Range`.",
  headers: { Range: "`bytes=0-99`", "If-None-Match": "`ETag` of a cached copy" },
  action: "blobs.read",
  responses: {
    200: { description: "Whole content", mediaTypes: ["application/octet-stream"] },
    206: { description: "Requested range", mediaTypes: ["application/octet-stream"] },
    304: { description: "Not modified" },
    416: { description: "Range not satisfiable" },
    500: { description: "The blob is damaged: `blob_damaged`", shape: "Problem" },
  },
  async handle(core, { request, caller, params: { id = "", blob = "" } }) {
    const blobs = storeOf(core);
    const info = await blobs.get(id, blob);
    if (info === undefined) throw unknownBlob(id, blob);
    const file = { etag: `"${info.blobId}"`, ...info };
    const content = readRequestedContent(file, request.headers);
    if (content.kind === "unsatisfiable") {
      const error = new LoomError(
        "invalid_arguments",
        `The range is not satisfiable: the blob has ${info.bytes} bytes`,
      );
      throw new HttpRefusal(error, { status: 416, headers: { "content-range": `bytes */${info.bytes}` } });
    }
    // A HEAD request must not leave the file open.
    const isRead = request.method !== "HEAD" && (content.kind === "all" || content.kind === "part");
    if (!isRead) return serveBytes(file, content, null);
    const { bytes } = await blobs.read(id, blob, content.kind === "part" ? content : undefined);
    const body = createRevocableBody(core, caller, id, bytes);
    return serveBytes(file, content, body as ReadableStream<Uint8Array<ArrayBuffer>>);
  },
});

function describeBlob(core: ServerCore, info: BlobInfo): BlobShape {
  const { blobId, mediaType, name, bytes, createdAt } = info;
  const url = blobUrl(core, info);
  const named = name === undefined ? {} : { name };
  return { blob_id: blobId, url, media_type: mediaType, ...named, bytes, created_at: createdAt };
}

/** `filename*` takes precedence over `filename` because it supports Unicode. */
function readFileName(disposition: string | null): string | undefined {
  if (disposition === null) return undefined;
  const [, encoded] = /;\s*filename\*\s*=\s*utf-8'[^']*'([^;\s]+)/i.exec(disposition) ?? [];
  if (encoded !== undefined) {
    try {
      return decodeURIComponent(encoded);
    } catch {
      throw new LoomError("invalid_request", "The file name in `Content-Disposition` cannot be decoded");
    }
  }
  const [, quoted, bare] = /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s"]+))/i.exec(disposition) ?? [];
  return quoted?.replaceAll(/\\(.)/g, "$1") ?? bare;
}
