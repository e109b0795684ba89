// Command argocd is the application controller, the repository server and the ApplicationSet controller of Argo CD in one
// binary: the name that it is called by says which of them this process is, as in the image of Argo CD.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	applicationcontroller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	applicationset "github.com/argoproj/argo-cd/v3/cmd/argocd-applicationset-controller/commands"
	gitaskpass "github.com/argoproj/argo-cd/v3/cmd/argocd-git-ask-pass/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/argoproj/argo-cd/v3/common"
	"github.com/argoproj/argo-cd/v3/util/log"
)

var commands = map[string]func() *cobra.Command{
	common.CommandApplicationController:    applicationcontroller.NewCommand,
	common.CommandApplicationSetController: applicationset.NewCommand,
	common.CommandGitAskPass:               gitaskpass.NewCommand,
	common.CommandRepoServer:               reposerver.NewCommand,
}

func main() {
	klog.SetLogger(log.NewLogrusLogger(log.NewWithCurrentConfig()))
	name := filepath.Base(os.Args[0])
	newCommand, known := commands[name]
	if !known {
		fmt.Fprintln(os.Stderr, "no part of Argo CD is called", name)
		os.Exit(2)
	}
	if newCommand().Execute() != nil {
		os.Exit(1)
	}
}
