/** Blobs and images. */
import { count, type Fields, listOf, objectOf, optional, required, type Shape, string } from "../../protocol/schema.ts";
import { declareShape } from "./declare-shape.ts";

const BLOB = {
  blob_id: required(string, "SHA-256 of the bytes, in hexadecimal", "字节的 SHA-256（十六进制）"),
  url: required(string, "Where it is, on this server", "在本服务器上的地址"),
  media_type: required(string, "What it is, as whoever sent it says", "媒体类型（由上传者声明）"),
  name: optional(string, "What the file is called", "文件名"),
  bytes: required(count, "How long it is", "字节数"),
  created_at: required(count, "When it came first, in milliseconds since 1970", "首次上传时间（毫秒时间戳）"),
} satisfies Fields;

export const BLOB_SHAPES = {
  Blob: declareShape("An image or a file of a session", "会话中的图片或文件", BLOB),
  Blobs: declareShape("The images and files of a session", "会话的图片与文件", {
    blobs: required(listOf(objectOf(BLOB)), "The oldest first", "按时间先后"),
  }),
  PutBlob: declareShape("What a file is called", "文件名", {
    name: optional(string, "Its name; that of `Content-Disposition` when absent", "文件名；缺省取 Content-Disposition"),
  }),
  GetImage: declareShape("Which image", "图片", {
    url: required(string, "Its address, which begins with https:", "图片地址，须为 https"),
  }),
} as const satisfies { readonly [name: string]: Shape };
