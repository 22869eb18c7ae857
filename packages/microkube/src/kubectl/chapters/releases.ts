import type { Chapter } from "../chapter.ts";

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: buoys.releases.example.com }
spec:
  group: releases.example.com
  scope: Namespaced
  names: { plural: buoys, singular: buoy, kind: Buoy }
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties: { spec: { type: object, properties: { depth: { type: integer } } } }
`;

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-web
  labels: { app.kubernetes.io/managed-by: {{ .Release.Service }}, app.kubernetes.io/instance: {{ .Release.Name }} }
spec:
  replicas: {{ .Values.replicas }}
  selector: { matchLabels: { app: {{ .Release.Name }} } }
  template:
    metadata: { labels: { app: {{ .Release.Name }} } }
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{ name: web, image: "web:{{ .Values.tag }}", ports: [{ containerPort: 80 }] }]
`;

const others = `
apiVersion: v1
kind: Service
metadata: { name: {{ .Release.Name }}-web }
spec: { selector: { app: {{ .Release.Name }} }, ports: [{ port: 80 }] }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: {{ .Release.Name }}-settings }
data:
  tag: {{ .Values.tag | quote }}
  release: "{{ .Release.Revision }}"
  version: {{ .Capabilities.KubeVersion.Major }}.{{ .Capabilities.KubeVersion.Minor | trimSuffix "+" }}
  hasJobs: {{ .Capabilities.APIVersions.Has "batch/v1/Job" | quote }}
  namespace: {{ (lookup "v1" "Namespace" "" .Release.Namespace).metadata.name | default "unknown" }}
---
apiVersion: releases.example.com/v1
kind: Buoy
metadata: { name: {{ .Release.Name }} }
spec: { depth: {{ .Values.depth }} }
---
apiVersion: v1
kind: Secret
metadata: { name: {{ .Release.Name }}-kept, annotations: { helm.sh/resource-policy: keep } }
stringData: { a: b }
`;

const job = (hook: string, policy: string) => `
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-${hook}
  annotations: { helm.sh/hook: "${hook}", helm.sh/hook-weight: "1", helm.sh/hook-delete-policy: ${policy} }
spec:
  backoffLimit: 0
  template:
    metadata: { annotations: { simulated.fjord.dev/exit-after: 100ms, simulated.fjord.dev/exit-code: "{{ .Values.exitCode }}" } }
    spec: { restartPolicy: Never, containers: [{ name: hook, image: "hook:1" }] }
`;

const trial = `
apiVersion: v1
kind: Pod
metadata:
  name: {{ .Release.Name }}-trial
  annotations:
    helm.sh/hook: test
    helm.sh/hook-delete-policy: before-hook-creation
    simulated.fjord.dev/exit-after: 100ms
    simulated.fjord.dev/exit-code: "{{ .Values.trialCode }}"
spec: { restartPolicy: Never, terminationGracePeriodSeconds: 1, containers: [{ name: trial, image: "trial:1" }] }
`;

/** A chart with hooks and a definition, from its installation to its end. */
export const releases: Chapter = {
  about: "releases",
  files: {
    "harbour/Chart.yaml": "apiVersion: v2\nname: harbour\nversion: 1.0.0\nappVersion: '1'\nkubeVersion: '>=1.30.0-0'\n",
    "harbour/values.yaml": "replicas: 2\ntag: '1'\ndepth: 3\nexitCode: 0\ntrialCode: 0\n",
    "harbour/crds/buoys.yaml": definition,
    "harbour/templates/deployment.yaml": deployment,
    "harbour/templates/others.yaml": others,
    "harbour/templates/before.yaml": job("pre-install", "hook-succeeded"),
    "harbour/templates/after.yaml": job("post-upgrade", "before-hook-creation"),
    "harbour/templates/trial.yaml": trial,
    "harbour/templates/NOTES.txt": "Sail to {{ .Release.Name }} in {{ .Release.Namespace }}.\n",
  },
  script: `
    helm lint harbour
    helm install port harbour --dry-run=server
    helm install port harbour --wait --timeout=120s
    helm install port harbour
    helm list
    helm list -A -o json
    helm status port
    sorted: helm status port --show-resources
    helm get manifest port
    helm get hooks port
    helm get values port --all
    helm get notes port
    kubectl get all,configmaps,secrets,jobs,buoys -l '!none' -o name | sort | sed 's/-[a-z0-9]*-[a-z0-9]\\{5\\}$//;s/-[a-z0-9]\\{9,10\\}$//'
    kubectl get secrets --field-selector=type=helm.sh/release.v1 --show-labels
    kubectl get configmap port-settings -o yaml --show-managed-fields
    kubectl get buoy port -o yaml --show-managed-fields
    kubectl get deployment port-web -o yaml --show-managed-fields
    helm test port --timeout=120s
    helm status port
    helm upgrade port harbour --set replicas=3,tag=2,depth=5 --wait --timeout=120s
    helm upgrade port harbour --reuse-values --set replicas=nothing
    helm upgrade port harbour --reuse-values --set exitCode=1 --wait --timeout=120s
    helm history port
    kubectl get job port-post-upgrade
    kubectl get deployment/port-web configmap/port-settings buoy/port -o yaml
    helm rollback port 1 --wait --timeout=120s
    helm history port
    helm get values port
    kubectl get deployment port-web -o jsonpath='{.spec.replicas} {.spec.template.spec.containers[0].image}'
    kubectl get buoy port -o jsonpath='{.spec.depth}'
    helm upgrade port harbour --set trialCode=1 --atomic --timeout=120s
    helm test port --timeout=120s
    helm upgrade port harbour --set exitCode=1 --atomic --timeout=120s
    helm history port
    helm rollback port 99
    helm upgrade absent harbour
    helm upgrade --install second harbour --set replicas=0 --wait --timeout=120s --take-ownership
    helm list --short
    helm uninstall second --wait --timeout=120s
    helm uninstall second
    helm template port harbour --validate > /dev/null
    helm uninstall port --wait --timeout=120s --keep-history
    helm status port
    helm list --uninstalled --short
    helm uninstall port
    helm list -a
    kubectl get all,configmaps,secrets,jobs,buoys -o name | sort
    kubectl get crd buoys.releases.example.com -o jsonpath='{.metadata.labels} {.metadata.annotations}'
    kubectl delete crd buoys.releases.example.com
  `,
};
