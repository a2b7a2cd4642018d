/** Shapes of the knowledge base. */
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

const collection = optional(string, "Only this collection; default: all collections", "仅限此集合；默认为全部集合");

const DOCUMENT_FIELDS = {
  document_id: required(string, "Id of the document: a name, a path or a URL", "文档 ID：名称、路径或 URL"),
  name: required(string, "Last segment of the id", "ID 的最后一段"),
  title: required(string, "Title", "标题"),
  collection: required(string, "Collection of the document", "所属集合"),
  format: required(oneOf("markdown", "text", "html", "pdf"), "Format of the document", "文档格式"),
  bytes: required(count, "Size in bytes", "大小（字节）"),
  passages: required(count, "Number of passages", "段落数"),
  indexed_at: required(count, "Time of indexing, Unix time in milliseconds", "索引时间（Unix 毫秒时间戳）"),
} satisfies Fields;

const TOTAL_FIELDS = {
  documents: required(count, "Number of documents", "文档数"),
  passages: required(count, "Number of passages", "段落数"),
  bytes: required(count, "Total size of the documents in bytes", "文档总大小（字节）"),
} satisfies Fields;

const HIT_FIELDS = {
  document_id: required(string, "Id of the document the passage is from", "段落所属文档的 ID"),
  name: required(string, "Last segment of the document id", "文档 ID 的最后一段"),
  title: required(string, "Title of the document", "文档标题"),
  collection: required(string, "Collection of the document", "文档所属集合"),
  score: required(number, "Relevance from 0 to 1", "相关度，0 到 1"),
  snippet: required(string, "Lines around the match", "匹配位置附近的文本"),
  content: required(string, "Full text of the passage", "段落全文"),
  first_line: required(count, "First line in the document, from 1", "首行行号，从 1 开始"),
  last_line: required(count, "Last line in the document", "末行行号"),
  headings: required(listOf(string), "Headings above the passage, outermost first", "上级标题，由外到内"),
} satisfies Fields;

export const KNOWLEDGE_SHAPES = {
  KnowledgeDocuments: declareShape("Documents of the knowledge base", "知识库中的文档", {
    documents: required(listOf(objectOf(DOCUMENT_FIELDS)), "Documents, ordered by id", "文档列表，按 ID 排序"),
    next: optional(
      string,
      "Value of `after` for the next page; absent on the last page",
      "下一页的 after 值；最后一页没有此字段",
    ),
    totals: required(objectOf(TOTAL_FIELDS), "Totals of the whole knowledge base", "整个知识库的合计"),
    collections: required(
      listOf(
        objectOf({
          name: required(string, "Name of the collection", "集合名称"),
          documents: required(count, "Number of documents", "文档数"),
        }),
      ),
      "All collections",
      "全部集合",
    ),
    accepts: required(listOf(string), "Accepted file extensions", "支持的文件扩展名"),
    max_document_bytes: required(count, "Maximum size of a document in bytes", "单个文档的最大字节数"),
  }),
  ListKnowledge: declareShape("Documents to list", "文档列表的查询条件", {
    limit: optional(count, "Maximum number of documents, 1 to 500; default: 50", "最多返回的文档数，1 到 500；默认 50"),
    after: optional(
      string,
      "Id of the last document of the previous page: its `next`",
      "上一页最后一个文档的 ID，即上一页的 next",
    ),
    collection,
  }),
  AddedDocument: declareShape("Document that was added", "已添加的文档", {
    ...DOCUMENT_FIELDS,
    outcome: required(
      oneOf("added", "updated", "unchanged"),
      "Whether the document is new, replaced one with the same name, or is identical to it",
      "新增、替换同名文档，或内容未变",
    ),
  }),
  AddDocument: declareShape("Name and collection of a document", "文档的名称与集合", {
    name: required(string, "File name without a folder", "文件名，不含目录"),
    collection: optional(
      string,
      "Collection; default: the current one of the document, or `default` for a new one",
      "所属集合；默认不变，新文档为 default",
    ),
  }),
  ReadDocument: declareShape("Part of a document to read", "要读取的文档部分", {
    from: optional(count, "Position of the first passage, from 0; default: 0", "首个段落的位置，从 0 开始；默认 0"),
    line: optional(
      count,
      "Starts a few passages before the one with this line, instead of at `from`",
      "从包含此行的段落之前几个段落开始，代替 from",
    ),
    limit: optional(count, "Maximum number of passages, 1 to 200; default: 50", "最多返回的段落数，1 到 200；默认 50"),
  }),
  DocumentText: declareShape("Part of the text of a document", "文档的部分文本", {
    ...DOCUMENT_FIELDS,
    from: required(count, "Position of the first passage, from 0", "首个段落的位置，从 0 开始"),
    parts: required(
      listOf(
        objectOf({
          first_line: required(count, "First line in the document, from 1", "首行行号，从 1 开始"),
          last_line: required(count, "Last line in the document", "末行行号"),
          text: required(
            string,
            "Text that follows the text of the previous passage, with the line breaks between them",
            "紧接上一段落文本之后的文本，含两者之间的换行",
          ),
          overlap: required(
            count,
            "Characters before `text` that the passage repeats from the previous one",
            "text 之前、与上一段落重复的字符数",
          ),
        }),
      ),
      "Passages in their order; empty after the last one",
      "按顺序排列的段落；末尾之后为空",
    ),
  }),
  SearchKnowledge: declareShape("Search query", "搜索条件", {
    q: required(string, "Question or keywords", "问题或关键词"),
    limit: optional(count, "Maximum number of passages, 1 to 50; default: 10", "最多返回的段落数，1 到 50；默认 10"),
    collection,
  }),
  KnowledgeHits: declareShape("Search results", "搜索结果", {
    hits: required(listOf(objectOf(HIT_FIELDS)), "Passages, best match first", "段落列表，按相关度从高到低排列"),
  }),
} as const satisfies { readonly [name: string]: Shape };
