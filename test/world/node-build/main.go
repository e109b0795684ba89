// Command node is kubelet and kube-scheduler in one binary: the first argument says which of them this process is, the
// others are that program's own flags.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	if len(os.Args) < 2 {
		fail()
	}
	program := os.Args[1]
	os.Args = append([]string{program}, os.Args[2:]...)
	switch program {
	case "kubelet":
		run(kubelet.NewKubeletCommand(context.Background()))
	case "kube-scheduler":
		run(scheduler.NewSchedulerCommand())
	default:
		fail()
	}
}

func run(command *cobra.Command) {
	os.Exit(cli.Run(command))
}

func fail() {
	fmt.Fprintln(os.Stderr, "usage: node kubelet|kube-scheduler [flag…]")
	os.Exit(2)
}
