import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { answerPrompt } from "./answer-prompt.ts";
import { ask, callsOf, TOOLS, user } from "../../../test/contracts/ask-offline.ts";
import { findTasks } from "./find-tasks.ts";

const PLAN = "List what you need | Set priorities | Take the first step | Check what is left | Finish";
const FRUIT = "table fruit,number | apples,3 | pears,5 | plums,8";
const EXAMPLE = "an orange house, a green tree, a yellow sun";

describe("the offline model shows", () => {
  it.each<[string, ...string[]]>([
    ["make a todo list: milk, bread, eggs", "todo milk | bread | eggs"],
    ["Make a todo list with milk, bread and eggs", "todo milk | bread | eggs"],
    ["Can you make me a to-do list: call mum", "todo call mum"],
    ["Todo:\n- milk\n- bread", "todo milk | bread"],
    ["make a todo list: 1. wash the car 2. buy milk.", "todo wash the car | buy milk"],
    ["todo list for a trip: book a flight, pack", "todo Trip: book a flight | pack"],
    [
      "Make a todo list for moving house",
      "todo Moving house: Decide what to keep | Get boxes | Book a van | Pack room by room | Change your address | Hand over the keys",
    ],
    ["I need a shopping list", "todo Bread | Milk | Eggs | Fruit | Vegetables"],
    ["make a list: a, b, c", "todo a | b | c"],
    ["待办清单：买牛奶、写周报", "todo 买牛奶 | 写周报"],
    ["写一个待办清单，包括买菜、做饭", "todo 买菜 | 做饭"],
    ["帮我列一个待办", "todo 列出需要的东西 | 确定优先级 | 完成第一步 | 检查剩余事项 | 收尾"],
    [
      "帮我列一个搬家的待办清单",
      "todo 搬家: 决定要留下的东西 | 准备纸箱 | 预约搬家车 | 按房间打包 | 更新地址 | 交还钥匙",
    ],
  ])("to-do lists: %s", (text, ...calls) => {
    expect(callsOf(text)).toEqual(calls);
  });

  it.each<[string, ...string[]]>([
    ["show a table of 3 5 8", "table no.,value | 1,3 | 2,5 | 3,8"],
    ["a multiplication table up to 3", "table ×,1,2,3 | 1,1,2,3 | 2,2,4,6 | 3,3,6,9"],
    ["times table of 7", `table ×,7 | ${Array.from({ length: 10 }, (_, n) => `${n + 1},${(n + 1) * 7}`).join(" | ")}`],
    ["Show me a table of squares up to 3", "table n,n² | 1,1 | 2,4 | 3,9"],
    ["make a table: name, age; Ann, 31; Bob, 29", "table name,age | Ann,31 | Bob,29"],
    ["make a table: Ann, 31; Bob", "table 1,2 | Ann,31 | Bob,"],
    ["make a table with columns name and age", "table name,age"],
    ["put apples 3, pears 5 in a table", "table name,value | apples,3 | pears,5"],
    ["Make a table of names: Ann, Bob", "table no.,item | 1,Ann | 2,Bob"],
    ["make a table of red, green and blue", "table no.,item | 1,red | 2,green | 3,blue"],
    ["show me a table", FRUIT],
    ["Make a table: Q1 10, Q2 20", "table name,value | Q1,10 | Q2,20"],
    ["make a table with 3 columns: A, B, C", "table A,B,C"],
    ["Make a table:\nName | Age\nAnn | 31\nBob | 29", "table Name,Age | Ann,31 | Bob,29"],
    ["Make a table:\n| Name | Age |\n|---|---|\n| Ann | 31 |", "table Name,Age | Ann,31"],
    ["make a table: name, age | Ann, 31 | Bob, 29", "table name,age | Ann,31 | Bob,29"],
    ["表格：苹果 3，梨 5", "table 名称,数值 | 苹果,3 | 梨,5"],
    ["用表格显示 3 5 8", "table 序号,数值 | 1,3 | 2,5 | 3,8"],
    ["把苹果 3，梨 5 做成表格", "table 名称,数值 | 苹果,3 | 梨,5"],
    ["乘法表到2", "table ×,1,2 | 1,1,2 | 2,2,4"],
    ["帮我做个表", "table 水果,数量 | 苹果,3 | 梨,5 | 李子,8"],
  ])("tables: %s", (text, ...calls) => {
    expect(callsOf(text)).toEqual(calls);
  });

  it.each<[string, ...string[]]>([
    ["chart 3, 5, 8", "bar 1=3 2=5 3=8"],
    ["Plot 1 2 3 4", "bar 1=1 2=2 3=3 4=4"],
    ["bar chart of apples 3, pears 5", "bar apples=3 pears=5"],
    ["bar chart of 3 apples and 5 pears", "bar apples=3 pears=5"],
    ["show me a line chart of sales: Jan 3, Feb 5, Mar -4.5", "line sales: Jan=3 Feb=5 Mar=-4.5"],
    ["draw a pie chart: a 30%, b 70%", "pie a=30 b=70"],
    ["pie chart of a 1,200, b 3,400", "pie a=1200 b=3400"],
    ["chart 100,200,300", "bar 1=100 2=200 3=300"],
    ["show 3 5 8 as a line chart", "line 1=3 2=5 3=8"],
    ["bar chart of sales: Q1 10, Q2 20, Q3 15", "bar sales: Q1=10 Q2=20 Q3=15"],
    ["bar chart: week 1 5, week 2 8", "bar week 1=5 week 2=8"],
    ["bar chart of iPhone 15 30, iPhone 16 40", "bar iPhone 15=30 iPhone 16=40"],
    ["Bar chart: 2023 10, 2024 20", "bar 2023=10 2024=20"],
    ["chart of sales 2020: 10, 2021: 20", "bar sales 2020=10 2021=20"],
    ["chart of Q1: 10, Q2: 20", "bar Q1=10 Q2=20"],
    ["bar chart of temperatures: Mon 20°C, Tue 22 °C", "bar temperatures: Mon=20 Tue=22"],
    ["scatter plot of (1,2), (3,4)", "point 1=2 3=4"],
    ["bar chart: apples 3 pears 5", "bar apples=3 pears=5"],
    ["bar chart: a 1, b two, c 3", "bar a=1 c=3"],
    ["I would like a chart", "bar Jan=3 Feb=5 Mar=4 Apr=8"],
    ["画一个折线图：一月 3，二月 5", "line 一月=3 二月=5"],
    ["把苹果 3，梨 5 画成柱状图", "bar 苹果=3 梨=5"],
    ["饼图：苹果３，梨５", "pie 苹果=3 梨=5"],
    ["画个图表", "bar 一月=3 二月=5 三月=4 四月=8"],
  ])("charts: %s", (text, ...calls) => {
    expect(callsOf(text)).toEqual(calls);
  });

  it.each<[string, ...string[]]>([
    ["draw a red circle", "image a red circle"],
    ["Please draw a house", "image an orange house"],
    ["draw a red circle and a blue square", "image a red circle, a blue square"],
    ["show me a picture of a tree", "image a green tree"],
    ["draw a cat and a house", "image an orange house"],
    ["Draw two houses and three trees", "image 2 orange houses, 3 green trees"],
    ["draw a red and a blue circle", "image a red circle, a blue circle"],
    ["画两棵树和一个圆", "image 2 个绿色的树、蓝色的圆"],
    ["show me an image", `image ${EXAMPLE}`],
    ["画一个红色的圆", "image 红色的圆"],
    ["给我画个太阳和一棵树", "image 黄色的太阳、绿色的树"],
    ["给我看一张图片", "image 橙色的房子、绿色的树、黄色的太阳"],
  ])("images: %s", (text, ...calls) => {
    expect(callsOf(text)).toEqual(calls);
  });

  it.each<[string, string | undefined]>([
    ["bar chart: a 1, b two, c 3", "b two"],
    ["chart: a 1, b 2", undefined],
    ["draw a cat and a house", "a cat"],
    ["draw a half circle", "half"],
    ["Draw nine red houses", "nine"],
    ["draw a house, a tree, a sun, a star, a heart, a flower, a circle", "a blue circle"],
    ["draw a red and a blue circle please", undefined],
    ["Draw two houses and three trees", undefined],
    ["画一只猫和一个房子", "猫"],
    ["画一个红色的圆吧", undefined],
  ])("what it left out: %s", (text, left) => {
    const [task] = findTasks(text);
    const said = task?.describeResult("It is shown.")[/\p{Script=Han}/u.test(text) ? "zh" : "en"] ?? "";
    expect(said.split(/(?:left out|values): |没有画出?：/)[1]?.slice(0, -1)).toBe(left);
  });

  it("no user input in a picture", () => {
    const [call] = ask('draw a red circle"><script>alert(1)</script>').calls;
    expect(JSON.stringify(call)).not.toContain("script");
  });

  it("that a list is general, and that an example is one", () => {
    const answer = (text: string, tool: string): string =>
      answerPrompt(
        [
          user(text),
          { role: "assistant", content: [{ type: "tool-call", toolCallId: "c", toolName: tool, input: {} }] },
          {
            role: "tool",
            content: [
              { type: "tool-result", toolCallId: "c", toolName: tool, output: { type: "text", value: "It is shown." } },
            ],
          },
        ],
        TOOLS,
      ).text;
    expect(answer("Make a todo list for a party", "write_todo_list")).toBe(
      "Offline model: Here is the list “Party”, with 5 items. These are general suggestions; add your own items after a colon.",
    );
    expect(answer("make a todo list: milk", "write_todo_list")).toBe("Offline model: Here is the list, with 1 item.");
    expect(answer("show me a table", "show_table")).toContain("This is an example");
    expect(answer("画个图表", "show_chart")).toBe(
      "离线模型：已画好柱状图，共 4 个数据。这是示例数据，可以在冒号后写自己的数据。",
    );
    expect(answer("multiplication table up to 500", "show_table")).toContain("It stops at 20.");
  });
});

