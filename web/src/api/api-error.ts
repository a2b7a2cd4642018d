/** What went wrong between the page and its server, with a code to tell it by. Its message is for people. */
export class ApiError extends Error {
  /** The server's, or `connection_lost`, `aborted`, `bad_answer` of our own. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ApiError";
    this.code = code;
  }
}

/** Of whatever was thrown, what may be shown. */
export function describeFailure(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof ApiError) return { code: error.code, message: error.message };
  return { code: "page_error", message: error instanceof Error ? error.message : String(error) };
}

/** The refusal in the body of an answer that is none of 200 to 299. */
export function readApiError(status: number, text: string): ApiError {
  const body = parse(text);
  if (typeof body === "object" && body !== null) {
    const { code, message } = body as { readonly code?: unknown; readonly message?: unknown };
    if (typeof code === "string" && typeof message === "string") return new ApiError(code, message);
  }
  // Not the words of our server, but of something before it.
  return new ApiError("bad_answer", `HTTP ${status}`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
