//! Ten thousand slightly altered calls.

use std::net::IpAddr;

use domain::rng::Rng;
use domain::schedule::WebhookAuth;

use crate::fixture::{Call, Fixture};

/// Changes `call` in one of many ways; the result may equal the original.
fn mutate(mut call: Call, rng: &mut Rng) -> Call {
    let below = |rng: &mut Rng, most: usize| usize::try_from(rng.next_u64() % most.max(1) as u64).unwrap();
    // GitHub does not sign the delivery id, and `bearer` is case-insensitive.
    let header = |call: &mut Call, rng: &mut Rng| {
        let signed = call.headers.iter().position(|(name, _)| name == "x-hub-signature-256");
        let bearer = call.headers.iter().position(|(name, _)| name == "authorization");
        signed.or(bearer).unwrap_or_else(|| below(rng, call.headers.len()))
    };
    let is_bearer = call.path.ends_with("bearer");
    match below(rng, if is_bearer { 5 } else { 10 }) {
        0 => {
            let index = header(&mut call, rng);
            let value = &mut call.headers[index].1;
            let start = if is_bearer { 7 } else { 0 };
            let place = start + below(rng, value.len() - start);
            value[place] ^= 1 << below(rng, 7);
            if value[place] < 32 || value[place] == 127 {
                value[place] = b'~';
            }
        }
        1 => {
            let index = header(&mut call, rng);
            call.headers[index].1.truncate(below(rng, 20));
        }
        2 => {
            let index = header(&mut call, rng);
            call.headers.remove(index);
        }
        3 => {
            let index = header(&mut call, rng);
            let place = below(rng, call.headers[index].1.len());
            let strange = [0xe9_u8, 0xff, 0x80, 0xc3][below(rng, 4)];
            call.headers[index].1.insert(place, strange);
        }
        4 => {
            let index = header(&mut call, rng);
            let twin = call.headers[index].clone();
            call.headers.push(twin);
        }
        5 => {
            let place = below(rng, call.body.len());
            call.body[place] ^= 1 << below(rng, 8);
        }
        6 => call.body.truncate(below(rng, call.body.len())),
        7 => call.body.push(b" \n\0x\xff"[below(rng, 5)]),
        8 => {
            for (name, value) in &mut call.headers {
                if name.as_str() == "webhook-timestamp" {
                    *value = (1_614_265_330_i64 + i64::try_from(rng.next_u64() % 2_000).unwrap() - 1_000)
                        .to_string()
                        .into_bytes();
                } else if name.as_str() == "x-hub-signature-256" {
                    *value = value.to_ascii_uppercase();
                }
            }
        }
        _ => {
            call.path =
                ["/hook/standard", "/hook/github", "/hook/bearer", "/hook/BEARER"][below(rng, 4)].to_owned()
        }
    }
    call
}

/// F1: no altered call is accepted, and none causes an internal error.
#[tokio::test]
async fn ten_thousand_altered_calls_are_refused() {
    let rig = Fixture::new();
    let mut dice = Rng::new(20_261_117);
    let right: Vec<Call> =
        WebhookAuth::ALL.map(|proof| rig.valid_call(proof, "msg_1", r#"{"test": 2432232314}"#)).to_vec();
    let mut tried = 0_u32;
    while tried < 10_000 {
        let original = &right[usize::try_from(dice.next_u64() % 3).unwrap()];
        let mut call = mutate(original.clone(), &mut dice);
        if call == *original {
            continue;
        }
        tried += 1;
        // Each call has an address of its own, so none is blocked for failures.
        call.from = IpAddr::from(tried.to_be_bytes());
        let reply = rig.call(&call).await;
        assert!(!reply.status().is_success() && !reply.status().is_server_error(), "{call:?} {reply:?}");
    }
    assert_eq!(rig.delivery_count(), 0);
    for call in &right {
        assert!(rig.call(call).await.status().is_success(), "unchanged it is let in: {call:?}");
    }
}
