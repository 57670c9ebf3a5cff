//! Distinguishes public from private IP addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The IPv4 blocks that are not public: first address and prefix length.
const NON_PUBLIC_BLOCKS: [([u8; 4], u32); 16] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 31, 196, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

/// Returns whether `address` is public. Unknown blocks are not.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    !NON_PUBLIC_BLOCKS
        .iter()
        .any(|(block, named)| (bits ^ Ipv4Addr::from(*block).to_bits()) >> (32 - named) == 0)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // An embedded IPv4 address: mapped, or translated by NAT64.
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
            is_public_v4(Ipv4Addr::from_bits(address.to_bits() as u32))
        }
        // Benchmarking, tunnels that hide an IPv4 address, and documentation.
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        [0x2002, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => (0x2000..0x4000).contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLIC: &str = "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1 \
        169.253.255.255 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 \
        223.255.255.255 2606:4700::1111 2a00::1 ::ffff:8.8.8.8 64:ff9b::808:808 2001:200::1";
    const NON_PUBLIC: &str = "0.0.0.0 0.255.255.255 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 \
        169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 \
        198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 :: \
        ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 \
        64:ff9b::a9fe:a9fe 64:ff9b:1::808:808 100::1 2001::1 2001:10::1 2001:db8::1 2002:7f00:1:: \
        2002:808:808:: 3fff::1 fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1 4000::1";

    #[test]
    fn only_public_addresses_are_accepted() {
        let check = |address: &str, expected: bool| {
            assert_eq!(is_public(address.parse().unwrap()), expected, "{address}");
        };
        PUBLIC.split_whitespace().for_each(|address| check(address, true));
        NON_PUBLIC.split_whitespace().for_each(|address| check(address, false));
    }
}
