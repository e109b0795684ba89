// Command net-http makes the same calls as wafsync and does nothing else. `net-http BASE_URL KEY READS_BEFORE READS_AFTER` adds each
// address on its stdin to the blocklist, one call after another on one connection, and prints the duration of all calls in
// milliseconds. The reads are paths, separated by commas.
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
	baseURL, key := os.Args[1], os.Args[2]
	target := baseURL + "/api/blocklist_ip"
	var addresses []string
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		addresses = append(addresses, lines.Text())
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1, DisableCompression: true}}
	read := func(paths string) {
		for _, path := range strings.Split(paths, ",") {
			finish(client.Get(baseURL + path + "?" + url.Values{"api_key": {key}}.Encode()))
		}
	}
	start := time.Now()
	read(os.Args[3])
	for _, address := range addresses {
		form := url.Values{"api_key": {key}, "ip": {address}}.Encode()
		finish(client.Post(target, "application/x-www-form-urlencoded", strings.NewReader(form)))
	}
	read(os.Args[4])
	fmt.Printf("%.1f\n", float64(time.Since(start).Microseconds())/1000)
}

func finish(response *http.Response, err error) {
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
