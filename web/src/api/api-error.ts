/** What went wrong between the page and its server, with a code to tell it by. Its message is for people. */
export class ApiError extends Error {
  /** The server's, or `connection_lost`, `aborted`, `bad_answer` of our own. */
  readonly code: string;
  /** The server's name for this one refusal, to ask about it: its log has the rest. */
  readonly id: string | undefined;

  constructor(code: string, message: string, { id, ...options }: ErrorOptions & { readonly id?: string } = {}) {
    super(message, options);
    this.name = "ApiError";
    this.code = code;
    this.id = id;
  }
}

export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly id?: string;
}

/** Of whatever was thrown, what may be shown. */
export function describeFailure(error: unknown): Failure {
  if (error instanceof ApiError) {
    const { code, message, id } = error;
    return { code, message, ...(id === undefined ? {} : { id }) };
  }
  return { code: "page_error", message: error instanceof Error ? error.message : String(error) };
}

/** In one line. */
export function tellFailure(error: unknown): string {
  const { message, id } = describeFailure(error);
  return id === undefined ? message : `${message} (${id})`;
}

/** The problem in the body of an answer that is none of 200 to 299. */
export function readApiError(status: number, text: string): ApiError {
  const body = parse(text);
  if (typeof body === "object" && body !== null) {
    const { code, detail, id } = body as { readonly [name in "code" | "detail" | "id"]?: unknown };
    if (typeof code === "string" && typeof detail === "string")
      return new ApiError(code, detail, typeof id === "string" ? { id: id.slice(0, MAX_ID) } : {});
  }
  // Not the words of our server, but of something before it.
  return new ApiError("bad_answer", `HTTP ${status}`);
}

const MAX_ID = 100;

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
