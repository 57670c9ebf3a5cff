//! K1: tests of the listeners of the page.

use std::net::{SocketAddr, UdpSocket};

use surfaces::web::listener;
use tokio::net::{TcpListener, TcpStream};

use crate::fixture::{Fixture, RawRequest};

/// K1: only loopback addresses are accepted; any other is refused with a clear error.
#[tokio::test]
async fn no_other_machine_can_reach_the_page() {
    for address in [
        "0.0.0.0:0",
        "[::]:0",
        "192.168.1.10:0",
        "10.0.0.1:0",
        "169.254.1.1:0",
        "100.64.0.1:0",
        "127.0.0.2:0",
        "[::ffff:127.0.0.1]:0",
        "[::ffff:0.0.0.0]:0",
        "[fe80::1]:0",
        "8.8.8.8:7645",
        "255.255.255.255:0",
    ] {
        let refusal = listener::bind(address.parse().unwrap()).await.unwrap_err().to_string();
        assert!(refusal.contains(address) || refusal.contains("::ffff"), "{refusal}");
        assert!(refusal.contains("use 127.0.0.1 or [::1]"), "{refusal}");
    }
}

/// K1: the page does not respond on an address that is not loopback.
#[tokio::test]
async fn the_page_does_not_respond_on_a_non_loopback_address() {
    let rig = Fixture::new().await;
    // No packet is sent; this only determines the local address.
    let probe = UdpSocket::bind("0.0.0.0:0").unwrap();
    if probe.connect("192.0.2.1:9").is_err() {
        return;
    }
    let mut outside: SocketAddr = probe.local_addr().unwrap();
    outside.set_port(rig.port);
    if !outside.ip().is_loopback() {
        assert!(TcpStream::connect(outside).await.is_err());
    }
}

#[tokio::test]
async fn the_next_port_is_used_if_one_is_taken() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let wanted = taken.local_addr().unwrap();
    match listener::bind(wanted).await {
        Ok(door) => {
            let port = door.address().port();
            assert!(port > wanted.port() && port <= wanted.port() + 20);
            assert_eq!(door.page_url(), format!("http://127.0.0.1:{port}"));
        }
        Err(error) => assert!(wanted.port() > u16::MAX - 20, "{error}"),
    }
}

#[tokio::test]
async fn the_socket_file_needs_no_pairing() {
    let rig = Fixture::new().await;
    let health = rig.send_by_file(&RawRequest::new("GET", "/api/health").with_header("host", "ollim")).await;
    assert_eq!(health.json()["brain"], "played");
    let said = rig
        .send_by_file(
            &RawRequest::new("POST", "/api/messages").with_header("host", "ollim").json("{\"text\":\"hi\"}"),
        )
        .await;
    assert_eq!((said.status, said.json()["message"].as_u64()), (202, Some(1)));
}

#[tokio::test]
async fn stopping_ends_every_connection() {
    let mut rig = Fixture::new().await;
    let mut stream = rig.connect().await;
    tokio::io::AsyncWriteExt::write_all(
        &mut stream,
        rig.paired_request("GET", "/api/events", "").text().as_bytes(),
    )
    .await
    .unwrap();
    assert_eq!(crate::fixture::read_response(&mut stream).await.status, 200);
    rig.stop.cancel();
    rig.wait_for_end().await;
    assert!(TcpStream::connect(("127.0.0.1", rig.port)).await.is_err());
    assert!(!rig.home.path().join("ollim.sock").exists());
}