describe("the offline model handles several requests at once", () => {
  it.each<[string, ...string[]]>([
    ["make a todo list: milk, bread and what time is it?", "todo milk | bread", "current_time"],
    ["make a todo list and tell me what time it is", `todo ${PLAN}`, "current_time"],
    ["draw a house and calculate 2+3", "image an orange house", "calculator 2+3"],
    ["What is 2+3? Draw a star. Chart 1, 2.", "calculator 2+3", "image a yellow star", "bar 1=1 2=2"],
    ["write hi to a.txt and show me a table", "write_file a.txt hi", FRUIT],
    ["做一个表格：苹果 3，梨 5，然后现在几点？", "table 名称,数值 | 苹果,3 | 梨,5", "current_time"],
    // Items of a list and cells of a table are not tasks, and a list in a quotation is not one either.
    ["todo list: write hello to a.txt, delete b.txt", "todo write hello to a.txt | delete b.txt"],
    ["make a todo list: 2+2, 3*3", "todo 2+2 | 3*3"],
    ['write "todo list: milk" to a.txt', "write_file a.txt todo list: milk"],
    ["把“待办清单：牛奶”写入 a.txt", "write_file a.txt 待办清单：牛奶"],
  ])("%s", (text, ...calls) => {
    expect(callsOf(text)).toEqual(calls);
  });

  it("at most eight", () => {
    expect(callsOf("draw a star. ".repeat(20))).toHaveLength(8);
  });
});

