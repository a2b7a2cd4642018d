/** A failed request: an error code, a message for users, and the server's error ID if there is one. */
export class ApiError extends Error {
  /** Code of the server, or one of the page: `connection_lost`, `aborted`, `bad_answer`. */
  readonly code: string;
  /** ID of this error in the server's log. */
  readonly id: string | undefined;

  constructor(code: string, message: string, { id, ...options }: ErrorOptions & { readonly id?: string } = {}) {
    super(message, options);
    this.name = "ApiError";
    this.code = code;
    this.id = id;
  }
}

export interface ApiFailure {
  readonly code: string;
  readonly message: string;
  readonly id?: string;
}

/** Converts any thrown value to a failure that can be shown. */
export function describeFailure(error: unknown): ApiFailure {
  if (error instanceof ApiError) {
    const { code, message, id } = error;
    return { code, message, ...(id === undefined ? {} : { id }) };
  }
  return { code: "page_error", message: error instanceof Error ? error.message : String(error) };
}

/** Formats any thrown value as one line. */
export function formatFailure(error: unknown): string {
  const { message, id } = describeFailure(error);
  return id === undefined ? message : `${message} (${id})`;
}

/** Reads the problem details of an error response. */
export function readApiError(status: number, text: string): ApiError {
  const body = parse(text);
  if (typeof body === "object" && body !== null) {
    const { code, detail, id } = body as { readonly [name in "code" | "detail" | "id"]?: unknown };
    if (typeof code === "string" && typeof detail === "string")
      return new ApiError(code, detail, typeof id === "string" ? { id: id.slice(0, MAX_ID) } : {});
  }
  // The response is from a proxy, not from our server.
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
