/** Events for content other than text: data, images and to-do lists. */
import { boolean, listOf, map, objectOf, oneOf, optional, required, string } from "../schema.ts";
import { defineExtension } from "./define.ts";

export const data = defineExtension({
  about: "Structured data: a table, a chart, an image or application data",
  zh: "结构化数据：表格、图表、图片或应用自定义数据",
  fields: {
    data_type: required(oneOf("dataframe", "chart", "image", "custom"), "Kind of data", "数据种类"),
    data: required(map, "The data; its structure depends on `data_type`", "数据内容，结构取决于 `data_type`"),
    metadata: optional(map, "Metadata, such as a description", "元数据，如说明文字"),
  },
});

export const image = defineExtension({
  about: "An image",
  zh: "图片",
  fields: {
    url: required(string, "URL of the image", "图片 URL"),
    media_type: optional(string, "Media type, such as `image/png`", "媒体类型，如 `image/png`"),
    alt: optional(string, "Alternative text", "替代文本"),
  },
});

export const todo_list = defineExtension({
  about: "A to-do list that the user can check off",
  zh: "用户可勾选的待办清单",
  fields: {
    list_id: required(string, "ID of the list", "清单 ID"),
    title: optional(string, "Title of the list", "清单标题"),
    items: required(
      listOf(
        objectOf({
          id: required(string, "ID of the item"),
          text: required(string, "Text of the item"),
          completed: required(boolean, "True if the item is done"),
        }),
      ),
      "The items, in order",
      "条目列表，按顺序排列",
    ),
  },
});

export const todo_update = defineExtension({
  about: "An item of a to-do list changed",
  zh: "待办清单中的一个条目发生变化",
  fields: {
    list_id: required(string, "ID of the list", "清单 ID"),
    item_id: required(string, "ID of the item", "条目 ID"),
    completed: optional(boolean, "New state; unchanged if absent", "新状态；缺省时不变"),
    text: optional(string, "New text; unchanged if absent", "新内容；缺省时不变"),
  },
});
