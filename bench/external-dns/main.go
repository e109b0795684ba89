// Command external-dns measures the plans of external-dns with its own package. `external-dns COUNT ROUNDS` prints the best time of a
// round in milliseconds, first for a plan in which all records are new, then for a plan without changes.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/sirupsen/logrus"
	"sigs.k8s.io/external-dns/endpoint"
	"sigs.k8s.io/external-dns/plan"
)

func main() {
	logrus.SetOutput(io.Discard)
	count, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	rounds, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	cold := best(rounds, func() float64 { return planned(nil, records(count), count) })
	unchanged := best(rounds, func() float64 { return planned(records(count), records(count), 0) })
	fmt.Printf("%.2f %.2f\n", cold, unchanged)
}

func best(rounds int, run func() float64) float64 {
	fastest := run()
	for range rounds - 1 {
		fastest = min(fastest, run())
	}
	return fastest
}

// planned returns the duration of one plan in milliseconds, and panics unless the plan creates the expected number of records.
func planned(current, desired []*endpoint.Endpoint, creates int) float64 {
	start := time.Now()
	result := (&plan.Plan{
		Current:        current,
		Desired:        desired,
		Policies:       []plan.Policy{plan.Policies["sync"]},
		ManagedRecords: []string{endpoint.RecordTypeA},
		OwnerID:        "bench",
	}).Calculate()
	elapsed := float64(time.Since(start).Microseconds()) / 1000
	if len(result.Changes.Create) != creates || len(result.Changes.Delete) != 0 || len(result.Changes.UpdateNew) != 0 {
		panic(fmt.Sprintf("the plan creates %d records instead of %d", len(result.Changes.Create), creates))
	}
	return elapsed
}

func records(count int) []*endpoint.Endpoint {
	list := make([]*endpoint.Endpoint, 0, count)
	for number := range count {
		address := fmt.Sprintf("198.%d.%d.%d", 18+number>>16, number>>8&255, number&255)
		record := endpoint.NewEndpoint(fmt.Sprintf("host-%d.example.org", number), endpoint.RecordTypeA, address)
		record.Labels[endpoint.OwnerLabelKey] = "bench"
		list = append(list, record)
	}
	return list
}
