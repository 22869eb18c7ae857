import { group } from "@fjord/api";
import type { Clock } from "@fjord/base";
import { CaptureDenied } from "@fjord/continuum/gateway";
import { type Impersonation, type KubeClient, SubjectAccessReview } from "@fjord/kube";
import { provenUser } from "./proven-user.ts";

export const CAPTURE = "network-capture";
/** What it takes on the Link of a peer. */
export const CAPTURE_VERB = "capture";

/** Nobody is asked for what can be none. */
const isCode = (text: string) => /^[\w-]{43}$/.test(text);

export interface CaptureAccessOptions {
  readonly client: Pick<KubeClient, "get" | "create">;
  readonly clock: Clock;
}

/** Finds out who asks to see packets of a link, and whether the site's own RBAC lets them. */
export class CaptureAccess {
  readonly #options: CaptureAccessOptions;

  constructor(options: CaptureAccessOptions) {
    this.#options = options;
  }

  /** The user's name. Of several nodes that carry a link each is asked, so that a code is good more than once while it is young. */
  async whoMay(code: string, siteId: string): Promise<string> {
    const { client, clock } = this.#options;
    const denied = (reason: string) => new CaptureDenied({ site: siteId, reason });
    const proven = isCode(code) ? await provenUser(client, CAPTURE, code, { clock }) : undefined;
    if (!proven?.isFresh) throw denied("who asks has not shown who that is, or too long ago");
    const { user } = proven.who;
    if (!(await this.#isAllowed(proven.who, siteId)))
      throw denied(`${user} may not: RBAC has no rule that lets them ${CAPTURE_VERB} links`);
    return user;
  }

  async #isAllowed({ user, groups = [] }: Impersonation, siteId: string): Promise<boolean> {
    const resourceAttributes = { group, resource: "links", verb: CAPTURE_VERB, name: siteId };
    const review: SubjectAccessReview = {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      metadata: {},
      spec: { user, groups: [...groups], resourceAttributes },
    };
    const { status } = await this.#options.client.create(SubjectAccessReview, review);
    return status?.allowed === true;
  }
}
