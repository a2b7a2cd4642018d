// The start page: its policy allows its own script and style and nothing else, and it speaks the language asked for.
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { chooseLanguage, createStartPage } from "./start-page.ts";

const ask = (language = ""): Response =>
  createStartPage({ model: 'a<b>&"c' })(new Request("http://x/", { headers: { "accept-language": language } }));

describe("the start page", () => {
  it("names the hash of its only script and of its only style", async () => {
    const response = ask();
    const html = await response.text();
    const policy = response.headers.get("content-security-policy") ?? "";
    for (const tag of ["script", "style"]) {
      const found = [...html.matchAll(new RegExp(`<${tag}>(?<text>[^]*?)</${tag}>`, "g"))];
      expect(found).toHaveLength(1);
      const hash = createHash("sha256")
        .update(found[0]?.groups?.["text"] ?? "")
        .digest("base64");
      expect(policy).toContain(`${tag}-src 'sha256-${hash}'`);
    }
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain("unsafe");
    expect(html).not.toMatch(/\s(?:on\w+|style|src|href)=/);
  });

  it("shows the model as text", async () => {
    expect(await ask().text()).toContain('data-model="a&#60;b&#62;&#38;&#34;c"');
  });

  it.each([
    ["zh-CN,zh;q=0.9,en;q=0.8", "zh"],
    ["en-GB,en;q=0.9,zh;q=0.8", "en"],
    ["fr,zh;q=0.5", "zh"],
    ["en;q=0.1,zh-TW;q=0.2", "zh"],
    ["fr", "en"],
    ["", "en"],
    ["zh;q=0", "en"],
    ["zh;q=x", "en"],
  ])("for %j speaks %s", (accepted, language) => {
    expect(chooseLanguage(accepted)).toBe(language);
  });
});