describe("the offline model ignores", () => {
  it.each([
    "what is a todo list?",
    "I have a todo list",
    "my todo list is long",
    "todo list apps are bad",
    "how do I make a todo list?",
    "I don't want a todo list",
    "什么是待办清单？",
    "what is a table?",
    "book a table for two",
    "make a table for my kitchen",
    "show me the table of contents",
    "I like table tennis",
    "The multiplication table up to 5 is easy",
    "I made a table yesterday",
    "这个表格是什么意思？",
    "what is a bar chart?",
    "chart the course to Mars in 2030",
    "draw a graph of thoughts",
    "plot a murder",
    "The chart shows 3 things",
    // Something is given but not understood.
    "Show me a graph of the stock price of Apple in 2024",
    "make a chart with 3 bars",
    "draw a graph with 3 nodes",
    "chart of sales in 2023 and 2024",
    "chart of sales in 2023 and profits in 2024",
    "pie chart of 1/2, 1/4, 1/4",
    "Bar chart of apples 3.5, pears 5,5",
    "柱状图：苹果三，梨五",
    "bar chart: a 5k, b 3M",
    "bar chart: week 1 5 week 2 8",
    "make a table of 3 rows and 2 columns",
    "make a table with 3 columns",
    "别画房子",
    "他画的圆很好看",
    "动画片好看吗，花儿与少年",
    "She told me to draw a house",
    "My teacher said: draw a house",
    "how do I draw a circle?",
    "draw a conclusion from this",
    "看图说话",
    "don't ask me for approval",
    "do I need approval for this?",
    "I asked for permission",
    "需要我的批准吗",
    "请问我可以用吗",
    "one two three",
    "三月加班",
    "the work is done",
  ])("%s", (text) => {
    expect(callsOf(text)).toEqual([]);
    expect(ask(text).error).toBeUndefined();
  });
});

