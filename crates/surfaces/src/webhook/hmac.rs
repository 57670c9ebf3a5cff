//! HMAC with SHA-256 (RFC 2104) for signed calls.

use sha2::{Digest as _, Sha256};

/// Block size of SHA-256 in bytes.
const BLOCK: usize = 64;

/// Returns the code of the concatenated `parts` under `key`.
pub fn hmac_sha256(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut block = [0_u8; BLOCK];
    let short: [u8; 32] = Sha256::digest(key).into();
    let key = if key.len() > BLOCK { &short[..] } else { key };
    block[..key.len()].copy_from_slice(key);
    let mut inner = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x36));
    for part in parts {
        inner.update(part);
    }
    let mut outer = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x5c));
    outer.update(inner.finalize());
    outer.finalize().into()
}

/// Formats bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F1: the test cases 1, 2, 3 and 6 of RFC 4231.
    #[test]
    fn hmac_matches_published_test_cases() {
        let check = |key: &[u8], data: &[u8], code: &str| {
            assert_eq!(hex(&hmac_sha256(key, &[data])), code);
            let (left, right) = data.split_at(data.len() / 2);
            assert_eq!(hex(&hmac_sha256(key, &[left, right])), code);
        };
        check(&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
        check(
            b"Jefe",
            b"what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        );
        check(&[0xaa; 20], &[0xdd; 50], "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
        check(
            &[0xaa; 131],
            b"Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
        );
    }
}
