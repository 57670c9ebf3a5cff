//! Ten thousand slightly altered calls.

use std::net::IpAddr;

use domain::dice::Dice;
use domain::schedule::Proof;

use crate::rig::{Call, Rig};

/// Changes `call` in one of many ways; the result may equal the original.
fn mutated(mut call: Call, dice: &mut Dice) -> Call {
    let below = |dice: &mut Dice, most: usize| usize::try_from(dice.roll() % most.max(1) as u64).unwrap();
    // GitHub does not sign the delivery id, and `bearer` is case-insensitive.
    let header = |call: &mut Call, dice: &mut Dice| {
        let signed = call.headers.iter().position(|(name, _)| name == "x-hub-signature-256");
        let bearer = call.headers.iter().position(|(name, _)| name == "authorization");
        signed.or(bearer).unwrap_or_else(|| below(dice, call.headers.len()))
    };
    let is_bearer = call.path.ends_with("bearer");
    match below(dice, if is_bearer { 5 } else { 10 }) {
        0 => {
            let index = header(&mut call, dice);
            let value = &mut call.headers[index].1;
            let start = if is_bearer { 7 } else { 0 };
            let place = start + below(dice, value.len() - start);
            value[place] ^= 1 << below(dice, 7);
            if value[place] < 32 || value[place] == 127 {
                value[place] = b'~';
            }
        }
        1 => {
            let index = header(&mut call, dice);
            call.headers[index].1.truncate(below(dice, 20));
        }
        2 => {
            let index = header(&mut call, dice);
            call.headers.remove(index);
        }
        3 => {
            let index = header(&mut call, dice);
            let place = below(dice, call.headers[index].1.len());
            let strange = [0xe9_u8, 0xff, 0x80, 0xc3][below(dice, 4)];
            call.headers[index].1.insert(place, strange);
        }
        4 => {
            let index = header(&mut call, dice);
            let twin = call.headers[index].clone();
            call.headers.push(twin);
        }
        5 => {
            let place = below(dice, call.body.len());
            call.body[place] ^= 1 << below(dice, 8);
        }
        6 => call.body.truncate(below(dice, call.body.len())),
        7 => call.body.push(b" \n\0x\xff"[below(dice, 5)]),
        8 => {
            for (name, value) in &mut call.headers {
                if name.as_str() == "webhook-timestamp" {
                    *value = (1_614_265_330_i64 + i64::try_from(dice.roll() % 2_000).unwrap() - 1_000)
                        .to_string()
                        .into_bytes();
                } else if name.as_str() == "x-hub-signature-256" {
                    *value = value.to_ascii_uppercase();
                }
            }
        }
        _ => {
            call.path =
                ["/hook/standard", "/hook/github", "/hook/bearer", "/hook/BEARER"][below(dice, 4)].to_owned()
        }
    }
    call
}

/// F1: no altered call is accepted, and none causes an internal error.
#[tokio::test]
async fn ten_thousand_calls_that_are_almost_right_are_turned_away() {
    let rig = Rig::new();
    let mut dice = Dice::new(20_261_117);
    let right: Vec<Call> =
        Proof::ALL.map(|proof| rig.right(proof, "msg_1", r#"{"test": 2432232314}"#)).to_vec();
    let mut tried = 0_u32;
    while tried < 10_000 {
        let original = &right[usize::try_from(dice.roll() % 3).unwrap()];
        let mut call = mutated(original.clone(), &mut dice);
        if call == *original {
            continue;
        }
        tried += 1;
        // Each call has an address of its own, so none is blocked for failures.
        call.from = IpAddr::from(tried.to_be_bytes());
        let reply = rig.call(&call).await;
        assert!(!reply.status().is_success() && !reply.status().is_server_error(), "{call:?} {reply:?}");
    }
    assert_eq!(rig.taken(), 0);
    for call in &right {
        assert!(rig.call(call).await.status().is_success(), "unchanged it is let in: {call:?}");
    }
}