describe("the offline model, given any message", () => {
  const word = fc.constantFrom(
    ..."make a todo list: , and table of chart draw 画 一个 红色 圆 表格 ： 3 5.5 -2 apples 1,000 ; \n mark as done is show error 出 个 错 ask for approval first 先 同意 把 做成 折线图 two plus 三 加 五 . ? in x2 to a.txt write".split(
      " ",
    ),
  );
  const message = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.array(word, { maxLength: 40 }).map((words) => words.join(" ")),
    fc.array(word, { maxLength: 40 }).map((words) => words.join("")),
  );

  it("gives the same answer each time, with JSON arguments", () => {
    fc.assert(
      fc.property(message, (text) => {
        const first = ask(text);
        expect(ask(text)).toEqual(first);
        expect(first.text !== "" || first.calls.length > 0).toBe(true);
        for (const { name, input } of first.calls) {
          expect(TOOLS.some((tool) => tool.name === name)).toBe(true);
          expect(JSON.parse(JSON.stringify(input))).toEqual(input);
        }
      }),
      { numRuns: 300 },
    );
  });

  it.each(
    [
      " ",
      "\n",
      "把",
      "画",
      "make a ",
      "make a table of ",
      "todo list: ",
      "show a in ",
      "put 1 in a ",
      "chart 1 ",
      "a 1 ",
      "1,",
      "三加",
      "two plus ",
      "((1+",
      "mark ",
      "is done ",
      "ask for ",
      "出个错",
      "an error ",
      "write ",
    ].map((part) => [part]),
  )("reads 100,000 characters of %j quickly", (part) => {
    const text = part.repeat(Math.ceil(100_000 / part.length));
    ask(text);
  });
});

describe("a tool that the message names", () => {
  const dice = {
    name: "roll_dice",
    description: "Rolls a die.",
    inputSchema: { type: "object", properties: { sides: { type: "integer" } } },
  };
  const echo = {
    name: "echo",
    description: "Repeats.",
    inputSchema: { type: "object", properties: { text: { type: "string" } } },
  };
  const callsWith = (text: string) => answerPrompt([user(text)], [...TOOLS, dice, echo]).calls;

  it.each([
    ["Call roll_dice with 20 sides", { name: "roll_dice", input: { sides: 20 } }],
    ['Please use the tool roll_dice {"sides": 8}', { name: "roll_dice", input: { sides: 8 } }],
    ["调用 roll_dice，12 面", { name: "roll_dice", input: { sides: 12 } }],
    ["Use the tool echo: hello there", { name: "echo", input: { text: "hello there" } }],
  ])("is called: %s", (text, call) => {
    expect(callsWith(text)).toEqual([call]);
  });

  it("is not called if it is only mentioned, or another skill knows it", () => {
    expect(callsWith("How do I call roll_dice?")).toEqual([]);
    expect(callsWith("Use show_table to make a table of 3 5 8").map(({ name }) => name)).toEqual(["show_table"]);
  });

  it("is listed as an ability", () => {
    expect(answerPrompt([user("What can you do?")], [dice]).text).toContain("Call the tool roll_dice");
  });
});
