import { defineError } from "@fjord/base";

export const VolumeSetUpFailed = defineError(
  "VOLUME_SET_UP_FAILED",
  'MountVolume.SetUp failed for volume "{volume}" : {reason}',
  "The rest of the message says what is missing; the node tries again on its own.",
);

export const UnsupportedVolume = defineError(
  "UNSUPPORTED_VOLUME",
  "{what} cannot be served by this node",
  "Use emptyDir, hostPath, configMap, secret, projected, downwardAPI, or a claim on a volume of kind local or hostPath.",
);

export const InvalidVolumeName = defineError(
  "INVALID_VOLUME_NAME",
  "{what} {name} cannot be used as the name of a directory",
  "Use names as Kubernetes' API server takes them.",
);

export const InvalidFilePath = defineError(
  "INVALID_FILE_PATH",
  "invalid path {path}: {reason}",
  "Give files of a volume relative paths without '..', not longer than 4096 characters.",
);

export const VolumeTooLarge = defineError(
  "VOLUME_TOO_LARGE",
  "its files are larger than {limit} bytes together",
  "Spread the content over several volumes, or bring it by an image or a persistent volume.",
);

export const ConfigMapReferencesMissingKey = defineError(
  "CONFIG_MAP_VOLUME_KEY_MISSING",
  "configmap references non-existent config key: {key}",
  "Add the key to the ConfigMap, take it out of the volume's items, or mark the volume optional.",
);

export const SecretReferencesMissingKey = defineError(
  "SECRET_VOLUME_KEY_MISSING",
  "references non-existent secret key: {key}",
  "Add the key to the Secret, take it out of the volume's items, or mark the volume optional.",
);

export const ProjectionFailed = defineError(
  "PROJECTION_FAILED",
  "{reasons}",
  "Each part says which source of the projected volume is missing and why.",
);

export const VolumeMissing = defineError(
  "VOLUME_MISSING",
  'cannot find volume "{volume}" to mount into container "{container}"',
  "Name a volume of the pod in the container's volumeMounts.",
);

export const HostPathTypeMismatch = defineError(
  "HOST_PATH_TYPE_MISMATCH",
  "hostPath type check failed: {path} is not a {type}",
  "Prepare the path on the node, or choose another type: DirectoryOrCreate and FileOrCreate create what is missing.",
);

export const SubPathInvalid = defineError(
  "SUB_PATH_INVALID",
  'failed to prepare subPath for volumeMount "{volume}" of container "{container}"',
  "The path must not lead out of the volume by a symbolic link; the node's log says what was found there.",
);

export const SubPathRefused = defineError(
  "SUB_PATH_REFUSED",
  "subPath {path} of volumeMount {volume} {reason}",
  "Give a path relative to the volume, without '..'.",
);

export const SubPathVariableMissing = defineError(
  "SUB_PATH_VARIABLE_MISSING",
  "missing value for {variables} in subPathExpr of volumeMount {volume}",
  "Declare the variables in the container's env.",
);

export const RecursiveReadOnlyRefused = defineError(
  "RECURSIVE_READ_ONLY_REFUSED",
  'volume "{volume}" requested recursive read-only mode, but {reason}',
  "Make the mount read-only without propagation, or ask for recursiveReadOnly: IfPossible.",
);

export const ClaimUnusable = defineError(
  "CLAIM_UNUSABLE",
  'persistentvolumeclaim "{name}" {reason}',
  "Look at the claim: it must exist, be bound, and belong to this pod where it is an ephemeral one.",
);

export const PersistentVolumeUnusable = defineError(
  "PERSISTENT_VOLUME_UNUSABLE",
  'persistentvolume "{name}" {reason}',
  "Look at the volume: it must exist, be of kind local or hostPath, fit this node and be bound to the claim.",
);

export const MountInTheWay = defineError(
  "MOUNT_IN_THE_WAY",
  "{path} has something mounted in it, which must not be deleted",
  "Unmount it; the node tries again on its own.",
);
