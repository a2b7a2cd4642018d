/** The words around the box that messages are written in. */
import { defineWords } from "loom-agent/react";

export const COMPOSER_WORDS = defineWords({
  en: {
    form: "Write a message",
    placeholder: "Ask something…",
    message: "Message",
    send: "Send",
    queue: "Queue",
    queueHint: "It is sent when the run is over",
    failedHint: "A file did not go up: try it again or remove it first",
    stop: "Stop",
    stopping: "Stopping…",
    attach: "Attach files",
    attachments: "Attached files",
    remove: (name: string) => `Remove ${name}`,
    uploading: (name: string) => `${name} is going up`,
    uploadAgain: (name: string) => `Try again: ${name}`,
    agent: (name: string) => `Agent: ${name}`,
    model: (name: string) => `Model: ${name}`,
    offline: "Offline model",
    offlineText:
      "It answers by rules, without a network: good for a look around, not for real questions. For a language model, set one of these variables and start the server again:",
    chooseModel:
      "It answers by rules, without a network: good for a look around, not for real questions. For a language model, choose one above.",
    noKeys: "It answers by rules, without a network. Start the server with another model to have real answers.",
    waiting: "Messages that wait",
    sending: "Sending…",
    queued: "Waits for its turn",
    withdrawing: "Withdrawing…",
    failed: "Not sent",
    withdraw: "Withdraw",
    discard: "Discard",
    again: "Try again",
    react: "ReAct",
    reactText: "Thinks, calls tools, answers",
    tot: "Tree of thoughts",
    totText: "Tries several ways, keeps the best, turns back from dead ends",
    got: "Graph of thoughts",
    gotText: "Divides the task, works side by side, brings it together",
    agot: "Adaptive graph",
    agotText: "As the graph, and divides further what turns out to be hard",
  },
  zh: {
    form: "撰写消息",
    placeholder: "想问点什么？",
    message: "消息",
    send: "发送",
    queue: "排队",
    queueHint: "本次运行结束后发送",
    failedHint: "有文件未能上传：请先重试或移除",
    stop: "停止",
    stopping: "正在停止…",
    attach: "添加文件",
    attachments: "已添加的文件",
    remove: (name: string) => `移除 ${name}`,
    uploading: (name: string) => `正在上传 ${name}`,
    uploadAgain: (name: string) => `重试：${name}`,
    agent: (name: string) => `智能体：${name}`,
    model: (name: string) => `模型：${name}`,
    offline: "离线模型",
    offlineText:
      "它按规则回答，不联网：适合随便看看，不适合真正的问题。要使用语言模型，请设置以下任一环境变量并重启服务：",
    chooseModel: "它按规则回答，不联网：适合随便看看，不适合真正的问题。要使用语言模型，请在上面选择一个。",
    noKeys: "它按规则回答，不联网。换一个模型启动服务，才能得到真正的回答。",
    waiting: "等待中的消息",
    sending: "正在发送…",
    queued: "排队中",
    withdrawing: "正在撤回…",
    failed: "未发送",
    withdraw: "撤回",
    discard: "丢弃",
    again: "重试",
    react: "ReAct",
    reactText: "思考、调用工具、作答",
    tot: "思维树",
    totText: "尝试多条思路，保留最好的，遇到死路就回头",
    got: "思维图",
    gotText: "拆分任务，并行处理，再汇总结果",
    agot: "自适应思维图",
    agotText: "在思维图的基础上，继续拆分遇到的难题",
  },
});

const KINDS = ["react", "tot", "got", "agot"] as const;

type KindWords = { readonly [K in (typeof KINDS)[number] | `${(typeof KINDS)[number]}Text`]: string };

/** An agent of another kind is called what its server calls it. */
export function nameKind(
  words: KindWords,
  choice: { readonly name: string; readonly kind: string; readonly description: string | undefined },
): { readonly label: string; readonly description: string | undefined } {
  const kind = KINDS.find((one) => one === choice.kind);
  if (kind === undefined || choice.name !== kind) return { label: choice.name, description: choice.description };
  return { label: words[kind], description: words[`${kind}Text`] };
}
