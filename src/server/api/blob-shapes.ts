/** Shapes of blobs and images. */
import { count, type Fields, listOf, objectOf, optional, required, type Shape, string } from "../../protocol/schema.ts";
import { declareShape } from "./declare-shape.ts";

const BLOB_FIELDS = {
  blob_id: required(string, "SHA-256 of the content, hexadecimal", "内容的 SHA-256（十六进制）"),
  url: required(string, "URL on this server", "在本服务器上的 URL"),
  media_type: required(string, "Media type declared by the uploader", "上传者声明的媒体类型"),
  name: optional(string, "File name", "文件名"),
  bytes: required(count, "Size in bytes", "大小（字节）"),
  created_at: required(count, "Time of the first upload, Unix time in milliseconds", "首次上传时间（Unix 毫秒时间戳）"),
} satisfies Fields;

export const BLOB_SHAPES = {
  Blob: declareShape("An image or file of a session", "会话中的图片或文件", BLOB_FIELDS),
  Blobs: declareShape("Images and files of a session", "会话中的图片与文件", {
    blobs: required(listOf(objectOf(BLOB_FIELDS)), "Blobs, oldest first", "图片与文件，最早的在前"),
    damaged: optional(
      listOf(string),
      "Ids of blobs whose description is damaged; uploading the file again replaces one",
      "描述已损坏的图片与文件的 id；重新上传文件即可替换",
    ),
  }),
  PutBlob: declareShape("Name of an upload", "上传文件的名称", {
    name: optional(
      string,
      "File name; default: the one in `Content-Disposition`",
      "文件名；默认取自 Content-Disposition",
    ),
  }),
  GetImage: declareShape("Image to fetch", "要获取的图片", {
    url: required(string, "URL of the image; must use https", "图片 URL，必须使用 https"),
  }),
} as const satisfies { readonly [name: string]: Shape };
