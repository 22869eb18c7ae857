import type { Chapter } from "../chapter.ts";

const pods = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      nodeName: NODE
      terminationGracePeriodSeconds: 1
      containers: [{ name: c, image: "nginx:1", resources: { requests: { cpu: 100m, memory: 64Mi } } }]
---
apiVersion: v1
kind: Pod
metadata: { name: alone, labels: { app: alone } }
spec: { nodeName: NODE, terminationGracePeriodSeconds: 1, containers: [{ name: c, image: "nginx:1" }], volumes: [{ name: v, emptyDir: {} }] }
`;

/** Nodes: their marks, and getting work off them. It comes last, when no others' pods are there. */
export const nodes: Chapter = {
  about: "nodes",
  files: { "pods.yaml": pods },
  script: `
    kubectl get nodes
    kubectl get nodes -o wide
    kubectl get node $NODE -o yaml
    kubectl describe node $OTHER_NODE | grep -v -e '^  [a-z].*(.*%)' -e Events: -A99
    kubectl label node $NODE rack=1 zone=a
    kubectl get nodes -L rack,zone
    kubectl label node $NODE rack- zone-
    kubectl annotate node $NODE note=x
    kubectl annotate node $NODE note-
    kubectl taint node $NODE only=some:NoSchedule
    kubectl taint node $NODE only=some:NoSchedule
    kubectl taint node $NODE only=more:NoSchedule --overwrite
    kubectl taint node $NODE only=some:Nothing
    kubectl get node $NODE -o jsonpath='{.spec.taints}'
    kubectl taint node $NODE only:NoSchedule-
    kubectl taint node $NODE only-
    kubectl taint node absent a=b:NoExecute
    kubectl cordon $NODE
    kubectl cordon $NODE
    kubectl get node $NODE
    kubectl get node $NODE -o jsonpath='{.spec}'
    kubectl cordon absent
    kubectl cordon $OTHER_NODE
    kubectl run pending --image=nginx
    kubectl wait --for=condition=PodScheduled=false pod/pending --timeout=20s
    kubectl describe pod pending
    kubectl get events --for pod/pending
    kubectl uncordon $NODE $OTHER_NODE
    kubectl wait --for=condition=Ready pod/pending --timeout=20s
    kubectl delete pod pending --now
    sed "s/NODE/$NODE/" pods.yaml | kubectl apply -f -
    kubectl wait --for=condition=Ready pods --all --timeout=30s
    kubectl create poddisruptionbudget web --selector=app=web --min-available=3
    kubectl wait --for=jsonpath='{.status.currentHealthy}'=2 pdb/web --timeout=20s
    kubectl get pdb web
    kubectl describe pdb web
    kubectl drain $NODE --pod-selector=app=alone
    kubectl drain $NODE --pod-selector=app=alone --dry-run=server --force
    kubectl drain $NODE --pod-selector=app=alone --force --delete-emptydir-data
    kubectl drain $NODE --pod-selector=app=web --timeout=2s 2>&1 | sed 's/web-[^ ]*"/web"/g' | sort -u
    kubectl delete pdb web
    kubectl scale deployment web --replicas=0
    kubectl drain absent
    kubectl uncordon $NODE
    kubectl uncordon $NODE
    kubectl top nodes
    kubectl top pods
    kubectl describe node $NODE | sed '/^Allocated/,$d'
    kubectl get leases -n kube-node-lease -o custom-columns=NAME:.metadata.name,HOLDER:.spec.holderIdentity,SECONDS:.spec.leaseDurationSeconds
    kubectl delete node absent
  `,
};
