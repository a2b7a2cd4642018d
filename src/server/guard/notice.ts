/**
 * What whoever runs a server may want to know of those it turned away, and whoever was turned away is not told: the
 * option that would let them in.
 */
export interface Notice {
  readonly what: "host_refused" | "origin_refused";
  /** The name by which the server was asked, or the origin of the page that did; cut. */
  readonly name: string;
  readonly option: "hosts" | "origins";
  /** What the option would have to have in addition; undefined where nothing can allow it. */
  readonly allow?: string | undefined;
}

export type Notify = (notice: Notice) => void;
