/** Checks the titles that users give to sessions. */
import { LoomError } from "../../protocol/index.ts";

/** Returns the title as one line. Lists would show a title without a visible character as an empty row. */
export function readTitle({ title }: { readonly title?: string }): { readonly title?: string } {
  if (title === undefined) return {};
  if (!/[^\s\p{Cc}\p{Default_Ignorable_Code_Point}]/u.test(title))
    throw new LoomError("invalid_name", "A title must have a visible character");
  return { title: title.replaceAll(/[\s\p{Cc}]+/gu, " ").trim() };
}
