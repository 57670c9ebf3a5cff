//! The prompt cache: the longest prefix shared with an earlier request is read from it, without
//! being requested.

use std::collections::HashSet;

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Hashes of the prefixes of earlier requests.
#[derive(Debug, Default)]
pub struct PrefixCache {
    prefixes: HashSet<[u8; 32]>,
}

impl PrefixCache {
    /// Adds `request` to the cache. Returns its total tokens and how many of them were read from
    /// the cache.
    pub fn charge(&mut self, request: &Value) -> (u64, u64) {
        let mut hash = Sha256::new().chain_update(request["model"].to_string());
        let mut bytes = 0_usize;
        let mut total = 0;
        let mut read = 0;
        for part in parts(request) {
            bytes += part.len();
            total = bytes.div_ceil(4) as u64;
            hash.update(format!("{}\n{part}\n", part.len()));
            if !self.prefixes.insert(hash.clone().finalize().into()) {
                read = total;
            }
        }
        (total, read)
    }
}

/// Lists the cacheable parts. Tools come before messages, whatever the order in the request. The
/// Responses API calls them instructions and input.
fn parts(request: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let instructions = Some(request["instructions"].clone()).filter(|instructions| !instructions.is_null());
    let all = list(&request["tools"]).into_iter().chain(instructions);
    let all = all.chain(list(&request["messages"])).chain(list(&request["input"]));
    all.map(|part| part.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_shared_prefix_is_read_from_the_cache() {
        let mut cache = PrefixCache::default();
        let request = |words: &[&str]| json!({"model": "m", "messages": words});
        assert_eq!(cache.charge(&request(&["aaaaaa", "bbbbbb"])), (4, 0));
        assert_eq!(cache.charge(&request(&["aaaaaa", "bbbbbb", "cccccc"])), (6, 4));
        assert_eq!(cache.charge(&request(&["aaaaaa", "xxxxxx", "cccccc"])), (6, 2));
        assert_eq!(cache.charge(&json!({"model": "other", "messages": ["aaaaaa"]})), (2, 0));
    }
}
