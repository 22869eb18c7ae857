import type { IBinding } from "kubernetes-models/v1/Binding";
import { defineResource } from "../kind.ts";
import { bindPod } from "../pod/binding.ts";

/** The old way to bind a pod; nothing of it is kept. */
export const binding = defineResource<IBinding>({
  group: "",
  kind: "Binding",
  act: ({ body, ...request }) => bindPod(request, body.metadata?.name ?? "", body),
});
