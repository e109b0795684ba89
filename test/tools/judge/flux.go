package main

// What Flux makes of an object: kstatus, which it waits by, and the CEL expressions of healthCheckExprs, both by the
// libraries that its controllers are built with.

import (
	"context"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type expressions struct {
	InProgress string `json:"inProgress"`
	Failed     string `json:"failed"`
	Current    string `json:"current"`
}

func judgeStatus(asked question) (answer, error) {
	result, err := status.Compute(&unstructured.Unstructured{Object: withIntegers(asked.Object)})
	if err != nil {
		return answer{}, err
	}
	return answer{Status: result.Status.String(), Message: result.Message}, nil
}

func judgeExpressions(asked question) (answer, error) {
	evaluator, err := cel.NewStatusEvaluator(&kustomize.HealthCheckExpressions{
		InProgress: asked.Expressions.InProgress,
		Failed:     asked.Expressions.Failed,
		Current:    asked.Expressions.Current,
	})
	if err != nil {
		return answer{}, err
	}
	object := &unstructured.Unstructured{Object: withIntegers(asked.Object)}
	result, err := evaluator.Evaluate(context.Background(), object)
	if err != nil {
		return answer{}, err
	}
	return answer{Status: result.Status.String(), Message: result.Message}, nil
}

// withIntegers makes whole numbers of JSON what the Kubernetes clients make of them: int64, not float64.
func withIntegers(object map[string]any) map[string]any {
	return convert(object).(map[string]any)
}

func convert(value any) any {
	switch known := value.(type) {
	case float64:
		if known == float64(int64(known)) {
			return int64(known)
		}
	case []any:
		for place, item := range known {
			known[place] = convert(item)
		}
	case map[string]any:
		for name, field := range known {
			known[name] = convert(field)
		}
	}
	return value
}
