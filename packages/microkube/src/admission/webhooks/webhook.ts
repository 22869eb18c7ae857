import type { MutatingWebhookConfiguration, ValidatingWebhookConfiguration } from "@fjord/kube";

type Mutating = NonNullable<MutatingWebhookConfiguration["webhooks"]>[number];
type Validating = NonNullable<ValidatingWebhookConfiguration["webhooks"]>[number];

/** One webhook of a configuration, with what tells it from all others. */
export interface Webhook {
  /** `configuration/index`. */
  readonly id: string;
  readonly hook: Mutating | Validating;
}

/** The webhook was not reached, or has answered nonsense: its failure policy says what that means. */
export class WebhookFailure extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.name = "WebhookFailure";
  }
}
