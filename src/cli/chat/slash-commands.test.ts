import { describe, expect, it } from "vitest";
import { listCompletions, readSlashInput } from "./slash-commands.ts";

describe("readSlashInput", () => {
  it.each([
    ["/open  abc ", { kind: "command", name: "open", argument: "abc" }],
    ["/quit", { kind: "command", name: "quit", argument: "" }],
    ["/agent", { kind: "command", name: "agent", argument: "" }],
    ["/tre", { kind: "error", message: "unknown command /tre; did you mean /tree?" }],
    ["/hlep", { kind: "error", message: "unknown command /hlep; did you mean /help?" }],
    ["/zzzzzzzz", { kind: "error", message: "unknown command /zzzzzzzz; /help lists the commands" }],
    ["/open", { kind: "error", message: "/open needs ID" }],
    ["/stop now", { kind: "error", message: "/stop takes no argument" }],
    ["/etc/hosts is a file", undefined],
    ["//quit", undefined],
    ["what is /quit", undefined],
    ["/title a\nb", undefined],
  ])("reads %j", (text, expected) => {
    expect(readSlashInput(text)).toEqual(expected);
  });
});

it("completes the command that is being written", () => {
  expect(listCompletions("/t").map(({ name }) => name)).toEqual(["title", "tree"]);
  expect(listCompletions("/").length).toBeGreaterThan(10);
  expect(listCompletions("/open x")).toEqual([]);
  expect(listCompletions("text /")).toEqual([]);
});
