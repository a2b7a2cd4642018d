import { expect, it } from "vitest";
import { detectLanguage } from "./detect-language.ts";

it.each([
  ["", "en"],
  ["What is 6 × 7?", "en"],
  ["你好", "zh"],
  ["帮我翻译 internationalization", "zh"],
  ["用 docker compose 部署应用", "zh"],
  ["What does 你好 mean?", "en"],
  ["東京の天気を教えてください", "en"],
  [`${"a ".repeat(5000)}你好`, "en"],
])("detects the language of %j", (text, language) => {
  expect(detectLanguage(text)).toBe(language);
});
