//! I10: disguised private addresses.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use super::{FakeResolver, FakeServer, PUBLIC_ADDRESS, fetcher, response, text_response};

/// Private IPv4 addresses.
const PRIVATE_V4: [&str; 20] = [
    "127.0.0.1",
    "127.1.2.3",
    "127.255.255.254",
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.100.100.200",
    "169.254.169.254",
    "169.254.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "192.168.255.254",
    "192.0.0.192",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
];

/// Private IPv6 addresses.
const PRIVATE_V6: [&str; 16] = [
    "::",
    "::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "2001:db8::1",
    "2001::7f00:1",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "100::1",
    "5f00::1",
];

/// Returns every spelling of an IPv4 address that some program accepts.
fn spellings(address: Ipv4Addr) -> Vec<String> {
    let [a, b, c, d] = address.octets();
    let (number, tail) = (address.to_bits(), u32::from(c) << 8 | u32::from(d));
    let wide: String = address.to_string().chars().map(full_width).collect();
    vec![
        address.to_string(),
        format!("{address}."),
        number.to_string(),
        format!("{number:#x}"),
        format!("{number:#X}"),
        format!("0{number:o}"),
        format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("{a}.{b}.{tail}"),
        format!("{a:#x}.{b}.0{tail:o}"),
        format!("{a}%2E{b}%2e{c}.{d}"),
        wide,
        format!("[::ffff:{address}]"),
        format!("[::ffff:{:x}:{:x}]", number >> 16, number & 0xffff),
        format!("[::{address}]"),
        format!("[64:ff9b::{address}]"),
        format!("[2002:{:x}:{:x}::]", number >> 16, number & 0xffff),
        format!("[0:0:0:0:0:ffff:{address}]"),
    ]
}

fn full_width(c: char) -> char {
    match c {
        '0'..='9' => char::from_u32(u32::from(c) - 0x30 + 0xff10).unwrap(),
        _ => '。',
    }
}

/// I10: none of more than 500 URLs reaches a private address.
#[tokio::test]
async fn no_url_reaches_a_private_address() {
    let own = FakeServer::start(|_| text_response("the secret of this machine"));
    let names = Arc::new(FakeResolver::default());
    let mut hosts: Vec<String> =
        PRIVATE_V4.iter().flat_map(|address| spellings(address.parse().unwrap())).collect();
    hosts.extend(PRIVATE_V6.iter().map(|address| format!("[{address}]")));
    hosts.extend(["localhost", "localhost.", "LOCALHOST", "a.localhost"].map(str::to_owned));
    for (n, address) in PRIVATE_V4.iter().chain(&PRIVATE_V6).enumerate() {
        let address: IpAddr = address.parse().unwrap();
        names.set(&format!("own{n}.test"), vec![vec![address]]);
        names.set(&format!("mixed{n}.test"), vec![vec![PUBLIC_ADDRESS, address]]);
        hosts.extend([format!("own{n}.test"), format!("OWN{n}.test."), format!("mixed{n}.test")]);
    }
    for name in ["localhost", "a.localhost"] {
        names.set(name, vec![vec![Ipv4Addr::LOCALHOST.into()]]);
    }
    let web = fetcher(names);
    let mut tried = 0;
    for host in &hosts {
        for address in [
            format!("http://{host}:{}/", own.port),
            format!("http://public.test@{host}:{}/", own.port),
            format!("HTTP:\\\\{host}:{}\\", own.port),
        ] {
            let told = web.fetch(&address).await.expect_err(&address);
            assert!(!told.contains("secret"), "{address}: {told}");
            tried += 1;
        }
    }
    assert!(tried >= 500, "{tried}");
    assert_eq!(own.requests(), Vec::<String>::new());
}

/// I10: redirects do not reach private addresses, even under the same name.
#[tokio::test]
async fn no_redirect_reaches_a_private_address() {
    let own = FakeServer::start(|_| text_response("the secret of this machine"));
    let port = own.port;
    let server = FakeServer::start(move |path| {
        let host = path.trim_start_matches('/');
        response("301 Moved Permanently", &format!("Location: http://{host}:{port}/\r\n"), b"")
    });
    let names = Arc::new(FakeResolver::default());
    names.set("public.test", vec![vec![PUBLIC_ADDRESS]]);
    let web = fetcher(names);
    for address in PRIVATE_V4 {
        for host in spellings(address.parse().unwrap()).into_iter().filter(|host| host.is_ascii()) {
            let told = web.fetch(&format!("http://public.test:{}/{host}", server.port)).await;
            assert!(!told.unwrap_or_else(|refused| refused).contains("secret"), "{host}");
        }
    }
    assert!(server.requests().len() > 300);
    assert_eq!(own.requests(), Vec::<String>::new());
}

/// I10: a name that resolves to a public address first and to a private one later is refused.
#[tokio::test]
async fn dns_rebinding_is_refused() {
    let here: IpAddr = Ipv4Addr::LOCALHOST.into();
    let server = FakeServer::start(|path| match path {
        "/first" => response("302 Found", "Location: /second\r\n", b""),
        _ => text_response("the secret of this machine"),
    });
    let names = Arc::new(FakeResolver::default());
    names.set("rebind.test", vec![vec![PUBLIC_ADDRESS], vec![here]]);
    let web = fetcher(names.clone());
    let told = web.fetch(&format!("http://rebind.test:{}/first", server.port)).await.unwrap_err();
    assert!(told.contains("not on the public net"), "{told}");
    assert_eq!(server.requests().len(), 1, "the second step was not made");
    names.set("rebind.test", vec![vec![here], vec![PUBLIC_ADDRESS]]);
    assert!(web.fetch(&format!("http://rebind.test:{}/second", server.port)).await.is_err());
    assert_eq!(server.requests().len(), 0);
}
