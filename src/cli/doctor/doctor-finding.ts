/** The result of one check of `loom doctor`. */
export interface DoctorFinding {
  readonly check: string;
  readonly status: "ok" | "warning" | "failed";
  readonly message: string;
  /** What to do. */
  readonly advice?: string;
}
