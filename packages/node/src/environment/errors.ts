import { defineError } from "@fjord/base";

export const ConfigMapMissing = defineError(
  "CONFIG_MAP_MISSING",
  'configmap "{name}" not found',
  "Create the ConfigMap in the pod's namespace, or mark the reference optional.",
);

export const SecretMissing = defineError(
  "SECRET_MISSING",
  'secret "{name}" not found',
  "Create the Secret in the pod's namespace, or mark the reference optional.",
);

export const ConfigMapKeyMissing = defineError(
  "CONFIG_MAP_KEY_MISSING",
  "couldn't find key {key} in ConfigMap {namespace}/{name}",
  "Add the key to the ConfigMap's data, or mark the reference optional.",
);

export const SecretKeyMissing = defineError(
  "SECRET_KEY_MISSING",
  "couldn't find key {key} in Secret {namespace}/{name}",
  "Add the key to the Secret's data, or mark the reference optional.",
);

export const UnsupportedField = defineError(
  "UNSUPPORTED_FIELD",
  "unsupported fieldPath: {path}",
  "Use a field that the downward API offers, such as metadata.name or metadata.labels['key'].",
);

export const UnsupportedResourceField = defineError(
  "UNSUPPORTED_RESOURCE_FIELD",
  "unsupported container resource: {resource}",
  "Use requests or limits of cpu, memory, ephemeral-storage or hugepages-*.",
);

export const ContainerMissing = defineError(
  "CONTAINER_MISSING",
  "container {name} not found",
  "Name a container of the pod in containerName.",
);

export const EnvironmentFileInvalid = defineError(
  "ENVIRONMENT_FILE_INVALID",
  "couldn't parse env file: line {line}: {reason}",
  "Write one NAME='value' a line; the file is written by an init container of the pod.",
);

export const EnvironmentFileUnreadable = defineError(
  "ENVIRONMENT_FILE_UNREADABLE",
  "couldn't read env file {path} of volume {volume}",
  "Have an init container write the file to the emptyDir before this container starts.",
);

export const EnvironmentFileKeyMissing = defineError(
  "ENVIRONMENT_FILE_KEY_MISSING",
  'environment variable key "{key}" not found in file "{path}"',
  "Have the init container write the key, or mark the reference optional.",
);
