/** A rejected request, reported to the operator but not to the client, with the option that would allow it. */
export interface Notice {
  readonly kind: "host_refused" | "origin_refused";
  /** The rejected host or origin, truncated. */
  readonly name: string;
  /** The server option that can allow it. */
  readonly option: "hosts" | "origins";
  /** Value to add to the option; undefined if no value can allow it. */
  readonly allow?: string | undefined;
}

/** Receives notices of rejected requests. */
export type Notify = (notice: Notice) => void;
