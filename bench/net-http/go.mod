module wafsync.dev/bench/net-http

go 1.26.0
