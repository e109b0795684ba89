//! Reads a list of addresses into aggregated networks. Like wafsync, it reads the first column of each line.
//! `bench-ipnet FILE ROUNDS` prints the best time of a round in milliseconds, and the number of networks.
use ipnet::{Ipv4Net, Ipv6Net};
use std::net::IpAddr;
use std::time::{Duration, Instant};

fn main() {
    let parameters: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&parameters[1]).expect("a list");
    let rounds: u32 = parameters[2].parse().expect("a number");
    let mut best = Duration::MAX;
    let mut count = 0;
    for _ in 0..rounds {
        let start = Instant::now();
        count = read(&text);
        best = best.min(start.elapsed());
    }
    println!("{:.1} {}", best.as_secs_f64() * 1000.0, count);
}

fn read(text: &str) -> usize {
    let mut ipv4: Vec<Ipv4Net> = Vec::new();
    let mut ipv6: Vec<Ipv6Net> = Vec::new();
    for line in text.lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let column = line.split('\t').next().unwrap_or("");
        if let Ok(network) = column.parse::<ipnet::IpNet>() {
            match network {
                ipnet::IpNet::V4(network) => ipv4.push(network),
                ipnet::IpNet::V6(network) => ipv6.push(network),
            }
        } else if let Ok(address) = column.parse::<IpAddr>() {
            match address {
                IpAddr::V4(address) => ipv4.push(address.into()),
                IpAddr::V6(address) => ipv6.push(address.into()),
            }
        }
    }
    Ipv4Net::aggregate(&ipv4).len() + Ipv6Net::aggregate(&ipv6).len()
}
