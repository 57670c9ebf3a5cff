//! Caches the serialized start of requests: the next request of a branch serializes only its new
//! entries.
//!
//! Entries never change and are shared, so the same entries at the same positions produce the same
//! bytes. A fork shares the pages of its parent branch. The last messages of a request are not
//! cached: they may still grow, and the vendor's cache marks move in them.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::context::{Context, SystemNote};
use domain::conversation::{Branch, EntryContent};
use domain::failure::Failure;
use hyper::body::Bytes;
use serde::Serialize;

/// The number of messages at the end of a request that are serialized again each time. Cache marks
/// are only in them: the longest tail is a user message, its system note, the reply, and the next
/// user message with its note.
pub const UNCACHED_TAIL: usize = 5;

/// The size limits of the cache.
#[derive(Clone, Copy, Debug)]
pub struct CacheLimits {
    /// The length of a page, in bytes, from which the next one begins.
    pub page_bytes: usize,
    /// The most branches; the least recently used one is dropped.
    pub branches: usize,
    /// The most bytes of all branches. Shared pages count for each branch; the referenced entries
    /// need about as much again.
    pub total_bytes: usize,
}

impl CacheLimits {
    /// The limits of a client.
    pub const DEFAULT: Self = Self { page_bytes: 64 * 1024, branches: 16, total_bytes: 128 * 1024 * 1024 };
}

/// One message of a request, and the entries it was built from.
#[derive(Debug)]
pub struct BuiltMessage<M> {
    pub message: M,
    /// The index of the first entry in it.
    pub first: usize,
    /// The index of the last entry in it.
    pub last: usize,
}

/// A serialized request. Its chunks are shared, not copied.
#[derive(Clone, Debug, Default)]
pub struct RequestBody(pub Vec<Bytes>);

impl RequestBody {
    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }
}

impl From<Vec<u8>> for RequestBody {
    fn from(bytes: Vec<u8>) -> Self {
        Self(vec![bytes.into()])
    }
}

/// Returns the bytes of a request without messages, up to the position of the messages.
pub fn request_prefix(request: &impl Serialize) -> Result<Vec<u8>, Failure> {
    let mut bytes = serde_json::to_vec(request).map_err(serialize_failure)?;
    bytes.truncate(bytes.len() - REQUEST_SUFFIX.len());
    Ok(bytes)
}

/// Returns the entry before the index `from` that the model reads, if there is one.
pub fn previous_entry(said: &[Arc<EntryContent>], from: usize) -> Option<&EntryContent> {
    said[..from].iter().map(AsRef::as_ref).rfind(|said| !matches!(said, EntryContent::SummaryRecalled(_)))
}

/// The bytes after the messages.
const REQUEST_SUFFIX: &[u8] = b"]}";

/// The cached request prefixes of one client, the newest last.
#[derive(Debug)]
pub struct PrefixCache {
    limits: CacheLimits,
    prefixes: Mutex<VecDeque<(Branch, CachedPrefix)>>,
}

/// The entries of a branch's newest request, and its cached messages.
#[derive(Clone, Debug, Default)]
struct CachedPrefix {
    entries: Vec<Arc<EntryContent>>,
    notes: Vec<SystemNote>,
    /// The model of the request: others may render notes differently.
    model: Option<String>,
    pages: Vec<Page>,
}

/// Some complete messages, each followed by a comma.
#[derive(Clone, Debug)]
struct Page {
    bytes: Bytes,
    end: PageEnd,
}

/// The end position of a page.
#[derive(Clone, Copy, Debug)]
struct PageEnd {
    /// The index of the entry that begins the next message.
    next_entry: usize,
    /// The number of leading entries that another request must share to reuse the page.
    required_entries: usize,
}

impl PrefixCache {
    pub fn new(limits: CacheLimits) -> Self {
        Self { limits, prefixes: Mutex::default() }
    }

    /// Returns the request that begins with `request_prefix`, up to the position of the messages,
    /// and continues with the entries in `context`. `make` returns the messages for the entries
    /// from an index on.
    pub fn write_request<M: Serialize>(
        &self,
        mut request_prefix: Vec<u8>,
        context: &Context,
        make: impl FnOnce(usize) -> Vec<BuiltMessage<M>>,
    ) -> Result<RequestBody, Failure> {
        let mut prefix = self.take(context);
        let made = make(prefix.pages.last().map_or(0, |page| page.end.next_entry));
        let has_no_messages = prefix.pages.is_empty() && made.is_empty();
        if !has_no_messages && !request_prefix.ends_with(b"[") {
            request_prefix.push(b',');
        }
        let mut rest = prefix.add_messages(&made, self.limits.page_bytes)?;
        rest.extend_from_slice(REQUEST_SUFFIX);
        let pages = prefix.pages.iter().map(|page| page.bytes.clone());
        let body =
            RequestBody([request_prefix.into()].into_iter().chain(pages).chain([rest.into()]).collect());
        prefix.entries.extend_from_slice(&context.entries[prefix.entries.len()..]);
        prefix.notes.clone_from(&context.notes);
        prefix.model.clone_from(&context.model);
        self.put(context.branch.clone(), prefix);
        Ok(body)
    }

