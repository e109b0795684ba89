// Which custom resource definitions of others are kept beside the tools: those that our manifests have objects of.

/** Definitions come out of the modules of the projects that they belong to, pinned as all modules are. */
export const definitions = [
  {
    module: "github.com/prometheus-operator/prometheus-operator@v0.85.0",
    folder: "example/prometheus-operator-crd",
    files: ["monitoring.coreos.com_servicemonitors.yaml", "monitoring.coreos.com_prometheusrules.yaml"],
  },
  {
    module: "github.com/argoproj/argo-cd/v3@v3.5.3",
    folder: "manifests/crds",
    files: ["application-crd.yaml", "applicationset-crd.yaml", "appproject-crd.yaml"],
  },
  {
    module: "github.com/fluxcd/kustomize-controller@v1.9.6",
    folder: "config/crd/bases",
    files: ["kustomize.toolkit.fluxcd.io_kustomizations.yaml"],
  },
] as const;
