/** The knowledge base. */
import {
  count,
  type Fields,
  listOf,
  number,
  objectOf,
  oneOf,
  optional,
  required,
  type Shape,
  string,
} from "../../protocol/schema.ts";
import { declareShape } from "./declare-shape.ts";

const collection = optional(string, "Only in this collection; in all when absent", "仅限此集合；缺省为全部");

const DOCUMENT = {
  document_id: required(string, "What it is known by: a name, a path or an address", "文档标识：名称、路径或地址"),
  name: required(string, "The last part of that", "标识的最后一段"),
  title: required(string, "Its title", "标题"),
  collection: required(string, "Where it is kept", "所属集合"),
  format: required(oneOf("markdown", "text", "html", "pdf"), "How it was read", "格式"),
  bytes: required(count, "How long it is", "字节数"),
  passages: required(count, "Passages it was cut into", "切分出的段落数"),
  indexed_at: required(count, "When it was taken in, in milliseconds since 1970", "收录时间（毫秒时间戳）"),
} satisfies Fields;

const TOTALS = {
  documents: required(count, "Documents", "文档数"),
  passages: required(count, "Passages", "段落数"),
  bytes: required(count, "Bytes of all documents", "全部文档的字节数"),
} satisfies Fields;

const HIT = {
  document_id: required(string, "The document it is from", "来源文档"),
  name: required(string, "The last part of that", "标识的最后一段"),
  title: required(string, "Title of the document", "文档标题"),
  collection: required(string, "Where the document is kept", "文档所属集合"),
  score: required(number, "From 0 to 1: how much of the question it holds, and how well", "匹配度，0 到 1"),
  snippet: required(string, "The lines around what matched", "匹配处的上下文"),
  content: required(string, "All of the passage", "段落全文"),
  first_line: required(count, "Its first line in the document, from 1", "首行行号，从 1 起"),
  last_line: required(count, "Its last line", "末行行号"),
  headings: required(listOf(string), "The headings above it, outermost first", "上级标题，由外到内"),
} satisfies Fields;

export const KNOWLEDGE_SHAPES = {
  KnowledgeDocuments: declareShape("Documents of the knowledge base", "知识库中的文档", {
    documents: required(listOf(objectOf(DOCUMENT)), "In the order of their ids", "按标识排序"),
    next: optional(string, "`after` of the next page; absent on the last", "下一页的 after；末页缺省"),
    totals: required(objectOf(TOTALS), "Of the whole base", "整个知识库的合计"),
    collections: required(
      listOf(
        objectOf({
          name: required(string, "Its name", "名称"),
          documents: required(count, "Documents in it", "文档数"),
        }),
      ),
      "All collections",
      "全部集合",
    ),
    accepts: required(listOf(string), "How names of files end that can be read", "可读取的文件扩展名"),
    max_document_bytes: required(count, "How long a file may be", "单个文件的最大字节数"),
  }),
  ListKnowledge: declareShape("Which documents", "文档列表的范围", {
    limit: optional(count, "At most so many, from 1 to 500; 50 when absent", "最多条数，1 到 500；缺省 50"),
    after: optional(string, "The id of the last one already listed: `next` of the answer before", "上一页的 next"),
    collection,
  }),
  AddedDocument: declareShape("A document that was taken in", "已收录的文档", {
    ...DOCUMENT,
    outcome: required(
      oneOf("added", "updated", "unchanged"),
      "It is new, it took the place of another of its name, or it was there already",
      "新增、替换同名文档，或内容未变",
    ),
  }),
  AddDocument: declareShape("What a document is called", "文档名称", {
    name: required(string, "Name of the file, without a folder", "文件名，不含目录"),
    collection: optional(
      string,
      "Where it is kept; as it was, or `default`, when absent",
      "所属集合；缺省不变或 default",
    ),
  }),
  SearchKnowledge: declareShape("What is looked for", "检索内容", {
    q: required(string, "A question, or words", "问题或关键词"),
    limit: optional(count, "At most so many passages, from 1 to 50; 10 when absent", "最多段落数，1 到 50；缺省 10"),
    collection,
  }),
  KnowledgeHits: declareShape("Passages that were found", "检索到的段落", {
    hits: required(listOf(objectOf(HIT)), "The best first", "按匹配度排序"),
  }),
} as const satisfies { readonly [name: string]: Shape };
