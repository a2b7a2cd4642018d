/** What a run shows beside text: data, images, to-do lists. */
import { boolean, listOf, map, objectOf, oneOf, optional, required, string } from "../schema.ts";
import { defineEvent, OURS } from "./define.ts";

export const data = defineEvent({
  section: OURS,
  about: { en: "A block of structured data: a table, a chart, an image, or the application's own", zh: "结构化数据块" },
  fields: {
    data_type: required(oneOf("dataframe", "chart", "image", "custom"), "What it holds", "数据种类"),
    data: required(map, "The data, by data_type", "数据内容，依 data_type 而定"),
    metadata: optional(map, "About the data, e.g. a description", "数据的说明"),
  },
});

export const image = defineEvent({
  section: OURS,
  about: { en: "An image to show", zh: "图片" },
  fields: {
    url: required(string, "Where it is", "图片地址"),
    media_type: optional(string, "E.g. image/png", "如 image/png"),
    alt: optional(string, "What it shows, in words", "替代文本"),
  },
});

export const todo_list = defineEvent({
  section: OURS,
  about: { en: "A to-do list the user can tick", zh: "可勾选的待办清单" },
  fields: {
    list_id: required(string, "Id of the list", "清单 ID"),
    title: optional(string, "Its title", "标题"),
    items: required(
      listOf(
        objectOf({
          id: required(string, "Id of the item", "条目 ID"),
          text: required(string, "What is to be done", "内容"),
          completed: required(boolean, "Whether it is done", "是否完成"),
        }),
      ),
      "The items in order",
      "条目（有序）",
    ),
  },
});

export const todo_update = defineEvent({
  section: OURS,
  about: { en: "One item of a to-do list changed", zh: "更新单个待办条目" },
  fields: {
    list_id: required(string, "Id of the list", "清单 ID"),
    item_id: required(string, "Id of the item", "条目 ID"),
    completed: optional(boolean, "Whether it is done; absent: unchanged", "是否完成；缺省为不变"),
    text: optional(string, "New text; absent: unchanged", "新内容；缺省为不变"),
  },
});
