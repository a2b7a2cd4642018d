/**
 * The messages that the offline model must answer with more than the sentence about itself: the suggestions of the page,
 * the programs and commands of README, docs and examples, and one message for each built-in tool.
 */
import type { AgentOptions } from "../../src/agents/index.ts";
import { SUGGESTED_PROMPTS } from "../agents/suggested-prompts.ts";

export interface DemoPrompt {
  readonly says: string;
  readonly agent?: AgentOptions;
  /** What the answer says. */
  readonly answer: RegExp;
  /** The tools that are called, in order. */
  readonly tools?: readonly string[];
  /** Whether the run fails, as the message asks. */
  readonly fails?: boolean;
  /** Whether the passages are found before the model is called. */
  readonly retrieves?: boolean;
}

const TOT = { kind: "tot" } as const;
const GOT = { kind: "got" } as const;
const AGOT = { kind: "got", adaptive: true } as const;

export const DEMO_PROMPTS: readonly DemoPrompt[] = [
  // The suggestions of the page.
  ...Object.values(SUGGESTED_PROMPTS.plan).map((says) => ({
    says,
    answer: /8\+20\+12 = 40/,
    tools: ["write_todo_list", "show_chart", "calculator"],
  })),
  ...Object.values(SUGGESTED_PROMPTS.tree).map((says) => ({ says, agent: TOT, answer: /5 \* \(5 - 1 \/ 5\) = 24/ })),
  ...Object.values(SUGGESTED_PROMPTS.graph).map((says) => ({ says, agent: GOT, answer: /example|示例/ })),
  ...Object.values(SUGGESTED_PROMPTS.expansion).map((says) => ({ says, agent: AGOT, answer: /example|示例/ })),
  ...Object.values(SUGGESTED_PROMPTS.approval).map((says) => ({
    says,
    answer: /7006652/,
    tools: ["ask_consent", "calculator"],
  })),
  // README, docs and examples.
  ...["What is 17*23?", "17*23 等于多少？"].map((says) => ({ says, answer: /17\*23 = 391/, tools: ["calculator"] })),
  ...["What is 6*7?", "6*7 等于多少？"].map((says) => ({ says, answer: /6\*7 = 42/, tools: ["calculator"] })),
  { says: "What is 6*8?", answer: /= 48/, tools: ["calculator"] },
  { says: "What is 6 times 7?", answer: /6\*7 = 42/, tools: ["calculator"] },
  ...["What is 6*7, and what time is it in Tokyo?", "6*7 等于多少？东京现在几点？"].map((says) => ({
    says,
    answer: /42.*Asia\/Tokyo/,
    tools: ["calculator", "current_time"],
  })),
  { says: "What is 17*23, and what time is it?", answer: /391/, tools: ["calculator", "current_time"] },
  {
    says: "What is 6*7, and what time is it in Tokyo? Write the result to answer.txt",
    answer: /Wrote answer.txt/,
    tools: ["calculator", "current_time", "write_file"],
  },
  ...["Game of 24: 4 9 10 13", "24 点：4 9 10 13"].flatMap((says) => [
    { says, agent: TOT, answer: / = 24/ },
    { says, answer: / = 24/ },
  ]),
  { says: "Game of 24: 3 3 8 8", agent: TOT, answer: /8 \/ \(3 - 8 \/ 3\) = 24/ },
  { says: "Compare tea and coffee", agent: AGOT, answer: /### About coffee\n\nExample: / },
  { says: "Compare tea, coffee and fail on purpose", agent: GOT, answer: /example/ },
  { says: "Write a report on tea", agent: AGOT, answer: /Report on tea/ },
  ...["Hello", "你好"].map((says) => ({ says, answer: /Hello|你好/ })),
  ...["Tell me a joke", "讲个笑话"].map((says) => ({ says, answer: /Dec 25/ })),
  { says: "How do I deploy it?", answer: /From “Deployment” \[1\]:\n\n1\. Install/, tools: ["search_knowledge_base"] },
  { says: "What does rye bread need?", answer: /From “Bread” \[1\]:\n\nRye bread/, retrieves: true },
  { says: "黑麦面包要多久？", answer: /来自“面包”\[1\]：\n\n黑麦/, retrieves: true },
  { says: "Why do tides come twice a day?", answer: /From “Tides” \[1\]/, retrieves: true },
  { says: "Call roll_dice with 20", answer: /roll_dice: 20/, tools: ["roll_dice"] },
  { says: "Call remove_file with notes.txt", answer: /remove_file: notes.txt/, tools: ["remove_file"] },
  {
    says: "Ask me for approval, then search the files for spec",
    answer: /Matches:/,
    tools: ["ask_consent", "search_files"],
  },
  // One message for each built-in tool, in both languages.
  ...["Make a todo list: milk, bread", "待办清单：牛奶、面包"].map((says) => ({
    says,
    answer: /with 2 items|共 2 项/,
    tools: ["write_todo_list"],
  })),
  ...["Make a table: name, age; Ann, 31; Bob, 29", "表格：姓名，年龄；安，31；鲍勃，29"].map((says) => ({
    says,
    answer: /with 2 rows|共 2 行/,
    tools: ["show_table"],
  })),
  ...["Bar chart of apples 3, pears 5", "折线图：一月 3，二月 5"].map((says) => ({
    says,
    answer: /with 2 values|共 2 个数据/,
    tools: ["show_chart"],
  })),
  ...["Draw a red circle", "画一个红色的圆"].map((says) => ({
    says,
    answer: /a red circle|红色的圆/,
    tools: ["show_image"],
  })),
  ...["What time is it in Tokyo?", "现在北京几点？"].map((says) => ({
    says,
    answer: /Asia\//,
    tools: ["current_time"],
  })),
  ...["Ask me for approval", "先征求我的同意"].map((says) => ({
    says,
    answer: /Approved|已同意/,
    tools: ["ask_consent"],
  })),
  ...["Write hello to notes.txt and read it", "把“你好”写入 notes.txt"].map((says) => ({
    says,
    answer: /Wrote notes.txt|已写入 notes.txt/,
    tools: says.includes("read") ? ["write_file", "read_file"] : ["write_file"],
  })),
  ...["Delete old.txt", "删除 old.txt"].map((says) => ({ says, answer: /old\.txt/, tools: ["delete_file"] })),
  ...["List the files", "列出文件"].map((says) => ({ says, answer: /old\.txt/, tools: ["list_files"] })),
  ...["Search the files for hello", "在文件中搜索 hello"].map((says) => ({
    says,
    answer: /Matches|匹配结果/,
    tools: ["search_files"],
  })),
  ...["What is Loom?", "Loom 是什么？", "帮我查一下审批"].map((says) => ({
    says,
    answer: /From “Deployment” \[1\]|来自“部署指南”\[2\]/,
    tools: ["search_knowledge_base"],
  })),
  ...["Search the deployment docs and make a checklist", "帮我搜索部署文档，然后创建一个部署清单"].map((says) => ({
    says,
    answer: /quoted from the document|均为文档原文/,
    tools: ["search_knowledge_base", "write_todo_list"],
  })),
  ...["Cause an error", "出个错"].map((says) => ({
    says,
    answer: /the error you asked for|这就是你要的错误/,
    fails: true,
  })),
  // Anything else, to the agents that search.
  { says: "How should we name the team?", agent: TOT, answer: /fixed example/ },
  { says: "团队叫什么名字好？", agent: GOT, answer: /固定示例/ },
];
