import type { Pod } from "@fjord/kube";
import type { ImageStatus } from "../../runtime/index.ts";
import { type PodContainer, podText } from "../pod-containers.ts";

/** Why a container that must not run as root would; undefined where it may run. */
export function rootProblem(pod: Pod, container: PodContainer, image: ImageStatus): string | undefined {
  const whole = pod.spec?.securityContext ?? {};
  const own = container.spec.securityContext ?? {};
  if (!(own.runAsNonRoot ?? whole.runAsNonRoot ?? false)) return undefined;
  const where = `(pod: "${podText(pod)}", container: ${container.name})`;
  const user = own.runAsUser ?? whole.runAsUser;
  if (user !== undefined) {
    return user === 0 ? `container's runAsUser breaks non-root policy ${where}` : undefined;
  }
  if (image.userName) {
    const name = image.userName;
    return `container has runAsNonRoot and image has non-numeric user (${name}), cannot verify user is non-root ${where}`;
  }
  return (image.uid ?? 0) === 0 ? `container has runAsNonRoot and image will run as root ${where}` : undefined;
}
