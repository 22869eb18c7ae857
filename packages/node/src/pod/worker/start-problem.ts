/** Why a container could not be started, in the words of its status. */
export class StartProblem extends Error {
  readonly reason: string;
  /** What the status says from the next look on. */
  readonly later?: { readonly reason: string; readonly message: string };

  constructor(reason: string, message: string, later?: { reason: string; message: string }, options?: ErrorOptions) {
    super(message, options);
    this.name = "StartProblem";
    this.reason = reason;
    if (later !== undefined) this.later = later;
  }
}