    /// Drops all cached bytes, because the same messages are now serialized differently.
    pub fn clear(&self) {
        self.prefixes().clear();
    }

    /// Returns the longest cached prefix of `context`. The branch's own is moved out, another
    /// branch's is cloned.
    fn take(&self, context: &Context) -> CachedPrefix {
        let mut prefixes = self.prefixes();
        let own = prefixes.iter().position(|(branch, _)| *branch == context.branch);
        let own = own.and_then(|at| prefixes.remove(at)).map(|(_, own)| own).unwrap_or_default();
        let mut best = &own;
        let mut shared = own.shared_entries(context);
        for (_, other) in prefixes.iter() {
            let with_other = other.shared_entries(context);
            if with_other > shared {
                (best, shared) = (other, with_other);
            }
        }
        if std::ptr::eq(best, &own) { own.truncate_to(shared) } else { best.clone().truncate_to(shared) }
    }

    fn put(&self, branch: Branch, prefix: CachedPrefix) {
        let mut prefixes = self.prefixes();
        prefixes.push_back((branch, prefix));
        let size = |prefixes: &VecDeque<(Branch, CachedPrefix)>| {
            prefixes.iter().map(|(_, one)| one.size()).sum::<usize>()
        };
        while prefixes.len() > self.limits.branches || size(&prefixes) > self.limits.total_bytes {
            prefixes.pop_front();
        }
    }

    fn prefixes(&self) -> MutexGuard<'_, VecDeque<(Branch, CachedPrefix)>> {
        self.prefixes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedPrefix {
    /// Returns how many leading entries are identical.
    fn shared_entries(&self, context: &Context) -> usize {
        let has_notes = !self.notes.is_empty() || !context.notes.is_empty();
        if has_notes && self.model != context.model {
            return 0;
        }
        let same = self
            .entries
            .iter()
            .zip(&context.entries)
            .take_while(|(kept, said)| Arc::ptr_eq(kept, said))
            .count();
        let other_note = first_difference(&self.notes, &context.notes).unwrap_or(same);
        same.min(other_note)
    }

    /// Drops everything that depends on entries after the first `same`.
    fn truncate_to(mut self, same: usize) -> Self {
        self.entries.truncate(same);
        let holds = self.pages.iter().take_while(|page| page.end.required_entries <= same).count();
        self.pages.truncate(holds);
        self
    }

    fn size(&self) -> usize {
        self.pages.iter().map(|page| page.bytes.len()).sum()
    }

    /// Caches every message that will not change, and returns the bytes of the others.
    fn add_messages<M: Serialize>(
        &mut self,
        made: &[BuiltMessage<M>],
        page_bytes: usize,
    ) -> Result<Vec<u8>, Failure> {
        // A short page is extended; its complete messages stay.
        let short = self.pages.pop_if(|last| last.bytes.len() < page_bytes);
        let mut complete = short.as_ref().map(|last| (last.bytes.len(), last.end));
        let mut bytes = short.map(|last| Vec::from(last.bytes)).unwrap_or_default();
        for (at, one) in made.iter().enumerate() {
            serde_json::to_writer(&mut bytes, &one.message).map_err(serialize_failure)?;
            if at + 1 < made.len() {
                bytes.push(b',');
            }
            complete = PageEnd::after(at, made).map(|end| (bytes.len(), end)).or(complete);
            if let Some((_, end)) =
                complete.take_if(|(length, _)| *length >= page_bytes && *length == bytes.len())
            {
                self.pages.push(Page { bytes: mem::take(&mut bytes).into(), end });
            }
        }
        let Some((length, end)) = complete else { return Ok(bytes) };
        let rest = bytes.split_off(length);
        self.pages.push(Page { bytes: bytes.into(), end });
        Ok(rest)
    }
}

/// Returns the position of the first note that only one of the two has.
fn first_difference(cached: &[SystemNote], notes: &[SystemNote]) -> Option<usize> {
    let at = cached.iter().zip(notes).take_while(|(cached, note)| cached == note).count();
    [cached.get(at), notes.get(at)].into_iter().flatten().map(|note| note.after).min()
}

impl PageEnd {
    /// Returns the end of the message at `at`, or none while it can still grow or be marked.
    fn after<M>(at: usize, made: &[BuiltMessage<M>]) -> Option<Self> {
        let next = made.get(at + 1)?.first;
        let marked = made.get(at + UNCACHED_TAIL)?.first;
        (made[at].last < next).then_some(Self { next_entry: next, required_entries: marked + 1 })
    }
}

fn serialize_failure(error: serde_json::Error) -> Failure {
    Failure::Rejected(error.to_string())
}

#[cfg(test)]
mod tests;
