// Command judge asks the engines that GitOps tools use what they make of objects. It reads one JSON array of
// questions on its standard input and writes the array of answers, in the same order, on its standard output.
//
//	judge health     Argo CD: a health script on an object, gives status and message
//	judge discovery  Argo CD: a discovery script on an object, gives the actions by name
//	judge action     Argo CD: the script of an action on an object, gives what Argo CD would create and patch
//	judge kstatus    Flux: the status of an object by kstatus, gives status and message
//	judge expression Flux: the CEL expressions of healthCheckExprs on an object, gives status
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

type question struct {
	Script      string         `json:"script"`
	Object      map[string]any `json:"object"`
	Expressions expressions    `json:"expressions"`
}

type answer struct {
	Status    string             `json:"status,omitempty"`
	Message   string             `json:"message,omitempty"`
	Actions   map[string]any     `json:"actions,omitempty"`
	Resources []impactedResource `json:"resources,omitempty"`
	Error     string             `json:"error,omitempty"`
}

type judge func(question) (answer, error)

var judges = map[string]judge{
	"health":     judgeHealth,
	"discovery":  judgeDiscovery,
	"action":     judgeAction,
	"kstatus":    judgeStatus,
	"expression": judgeExpressions,
}

func main() {
	if len(os.Args) != 2 || judges[os.Args[1]] == nil {
		fail("usage: judge health|discovery|action|kstatus|expression <questions.json")
	}
	if err := run(judges[os.Args[1]]); err != nil {
		fail(err.Error())
	}
}

func run(ask judge) error {
	decoder := json.NewDecoder(os.Stdin)
	var questions []question
	if err := decoder.Decode(&questions); err != nil {
		return err
	}
	answers := make([]answer, 0, len(questions))
	for _, one := range questions {
		given, err := ask(one)
		if err != nil {
			given = answer{Error: err.Error()}
		}
		answers = append(answers, given)
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

func fail(problem string) {
	fmt.Fprintln(os.Stderr, problem)
	os.Exit(2)
}
