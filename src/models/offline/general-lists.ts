/** To-do lists for what people often plan. They are general, and said to be: nothing is known about who asks. */
import type { Phrase } from "./errand.ts";

export interface GeneralList {
  readonly items: readonly string[];
  /** Said after the list. */
  readonly note: Phrase;
}

type Rule = readonly [words: RegExp, en: readonly string[], zh: readonly string[]];

const RULES: readonly Rule[] = [
  [
    /\bmov(?:e|ing)\b|\bnew (?:flat|home|house|apartment)\b|搬家/i,
    [
      "Sort out what to keep",
      "Get boxes",
      "Book a van",
      "Pack room by room",
      "Tell people the new address",
      "Hand over the keys",
    ],
    ["整理要留下的东西", "准备纸箱", "预约搬家车", "按房间打包", "通知新地址", "交还钥匙"],
  ],
  [
    /\b(?:trip|travel|holiday|vacation|journey|flight|packing)\b|旅行|旅游|出差|出行/i,
    [
      "Choose dates and place",
      "Book the way there",
      "Book a place to stay",
      "Check papers",
      "Pack",
      "Tell somebody where you are",
    ],
    ["确定日期和地点", "订车票或机票", "订住处", "检查证件", "收拾行李", "告诉家人行程"],
  ],
  [
    /\b(?:party|birthday|wedding|dinner)\b|聚会|生日|婚礼|派对/i,
    ["Choose a day", "Invite the guests", "Plan food and drink", "Prepare the room", "Clean up afterwards"],
    ["定日子", "邀请客人", "准备吃喝", "布置场地", "收拾干净"],
  ],
  [
    /\b(?:exam|study|studying|course|learn\w*|test)\b|考试|学习|复习/i,
    [
      "List the topics",
      "Plan a topic for each day",
      "Work through examples",
      "Repeat what was hard",
      "Sleep well the night before",
    ],
    ["列出知识点", "按天安排", "做例题", "复习难点", "前一晚睡好"],
  ],
  [
    /\b(?:release|launch|deploy\w*|project|app|website|software)\b|发布|上线|部署|项目/i,
    [
      "Agree on what is in it",
      "Finish the open work",
      "Run the tests",
      "Write the notes",
      "Release",
      "Watch how it goes",
    ],
    ["确定范围", "完成剩余工作", "运行测试", "写说明", "发布", "观察运行情况"],
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
    [
      "Write down what is due",
      "Do the most important thing first",
      "Answer messages",
      "Take a break",
      "Plan what comes next",
    ],
    ["写下到期的事", "先做最重要的", "回复消息", "休息一下", "安排下一步"],
  ],
];

const ANY: readonly [en: readonly string[], zh: readonly string[]] = [
  ["Write down what is needed", "Put it in order", "Do the first step", "Check what is left", "Finish it"],
  ["写下需要什么", "排好顺序", "完成第一步", "检查还剩什么", "收尾"],
];

const NOTE: Phrase = {
  en: " Its items are general ones, as I know nothing about your plans; name your own after a colon.",
  zh: "条目是通用的，我并不了解你的安排；可以在冒号后写上自己的条目。",
};

export function suggestItems(topic: string | undefined, isChinese: boolean): GeneralList {
  const rule = topic === undefined ? undefined : RULES.find(([words]) => words.test(topic));
  const [en, zh] = rule === undefined ? ANY : [rule[1], rule[2]];
  return { items: isChinese ? zh : en, note: NOTE };
}
