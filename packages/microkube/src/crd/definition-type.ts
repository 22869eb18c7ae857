import type { KubeObject } from "@fjord/base";
import { validateObjectMeta, validateObjectMetaUpdate } from "../kinds/object-meta.ts";
import type { ResourceType } from "../kinds/resource-type.ts";
import { sameMeaning } from "../kinds/values/equality.ts";
import { CLEANUP_FINALIZER, type Definition } from "./definition.ts";
import { defaultDefinition, validateDefinition, validateDefinitionUpdate } from "./definition-strategy.ts";

/** CustomResourceDefinitions themselves, with their rules. */
export function definitionType(type: ResourceType): ResourceType {
  const named = { namespaced: false };
  return {
    ...type,
    strategy: {
      hasStatus: true,
      unconditionalUpdate: false,
      deletionFinalizers: [CLEANUP_FINALIZER],
      default: defaultDefinition,
      prepareCreate(object) {
        const definition = object as Definition;
        const stored = definition.spec?.versions?.find(({ storage }) => storage)?.name;
        definition.status = {
          acceptedNames: { kind: "", plural: "" },
          conditions: null,
          storedVersions: stored === undefined ? [] : [stored],
        };
      },
      validate: (object) => [...validateObjectMeta(object, named), ...validateDefinition(object)],
      validateUpdate: (object, old) => [
        ...validateObjectMetaUpdate(object, old),
        ...validateDefinitionUpdate(object, old),
      ],
      changesGeneration: (object, old) => !sameMeaning((object as Definition).spec, (old as Definition).spec),
    },
    subresources: {
      status: {
        type: "view",
        verbs: ["get", "patch", "update"],
        write(object: KubeObject, sent: KubeObject) {
          const { status } = sent as Definition;
          if (status !== undefined) (object as Definition).status = status;
        },
      },
    },
    columns: [
      { name: "Name", type: "string", format: "name", priority: 0, value: ({ metadata }) => metadata.name ?? "" },
      { name: "Created At", type: "date", priority: 0, value: ({ metadata }) => metadata.creationTimestamp ?? "" },
    ],
  };
}
