module wafsync.dev/bench/netipx

go 1.26.0

require go4.org/netipx v0.0.0-20231129151722-fdeea329fbba
