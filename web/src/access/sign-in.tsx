/**
 * Sign-in form.
 *
 * Invariant: the token exists only in the input field until it is sent. It is not in the page state and not in browser
 * storage.
 */
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Button, Spinner, useWords } from "../../../src/react/page-parts.ts";
import type { ApiFailure } from "../api/api-error.ts";
import { usePage, usePageState } from "../shell/page-context.tsx";
import { ACCESS_WORDS } from "./access-words.ts";

/** Long enough for a JWT. */
const MAX_CHARACTERS = 16_384;
const COMMAND = "loom token create NAME";

export function SignIn(): ReactNode {
  const words = useWords(ACCESS_WORDS);
  const page = usePage();
  const { reason, isBusy, failure } = usePageState(({ access }) => access);
  const [isEmpty, setEmpty] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    document.title = `${words.title} – Loom`;
  }, [words]);
  useEffect(() => field.current?.focus(), []);
  useEffect(() => {
    if (failure !== undefined) field.current?.select();
  }, [failure]);
  const error = isEmpty ? words.empty : failure === undefined ? undefined : describeSignInFailure(failure, words);
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
      <Button isSubmit variant="primary" disabled={isBusy}>
        {isBusy ? <Spinner /> : null}
        {isBusy ? words.signingIn : words.signIn}
      </Button>
      <p id="page-sign-in-hint" className="page-soft">
        {words.hint} <code>{COMMAND}</code>
        <br />
        {words.cookieNote}
      </p>
    </form>
  );
}

function describeSignInFailure({ code, message, id }: ApiFailure, words: (typeof ACCESS_WORDS)["en"]): string {
  if (code === "unauthorized") return words.invalid;
  if (code === "rate_limited") return words.rateLimited;
  return words.failed(id === undefined ? message : `${message} (${id})`);
}
