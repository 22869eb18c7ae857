import { delimiter, join } from "node:path";
import type { CommandContext } from "./command-context.ts";

/** The kubeconfig files that are meant, as kubectl finds them. */
export function kubeconfigFiles(
  named: string | undefined,
  { env, home }: Pick<CommandContext, "env" | "home">,
): string[] {
  if (named !== undefined) return [named];
  const listed = (env.KUBECONFIG ?? "").split(delimiter).filter((path) => path !== "");
  return listed.length > 0 ? listed : [join(home, ".kube", "config")];
}
