/** The languages that the demo model speaks. */

export type DemoLanguage = "en" | "zh";

/** Chooses the text in the language of the user. */
export type Say = (en: string, zh: string) => string;

export function speak(language: DemoLanguage): Say {
  return (en, zh) => (language === "zh" ? zh : en);
}

/** Chinese if there is any, except in a sentence that begins in English: "What does 你好 mean?" */
export function readLanguage(text: string): DemoLanguage {
  return isChinese(text) && !/^\s*[a-z']+ [a-z]/i.test(text) ? "zh" : "en";
}

export function isChinese(text: string): boolean {
  return /\p{Script=Han}/u.test(text);
}
