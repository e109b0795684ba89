// Command netipx reads a list of addresses into a set. Like wafsync, it reads the first column of each line. `netipx FILE ROUNDS`
// prints the best time of a round in milliseconds, and the number of networks in the set.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"go4.org/netipx"
)

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	rounds, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	best := time.Hour
	count := 0
	for range rounds {
		start := time.Now()
		count = read(text)
		best = min(best, time.Since(start))
	}
	fmt.Printf("%.1f %d\n", float64(best.Microseconds())/1000, count)
}

func read(text []byte) int {
	var builder netipx.IPSetBuilder
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		column, _, _ := strings.Cut(line, "\t")
		if prefix, err := netip.ParsePrefix(column); err == nil {
			builder.AddPrefix(prefix)
		} else if address, err := netip.ParseAddr(column); err == nil {
			builder.Add(address)
		}
	}
	set, err := builder.IPSet()
	if err != nil {
		panic(err)
	}
	return len(set.Prefixes())
}
