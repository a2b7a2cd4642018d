/**
 * Where somebody says who they are, by a token. It is in the field until it is sent and nowhere else: not in the state of
 * the page, not in what the browser keeps for it.
 */
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Button, Spinner, useWords } from "loom-agent/react";
import type { Failure } from "../api/api-error.ts";
import { usePage, usePageState } from "../shell/page-context.tsx";
import type { AccessState } from "../store/access.ts";
import type { PageState } from "../store/page-state.ts";
import { ACCESS_WORDS } from "./access-words.ts";

const selectAccess = ({ access }: PageState): AccessState => access;
/** A JWT may be long. */
const MAX_CHARACTERS = 16_384;
const COMMAND = "loom token create NAME";

export function SignIn(): ReactNode {
  const words = useWords(ACCESS_WORDS);
  const page = usePage();
  const { reason, isBusy, trouble } = usePageState(selectAccess);
  const [isEmpty, setEmpty] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    document.title = `${words.title} – Loom`;
  }, [words]);
  useEffect(() => field.current?.focus(), []);
  // What was wrong is typed over.
  useEffect(() => {
    if (trouble !== undefined) field.current?.select();
  }, [trouble]);
  const error = isEmpty ? words.empty : trouble === undefined ? undefined : tellTrouble(trouble, words);
  return (
    <form
      className="page-sign-in"
      aria-labelledby="page-sign-in-title"
      onSubmit={(event) => {
        event.preventDefault();
        const credential = field.current?.value.trim() ?? "";
        setEmpty(credential === "");
        if (credential === "") field.current?.focus();
        else void page.signIn(credential);
      }}
    >
      <h1 id="page-sign-in-title">{words.title}</h1>
      <p id="page-sign-in-reason">{reason === undefined ? words.intro : words[reason]}</p>
      <label htmlFor="page-token">{words.token}</label>
      <input
        ref={field}
        id="page-token"
        type="password"
        className="page-field"
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={MAX_CHARACTERS}
        aria-invalid={error !== undefined}
        aria-describedby="page-sign-in-reason page-sign-in-error page-sign-in-hint"
        onChange={() => setEmpty(false)}
      />
      <p id="page-sign-in-error" className="page-sign-in-error" role="alert">
        {error}
      </p>
      <Button isSubmit look="primary" disabled={isBusy}>
        {isBusy ? <Spinner /> : null}
        {isBusy ? words.entering : words.enter}
      </Button>
      <p id="page-sign-in-hint" className="page-soft">
        {words.hint} <code>{COMMAND}</code>
        <br />
        {words.kept}
      </p>
    </form>
  );
}

function tellTrouble({ code, message, id }: Failure, words: (typeof ACCESS_WORDS)["en"]): string {
  if (code === "unauthorized") return words.wrong;
  if (code === "rate_limited") return words.tooOften;
  return words.failed(id === undefined ? message : `${message} (${id})`);
}
