// Command control-plane is etcd, kube-apiserver, kube-controller-manager and kubectl in one binary: the first
// argument says which of them this process is, the others are that program's own flags.
//
// The three servers end when their standard input closes. Whoever starts them holds the other end of that pipe,
// so no control plane outlives a test run, even one that was killed.
package main

import (
	"fmt"
	"io"
	"os"
	_ "time/tzdata" // CronJobs name time zones

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	if len(os.Args) < 2 {
		fail()
	}
	program := os.Args[1]
	os.Args = append([]string{program}, os.Args[2:]...)
	switch program {
	case "etcd":
		endWithParent()
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		run(apiserver.NewAPIServerCommand())
	case "kube-controller-manager":
		run(controllermanager.NewControllerManagerCommand())
	case "kubectl":
		runKubectl()
	default:
		fail()
	}
}

func runKubectl() {
	_, _ = logs.GlogSetter(kubectl.GetLogVerbosity(os.Args))
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}

func run(command *cobra.Command) {
	endWithParent()
	os.Exit(cli.Run(command))
}

// endWithParent exits at once, without a shutdown: the parent is gone and nobody reads the data again.
func endWithParent() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
}

func fail() {
	fmt.Fprintln(os.Stderr, "usage: control-plane etcd|kube-apiserver|kube-controller-manager|kubectl [flag…]")
	os.Exit(2)
}
