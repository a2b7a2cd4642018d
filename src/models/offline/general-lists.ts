/** To-do lists with general suggestions for common plans. */
import type { BilingualText } from "./offline-task.ts";

export interface GeneralList {
  readonly items: readonly string[];
  /** Shown after the list. */
  readonly note: BilingualText;
}

type ListRule = readonly [words: RegExp, en: readonly string[], zh: readonly string[]];

const RULES: readonly ListRule[] = [
  [
    /\bmov(?:e|ing)\b|\bnew (?:flat|home|house|apartment)\b|搬家/i,
    [
      "Decide what to keep",
      "Get boxes",
      "Book a van",
      "Pack room by room",
      "Change your address",
      "Hand over the keys",
    ],
    ["决定要留下的东西", "准备纸箱", "预约搬家车", "按房间打包", "更新地址", "交还钥匙"],
  ],
  [
    /\b(?:trip|travel|holiday|vacation|journey|flight|packing)\b|旅行|旅游|出差|出行/i,
    [
      "Choose dates and place",
      "Book transport",
      "Book a place to stay",
      "Check passports and documents",
      "Pack",
      "Share your itinerary",
    ],
    ["确定日期和地点", "订车票或机票", "订酒店", "检查证件", "收拾行李", "告诉家人行程"],
  ],
  [
    /\b(?:party|birthday|wedding|dinner)\b|聚会|生日|婚礼|派对/i,
    ["Choose a day", "Invite the guests", "Plan food and drink", "Decorate the room", "Clean up afterwards"],
    ["确定日期", "邀请客人", "准备食物和饮料", "布置场地", "收拾场地"],
  ],
  [
    /\b(?:exam|study|studying|course|learn\w*|test)\b|考试|学习|复习/i,
    [
      "List the topics",
      "Plan a topic for each day",
      "Work through examples",
      "Review the hard topics",
      "Sleep well the night before",
    ],
    ["列出知识点", "按天安排", "做例题", "复习难点", "考前睡个好觉"],
  ],
  [
    /\b(?:release|launch|deploy\w*|project|app|website|software)\b|发布|上线|部署|项目/i,
    [
      "Agree on the scope",
      "Finish the open work",
      "Run the tests",
      "Write the release notes",
      "Release",
      "Monitor the release",
    ],
    ["确定范围", "完成剩余工作", "运行测试", "编写发布说明", "发布", "观察运行情况"],
  ],
  [
    /\b(?:shopping|grocer(?:y|ies)|supermarket)\b|购物|买菜/i,
    ["Bread", "Milk", "Eggs", "Fruit", "Vegetables"],
    ["面包", "牛奶", "鸡蛋", "水果", "蔬菜"],
  ],
  [
    /\b(?:clean\w*|tidy\w*|housework|chores)\b|打扫|大扫除|家务/i,
    ["Air the rooms", "Put things away", "Wipe the surfaces", "Clean the floor", "Take out the rubbish"],
    ["开窗通风", "收拾物品", "擦台面", "拖地", "倒垃圾"],
  ],
  [
    /\b(?:today|day|week|morning|tomorrow|weekend)\b|今天|明天|本周|这周|一周|周末/i,
    ["List what is due", "Do the most important thing first", "Answer messages", "Take a break", "Plan the next steps"],
    ["列出到期事项", "先做最重要的事", "回复消息", "休息一下", "安排下一步"],
  ],
];

const ANY: readonly [en: readonly string[], zh: readonly string[]] = [
  ["List what you need", "Set priorities", "Take the first step", "Check what is left", "Finish"],
  ["列出需要的东西", "确定优先级", "完成第一步", "检查剩余事项", "收尾"],
];

const NOTE: BilingualText = {
  en: " These are general suggestions; add your own items after a colon.",
  zh: "这是通用建议，可以在冒号后写自己的条目。",
};

export function suggestItems(topic: string | undefined, isChinese: boolean): GeneralList {
  const rule = topic === undefined ? undefined : RULES.find(([words]) => words.test(topic));
  const [en, zh] = rule === undefined ? ANY : [rule[1], rule[2]];
  return { items: isChinese ? zh : en, note: NOTE };
}
