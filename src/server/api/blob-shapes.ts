/** Shapes of blobs and images. */
import { count, type Fields, listOf, objectOf, optional, required, type Shape, string } from "../../protocol/schema.ts";
import { declareShape } from "./common-shapes.ts";

const BLOB_FIELDS = {
  blob_id: required(string, "SHA-256 of the content, hexadecimal"),
  url: required(string, "URL on this server"),
  media_type: required(string, "Media type declared by the uploader"),
  name: optional(string, "File name"),
  bytes: required(count, "Size in bytes"),
  created_at: required(count, "Time of the first upload, Unix time in milliseconds"),
} satisfies Fields;

export const BLOB_SHAPES = {
  Blob: declareShape("An image or file of a session", BLOB_FIELDS),
  Blobs: declareShape("Images and files of a session", {
    blobs: required(listOf(objectOf(BLOB_FIELDS)), "Blobs, oldest first"),
    damaged: optional(
      listOf(string),
      "Ids of blobs whose description is damaged; uploading the file again replaces one",
    ),
  }),
  PutBlob: declareShape("Name of an upload", {
    name: optional(string, "File name; default: the one in `Content-Disposition`"),
  }),
  GetImage: declareShape("Image to fetch", {
    url: required(string, "URL of the image; must use https"),
  }),
} as const satisfies { readonly [name: string]: Shape };
