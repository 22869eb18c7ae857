/** How one try of a probe went. */
export interface ProbeResult {
  /** "error": the try itself failed, which tells nothing of the container. */
  readonly outcome: "success" | "failure" | "error";
  /** For the event, and where a try succeeded with a reservation. */
  readonly message: string;
}

export const success: ProbeResult = { outcome: "success", message: "" };

export function failure(message: string): ProbeResult {
  return { outcome: "failure", message };
}

/** Longer output says no more. */
export const LONGEST_OUTPUT = 10 * 1024;
