// Command net-http makes the calls that wafsync makes, without anything else: `net-http BASE_URL KEY` adds each address on its
// stdin to the blocklist, one call after another on one connection, and prints the milliseconds that the calls took.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

func main() {
	target := os.Args[1] + "/api/blocklist_ip"
	key := os.Args[2]
	var addresses []string
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		addresses = append(addresses, lines.Text())
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1, DisableCompression: true}}
	start := time.Now()
	for _, address := range addresses {
		form := url.Values{"api_key": {key}, "ip": {address}}.Encode()
		response, err := client.Post(target, "application/x-www-form-urlencoded", strings.NewReader(form))
		if err != nil {
			panic(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			panic(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			panic(response.Status)
		}
	}
	fmt.Printf("%.1f\n", float64(time.Since(start).Microseconds())/1000)
}
