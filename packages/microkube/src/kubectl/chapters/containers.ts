import type { Chapter } from "../chapter.ts";

const main = `trap 'exit 0' TERM; echo first; echo second; echo third >&2; mkdir -p $HOME; while :; do sleep 0.1; done`;

const pods = `
apiVersion: v1
kind: Pod
metadata: { name: main, labels: { app: main } }
spec:
  nodeName: NODE
  tolerations: [{ operator: Exists }]
  terminationGracePeriodSeconds: 1
  containers:
    - { name: one, image: none, command: [sh, -c, "${main}"], volumeMounts: [{ name: data, mountPath: /data-NAMESPACE }] }
    - { name: two, image: none, command: [sh, -c, "echo of two; exec sleep 1000"] }
  volumes: [{ name: data, emptyDir: {} }]
---
apiVersion: batch/v1
kind: Job
metadata: { name: sum }
spec:
  backoffLimit: 0
  template:
    spec:
      nodeName: NODE
      restartPolicy: Never
      tolerations: [{ operator: Exists }]
      containers: [{ name: sum, image: none, command: [sh, -c, "echo $((1 + 2))"] }]
---
apiVersion: v1
kind: Pod
metadata: { name: failing }
spec:
  nodeName: NODE
  restartPolicy: Never
  tolerations: [{ operator: Exists }]
  containers: [{ name: failing, image: none, command: [sh, -c, "echo no; exit 3"] }]
`;

/** What reaches into containers, on nodes that run processes. */
export const containers: Chapter = {
  about: "containers",
  files: { "pods.yaml": pods, "there.txt": "to the pod and back\n" },
  script: `
    sed "s/NODE/$PROCESS_NODE/; s/NAMESPACE/$NAMESPACE/" pods.yaml | kubectl apply -f -
    kubectl wait --for=condition=Ready pod/main --timeout=60s
    kubectl wait --for=condition=Complete job/sum --timeout=60s
    kubectl wait --for=jsonpath='{.status.phase}'=Failed pod/failing --timeout=60s
    sorted: kubectl logs main -c one
    kubectl logs main -c two
    kubectl logs main
    sorted: kubectl logs main --all-containers --prefix
    kubectl logs main -c two --tail=1 --timestamps | sed 's/^[^ ]* //'
    kubectl logs main -c two --since=1h --limit-bytes=4
    kubectl logs main -c absent
    kubectl logs main -c two --previous
    kubectl logs job/sum
    kubectl logs -l app=main -c two --tail=5
    kubectl logs absent
    kubectl get job sum -o wide
    kubectl get pod failing
    kubectl get pod failing -o jsonpath='{.status.containerStatuses[0].state.terminated.exitCode}'
    kubectl describe pod failing | sed '/^Events/,$d;s/process:.*/ID/'
    kubectl exec main -c two -- echo hello
    kubectl exec main -- echo hello
    kubectl exec main -c two -- sh -c 'echo out; echo err >&2; exit 7'
    echo input | kubectl exec -i main -c two -- cat
    kubectl exec main -c absent -- true
    kubectl exec absent -- true
    kubectl exec main -c two -- /no/such/program 2>&1 | grep -c .
    kubectl cp there.txt main:/data-$NAMESPACE/file -c one
    kubectl exec main -c one -- cat /data-$NAMESPACE/file
    kubectl cp main:/data-$NAMESPACE/file back.txt -c one > /dev/null && cat back.txt
    kubectl cp absent:/x y
    kubectl debug main --image=none --container=probe -- sh -c 'echo probed'
    kubectl wait --for=jsonpath='{.status.ephemeralContainerStatuses[0].state.terminated.exitCode}'=0 pod/main --timeout=30s
    kubectl logs main -c probe
    kubectl get pod main -o jsonpath='{.spec.ephemeralContainers}'
    kubectl debug main --copy-to=copied --container=one --image=none --share-processes=false --dry-run=server -o name
    kubectl debug absent --image=none
    kubectl attach main -c absent
    kubectl port-forward pod/absent 8080
    kubectl delete pods,jobs --all --now --timeout=60s
    kubectl get pods,jobs
  `,
};
