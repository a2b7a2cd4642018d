/** What somebody is told who has to say who they are. It says nothing of what was wrong with what they have shown. */
import { LoomError } from "../../protocol/index.ts";

export function unauthorized(isShown: boolean): LoomError {
  return new LoomError(
    "unauthorized",
    isShown
      ? "what was shown to come in is no good: it is unknown, used up, over, or meant for something else"
      : "say who you are: with `Authorization: Bearer` and a token, or by signing in",
  );
}
