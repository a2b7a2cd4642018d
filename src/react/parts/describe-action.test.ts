import { describe, expect, it } from "vitest";
import { ACTION_WORDS, describeAction } from "./describe-action.ts";

const { en, zh } = ACTION_WORDS;

describe("describeAction", () => {
  it("says what the built-in tools will do, in both languages", () => {
    expect(describeAction("write_file", { path: "a.md", content: "# A" }, en)).toEqual({
      sentence: en.writeFile,
      subject: "a.md",
      icon: "file",
      preview: { label: "Content", text: "# A" },
    });
    expect(describeAction("write_file", { path: "a.md", content: "# A" }, en, true)).toEqual({
      sentence: "Changes this file.",
      subject: "a.md",
      icon: "file",
    });
    expect(describeAction("delete_file", { path: "a.md" }, zh)).toMatchObject({ sentence: zh.deleteFile });
    expect(describeAction("calculator", { expression: "1+1" }, zh)).toMatchObject({ subject: "1+1" });
    expect(describeAction("ask_consent", { question: "Go on?" }, en)).toEqual({ subject: "Go on?", isQuestion: true });
  });

  it("tells requests that send data from those that only read", () => {
    const url = "https://example.org/";
    expect(describeAction("http_fetch", { url, method: "GET" }, en)).toMatchObject({ sentence: en.open, subject: url });
    expect(describeAction("http_fetch", { url, method: "POST", body: "a=1", content_type: "text/plain" }, en)).toEqual({
      sentence: "Sends a POST request to this address.",
      subject: url,
      icon: "link",
      preview: { label: "Data (text/plain)", text: "a=1" },
    });
  });

  it("describes no call with an argument that it would not show", () => {
    expect(describeAction("write_file", { path: "a", content: "b", mode: "0777" }, en)).toBeUndefined();
    expect(describeAction("write_file", { path: "a" }, en)).toBeUndefined();
    expect(describeAction("delete_file", { path: ["a"] }, en)).toBeUndefined();
    for (const tool of ["remove", "constructor", "__proto__"]) expect(describeAction(tool, {}, en)).toBeUndefined();
  });
});
