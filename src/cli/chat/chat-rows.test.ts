import { expect, it } from "vitest";
import { composeChatRows } from "./chat-rows.ts";
import { InputEditor } from "./input-editor.ts";

it("marks a long input where rows are hidden", () => {
  const editor = new InputEditor();
  for (let line = 1; line <= 20; line++) editor.insert(line === 1 ? "line 1" : `\nline ${line}`);
  const compose = (): readonly string[] =>
    composeChatRows({
      width: 40,
      height: 30,
      paint: (_style, text) => text,
      turnRows: [],
      liveTurn: undefined,
      waiting: [],
      title: "react",
      notice: undefined,
      prompt: "› ",
      input: (width) => editor.layOut(width),
      completions: [],
      files: [],
      now: 0,
    }).rows;
  const [, first, second, ...others] = compose();
  expect([first, second, others.at(-1)]).toEqual(["↑ line 13", "  line 14", "  line 20"]);
  for (let row = 0; row < 19; row++) editor.moveRow(-1, 40);
  const [, top, ...below] = compose();
  expect([top, below.at(-1)]).toEqual(["› line 1", "↓ line 8"]);
});
