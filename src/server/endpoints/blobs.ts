/**
 * Images and files of a session: in as they are, out as they came. The body of a request is streamed to the store; what
 * is too long is refused as soon as that is known.
 */
import { LoomError } from "../../protocol/index.ts";
import { defineOperation } from "../api/operation.ts";
import { describeBlob } from "../blobs/address-blob.ts";
import { unknownBlob } from "../blobs/blob-rules.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import { readAsked, serveBytes } from "../blobs/serve-bytes.ts";
import { makeOwn } from "../commands/command-author.ts";
import { authorOf } from "../commands/commands-for.ts";
import { leaseBody } from "../http/lease-body.ts";
import { readBody } from "../http/read-body.ts";
import { HttpRefusal } from "../http/refuse-request.ts";
import type { ServerCore } from "../server-core.ts";

export const putBlob = defineOperation<"PutBlob">({
  id: "putBlob",
  method: "POST",
  path: "/v1/sessions/{id}/blobs",
  tag: "blobs",
  summary: "Keep an image or a file",
  description:
    "The body is the file, its `Content-Type` what it is. The same bytes are the same blob. A session that does not exist is created.",
  params: { id: "Id of the session" },
  headers: { "Content-Disposition": "`attachment; filename=…`: what the file is called" },
  query: "PutBlob",
  takes: ["application/octet-stream", "image/*", "text/*", "application/*", "audio/*", "video/*"],
  action: "blobs.write",
  answers: {
    201: { about: "It is kept", shape: "Blob" },
    408: { about: "The sender was silent for too long: `request_timeout`", shape: "Problem" },
    413: { about: "It is too large: `blob_too_large`", shape: "Problem" },
  },
  async handle(core, { request, caller, params, query, signal }) {
    const { id = "" } = params;
    const blobs = storeOf(core);
    const mediaType = request.headers.get("content-type") ?? "application/octet-stream";
    if (/^multipart\//i.test(mediaType.trim()))
      throw new LoomError("invalid_request", "send the file itself as the body, not a form with it");
    const { maxBlobBytes } = core.limits;
    if (Number(request.headers.get("content-length") ?? 0) > maxBlobBytes)
      throw new LoomError("blob_too_large", `a blob may have ${maxBlobBytes} bytes`, { limit: maxBlobBytes });
    const name = query.name ?? readFileName(request.headers.get("content-disposition"));
    const { incarnation } = await makeOwn(core.log, authorOf(core, caller), id);
    // A session that is deleted meanwhile must not leave anything to the next of its name, nor one who lost their leave.
    const confirm = async (): Promise<void> => {
      await core.authorize({ caller, action: "blobs.write", session: id });
      if ((await core.log.getSession(id))?.incarnation !== incarnation)
        throw new LoomError("unknown_session", `session "${id}" was deleted`, { session_id: id });
    };
    const limits = { maxBytes: Infinity, idleMs: core.limits.bodyTimeoutMs };
    const bytes = request.body === null ? [] : readBody(request.body, limits, signal);
    const info = await blobs.put(id, bytes, { mediaType, name, signal, confirm });
    const blob = describeBlob(core, info);
    return Response.json(blob, { status: 201, headers: { location: blob.url, "cache-control": "no-store" } });
  },
});

export const listBlobs = defineOperation({
  id: "listBlobs",
  method: "GET",
  path: "/v1/sessions/{id}/blobs",
  tag: "blobs",
  summary: "The images and files of a session",
  params: { id: "Id of the session" },
  action: "blobs.read",
  answers: { 200: { about: "The oldest first", shape: "Blobs" } },
  async handle(core, { params: { id = "" } }) {
    const found = await storeOf(core).list(id);
    const blobs = found.map((info) => describeBlob(core, info));
    return Response.json({ blobs }, { headers: { "cache-control": "no-store" } });
  },
});

export const getBlob = defineOperation({
  id: "getBlob",
  method: "GET",
  path: "/v1/sessions/{id}/blobs/{blob}",
  tag: "blobs",
  summary: "An image or a file",
  description:
    "Images of pixels and plain texts are shown; everything else is something to keep. `If-None-Match`, `If-Range` and one `Range` are heeded.",
  params: { id: "Id of the session", blob: "Id of the blob" },
  headers: { Range: "`bytes=0-99`", "If-None-Match": "The `ETag` that is known" },
  action: "blobs.read",
  answers: {
    200: { about: "All of it", mediaTypes: ["application/octet-stream"] },
    206: { about: "The range of it", mediaTypes: ["application/octet-stream"] },
    304: { about: "It is what it was" },
    416: { about: "None of it is in the range" },
  },
  async handle(core, { request, caller, params: { id = "", blob = "" } }) {
    const blobs = storeOf(core);
    const info = await blobs.get(id, blob);
    if (info === undefined) throw unknownBlob(id, blob);
    const file = { etag: `"${info.blobId}"`, ...info };
    const asked = readAsked(file, request.headers);
    if (asked.what === "unsatisfiable") {
      const error = new LoomError("invalid_arguments", `none of it is in the range: it has ${info.bytes} bytes`);
      throw new HttpRefusal(error, { status: 416, headers: { "content-range": `bytes */${info.bytes}` } });
    }
    // Whoever wants the headers alone must not leave a file open.
    const isRead = request.method !== "HEAD" && (asked.what === "all" || asked.what === "part");
    if (!isRead) return serveBytes(file, asked, null);
    const { bytes } = await blobs.read(id, blob, asked.what === "part" ? asked : undefined);
    const { access } = core;
    const body = access.isOpen ? bytes : leaseBody(bytes, (onEnd) => access.watch(caller, id, onEnd));
    return serveBytes(file, asked, body as ReadableStream<Uint8Array<ArrayBuffer>>);
  },
});

function storeOf({ blobs }: ServerCore): BlobStore {
  if (blobs === undefined) throw new LoomError("not_found", "this server keeps no blobs");
  return blobs;
}

/** `filename*` goes before `filename`, as it can hold every letter. */
function readFileName(disposition: string | null): string | undefined {
  if (disposition === null) return undefined;
  const [, encoded] = /;\s*filename\*\s*=\s*utf-8'[^']*'([^;\s]+)/i.exec(disposition) ?? [];
  if (encoded !== undefined) {
    try {
      return decodeURIComponent(encoded);
    } catch {
      throw new LoomError("invalid_request", "`Content-Disposition` has a name that cannot be read");
    }
  }
  const [, quoted, bare] = /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s"]+))/i.exec(disposition) ?? [];
  return quoted?.replaceAll(/\\(.)/g, "$1") ?? bare;
}
