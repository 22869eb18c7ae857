import type { Chapter } from "../chapter.ts";

const web = (replicas: number, image: string, extra = "") => `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, labels: { app: web } }
spec:
  replicas: ${replicas}
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      containers:
        - { name: web, image: "${image}"${extra} }
---
apiVersion: v1
kind: Service
metadata: { name: web, labels: { app: web } }
spec: { selector: { app: web }, ports: [{ port: 80 }] }
`;

const settings = (data: string) => `
apiVersion: v1
kind: ConfigMap
metadata: { name: settings, labels: { app: web } }
data: { ${data} }
`;

const kustomization = `
namePrefix: k-
labels: [{ pairs: { made: kustomize } }]
resources: [settings.yaml]
configMapGenerator: [{ name: generated, literals: [a=b] }]
`;

/** Applying on both sides, differences, replacing, patching and editing. */
export const applying: Chapter = {
  about: "applying",
  files: {
    "web-1.yaml": web(0, "nginx:1"),
    "web-2.yaml": web(0, "nginx:2", ", env: [{ name: A, value: b }]"),
    "settings-1.yaml": settings("a: one, b: two"),
    "settings-2.yaml": settings("a: changed, c: three"),
    "settings-3.yaml": settings("a: mine"),
    "kustom/kustomization.yaml": kustomization,
    "kustom/settings.yaml": settings("k: v"),
    "tree/one.yaml": settings("a: one").replace("settings", "first"),
    "tree/deep/two.yaml": settings("a: two").replace("settings", "second"),
    "add.sh": `sed -i 's/^data:/data:\\n  edited: "yes"/' "$1"\n`,
    "change.sh": `sed -i 's/edited: .*/edited: "no"/' "$1"\n`,
    "rename.sh": `sed -i 's/name: settings/name: other/' "$1"\n`,
    "patch.json": `[{"op":"replace","path":"/data/a","value":"json"},{"op":"test","path":"/data/a","value":"json"}]`,
  },
  script: `
    kubectl apply -f web-1.yaml --dry-run=client
    kubectl apply -f web-1.yaml --dry-run=server
    kubectl diff -f web-1.yaml | grep -v '^\\(---\\|+++\\|diff\\)'
    kubectl apply -f web-1.yaml
    kubectl apply -f web-1.yaml
    kubectl diff -f web-1.yaml
    kubectl diff -f web-2.yaml | grep -v '^\\(---\\|+++\\|diff\\)'
    kubectl apply -f web-2.yaml
    kubectl apply view-last-applied deployment web
    kubectl apply set-last-applied -f web-1.yaml
    KUBE_EDITOR='sed -i s/nginx:1/nginx:3/' kubectl apply edit-last-applied deployment web
    kubectl get deployment web -o yaml --show-managed-fields
    kubectl apply -f web-1.yaml -o name
    kubectl apply -f settings-1.yaml
    kubectl apply -f settings-2.yaml -o yaml
    kubectl get configmap settings -o yaml --show-managed-fields
    kubectl create configmap bare --from-literal=a=b
    echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bare"},"data":{"c":"d"}}' | kubectl apply -f -
    kubectl apply --server-side -f settings-1.yaml --field-manager=first
    kubectl apply --server-side -f settings-3.yaml --field-manager=second
    kubectl apply --server-side -f settings-3.yaml --field-manager=second --force-conflicts
    kubectl apply --server-side -f settings-1.yaml --field-manager=first
    kubectl diff --server-side -f settings-1.yaml --field-manager=first
    kubectl diff --server-side -f settings-1.yaml --field-manager=first --force-conflicts | grep -v '^\\(---\\|+++\\|diff\\)'
    kubectl get configmap settings -o yaml --show-managed-fields
    kubectl apply --server-side -f web-1.yaml
    kubectl apply --server-side -f web-2.yaml --dry-run=server -o yaml
    kubectl apply --server-side -f web-2.yaml
    kubectl get deployment,service web -o yaml --show-managed-fields
    kubectl apply -k kustom
    kubectl get configmaps -l made=kustomize
    kubectl kustomize kustom
    kubectl delete -k kustom
    kubectl apply -R -f tree
    kubectl apply -f tree --prune -l app=web --prune-allowlist=core/v1/ConfigMap
    kubectl get configmaps
    kubectl create -f settings-1.yaml
    kubectl apply -f settings-1.yaml
    kubectl replace -f settings-2.yaml
    kubectl replace -f settings-2.yaml -o yaml
    kubectl get configmap settings -o json | sed 's/"resourceVersion": "[0-9]*"/"resourceVersion": "1"/' | kubectl replace -f -
    kubectl get configmap settings -o json | sed 's/"uid": "[^"]*"/"uid": "x"/' | kubectl replace -f -
    kubectl replace --force -f settings-1.yaml
    echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"absent"}}' | kubectl replace -f -
    kubectl patch configmap settings -p '{"data":{"a":"strategic"}}'
    kubectl patch configmap settings -p '{"data":{"a":"strategic"}}'
    kubectl patch configmap settings --type=merge -p '{"data":{"b":null,"m":"merge"}}' -o yaml
    kubectl patch configmap settings --type=json --patch-file=patch.json
    kubectl patch configmap settings --type=json -p '[{"op":"test","path":"/data/a","value":"no"}]'
    kubectl patch configmap settings --type=json -p '[{"op":"remove","path":"/data/none"}]'
    kubectl patch configmap settings --type=json -p '[{"op":"wrong","path":"/data/none"}]'
    kubectl patch configmap settings --type=none -p '{}'
    kubectl patch configmap settings -p '{"data":{"a":1}}'
    kubectl patch configmap settings -p '{"dta":{"a":"1"}}'
    kubectl patch configmap absent -p '{"data":{"a":"1"}}'
    kubectl patch configmap settings -p 'nonsense'
    kubectl patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"side:1"}]}}}}'
    kubectl patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"side","$patch":"delete"}]}}}}'
    kubectl patch deployment web -p '{"spec":{"selector":{"matchLabels":{"app":"other"}}}}'
    kubectl patch deployment web --type=json -p '[{"op":"add","path":"/spec/template/spec/containers/0/env/-","value":{"name":"B","value":"c"}}]'
    kubectl patch deployment web --type=merge -p '{"spec":{"template":{"spec":{"containers":[{"name":"only","image":"only:1"}]}}}}' -o jsonpath='{.spec.template.spec.containers}'
    kubectl patch deployment web --subresource=scale --type=merge -p '{"spec":{"replicas":1}}'
    kubectl patch deployment web --subresource=status --type=merge -p '{"status":{"observedGeneration":99}}' -o name
    kubectl patch deployment web --subresource=none --type=merge -p '{}'
    kubectl patch -f settings-1.yaml --local -p '{"data":{"z":"local"}}' -o yaml --type=merge
    kubectl patch configmap settings -p '{"metadata":{"labels":{"x":"y"}}}' --dry-run=server -o name
    KUBE_EDITOR='sh add.sh' kubectl edit configmap settings
    KUBE_EDITOR=true kubectl edit configmap settings
    KUBE_EDITOR='sh change.sh' kubectl edit configmap settings -o name --save-config
    KUBE_EDITOR='sh rename.sh' kubectl edit configmap settings 2>&1 | grep -v /tmp/
    KUBE_EDITOR=false kubectl edit configmap settings 2>&1 | grep -v /tmp/
    kubectl edit configmap absent
    kubectl get configmap settings -o yaml --show-managed-fields
    kubectl label configmap settings a=b c=d
    kubectl label configmap settings a=e
    kubectl label configmap settings a=e --overwrite
    kubectl label configmap settings a- none-
    kubectl label configmap settings 'a=not valid'
    kubectl label configmaps --all all=yes --dry-run=server
    sorted: kubectl label configmap settings --list
    kubectl label configmap settings x=y --resource-version=1
    kubectl annotate configmap settings note='some text' other=x
    kubectl annotate configmap settings note=changed
    kubectl annotate configmap settings note=changed --overwrite
    kubectl annotate configmap settings note- -o name
    kubectl annotate configmaps -l app=web note=selected
    sorted: kubectl annotate configmap settings --list
    kubectl describe configmap settings
  `,
};
