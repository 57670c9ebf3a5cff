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
use domain::conversation::{Branch, Said};
use domain::failure::Failure;
use hyper::body::Bytes;
use serde::Serialize;

/// The number of messages at the end of a request that are serialized again each time. Cache marks
/// are only in them: the longest tail is a user message, its system note, the reply, and the next
/// user message with its note.
pub const WRITTEN_ANEW: usize = 5;

/// The size limits of the cache.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The length of a page, in bytes, from which the next one begins.
    pub page: usize,
    /// The most branches; the least recently used one is dropped.
    pub branches: usize,
    /// The most bytes of all branches. Shared pages count for each branch; the referenced entries
    /// need about as much again.
    pub bytes: usize,
}

impl Limits {
    /// The limits of a client.
    pub const HOUSE: Self = Self { page: 64 * 1024, branches: 16, bytes: 128 * 1024 * 1024 };
}

/// One message of a request, and the entries it was built from.
#[derive(Debug)]
pub struct Made<M> {
    pub message: M,
    /// The index of the first entry in it.
    pub first: usize,
    /// The index of the last entry in it.
    pub last: usize,
}

/// A serialized request. Its chunks are shared, not copied.
#[derive(Clone, Debug, Default)]
pub struct Body(pub Vec<Bytes>);

impl Body {
    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self(vec![bytes.into()])
    }
}

/// Returns the bytes of a request without messages, up to the position of the messages.
pub fn opening(request: &impl Serialize) -> Result<Vec<u8>, Failure> {
    let mut bytes = serde_json::to_vec(request).map_err(unwritable)?;
    bytes.truncate(bytes.len() - CLOSING.len());
    Ok(bytes)
}

/// Returns the entry before the index `from` that the model reads, if there is one.
pub fn before(said: &[Arc<Said>], from: usize) -> Option<&Said> {
    said[..from].iter().map(AsRef::as_ref).rfind(|said| !matches!(said, Said::Recalled(_)))
}

/// The bytes after the messages.
const CLOSING: &[u8] = b"]}";

/// The cached request prefixes of one client, the newest last.
#[derive(Debug)]
pub struct Beginnings {
    limits: Limits,
    kept: Mutex<VecDeque<(Branch, Beginning)>>,
}

/// The entries of a branch's newest request, and its cached messages.
#[derive(Clone, Debug, Default)]
struct Beginning {
    said: Vec<Arc<Said>>,
    notes: Vec<SystemNote>,
    /// The model of the request: others may render notes differently.
    model: Option<String>,
    pages: Vec<Page>,
}

/// Some complete messages, each followed by a comma.
#[derive(Clone, Debug)]
struct Page {
    bytes: Bytes,
    end: End,
}

/// The end position of a page.
#[derive(Clone, Copy, Debug)]
struct End {
    /// The index of the entry that begins the next message.
    next: usize,
    /// The number of leading entries that another request must share to reuse the page.
    holds_for: usize,
}

impl Beginnings {
    pub fn new(limits: Limits) -> Self {
        Self { limits, kept: Mutex::default() }
    }

    /// Returns the request that begins with `request_prefix`, up to the position of the messages,
    /// and continues with the entries in `context`. `make` returns the messages for the entries
    /// from an index on.
    pub fn write<M: Serialize>(
        &self,
        mut opening: Vec<u8>,
        context: &Context,
        make: impl FnOnce(usize) -> Vec<Made<M>>,
    ) -> Result<Body, Failure> {
        let mut beginning = self.take(context);
        let made = make(beginning.pages.last().map_or(0, |page| page.end.next));
        let silent = beginning.pages.is_empty() && made.is_empty();
        if !silent && !opening.ends_with(b"[") {
            opening.push(b',');
        }
        let mut rest = beginning.grow(&made, self.limits.page)?;
        rest.extend_from_slice(CLOSING);
        let pages = beginning.pages.iter().map(|page| page.bytes.clone());
        let body = Body([opening.into()].into_iter().chain(pages).chain([rest.into()]).collect());
        beginning.said.extend_from_slice(&context.said[beginning.said.len()..]);
        beginning.notes.clone_from(&context.notes);
        beginning.model.clone_from(&context.model);
        self.put(context.branch.clone(), beginning);
        Ok(body)
    }

    /// Drops all cached bytes, because the same messages are now serialized differently.
    pub fn clear(&self) {
        self.kept().clear();
    }

    /// Returns the longest cached prefix of `context`. The branch's own is moved out, another
    /// branch's is cloned.
    fn take(&self, context: &Context) -> Beginning {
        let mut kept = self.kept();
        let own = kept.iter().position(|(branch, _)| *branch == context.branch);
        let own = own.and_then(|at| kept.remove(at)).map(|(_, own)| own).unwrap_or_default();
        let mut best = &own;
        let mut same = own.same(context);
        for (_, other) in kept.iter() {
            let with_other = other.same(context);
            if with_other > same {
                (best, same) = (other, with_other);
            }
        }
        if std::ptr::eq(best, &own) { own.cut(same) } else { best.clone().cut(same) }
    }

    fn put(&self, branch: Branch, beginning: Beginning) {
        let mut kept = self.kept();
        kept.push_back((branch, beginning));
        let size =
            |kept: &VecDeque<(Branch, Beginning)>| kept.iter().map(|(_, one)| one.size()).sum::<usize>();
        while kept.len() > self.limits.branches || size(&kept) > self.limits.bytes {
            kept.pop_front();
        }
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<(Branch, Beginning)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Beginning {
    /// Returns how many leading entries are identical.
    fn same(&self, context: &Context) -> usize {
        let has_notes = !self.notes.is_empty() || !context.notes.is_empty();
        if has_notes && self.model != context.model {
            return 0;
        }
        let same =
            self.said.iter().zip(&context.said).take_while(|(kept, said)| Arc::ptr_eq(kept, said)).count();
        let other_note = first_difference(&self.notes, &context.notes).unwrap_or(same);
        same.min(other_note)
    }

    /// Drops everything that depends on entries after the first `same`.
    fn cut(mut self, same: usize) -> Self {
        self.said.truncate(same);
        let holds = self.pages.iter().take_while(|page| page.end.holds_for <= same).count();
        self.pages.truncate(holds);
        self
    }

    fn size(&self) -> usize {
        self.pages.iter().map(|page| page.bytes.len()).sum()
    }

    /// Caches every message that will not change, and returns the bytes of the others.
    fn grow<M: Serialize>(&mut self, made: &[Made<M>], page: usize) -> Result<Vec<u8>, Failure> {
        // A short page is extended; its complete messages stay.
        let short = self.pages.pop_if(|last| last.bytes.len() < page);
        let mut whole = short.as_ref().map(|last| (last.bytes.len(), last.end));
        let mut bytes = short.map(|last| Vec::from(last.bytes)).unwrap_or_default();
        for (at, one) in made.iter().enumerate() {
            serde_json::to_writer(&mut bytes, &one.message).map_err(unwritable)?;
            if at + 1 < made.len() {
                bytes.push(b',');
            }
            whole = End::after(at, made).map(|end| (bytes.len(), end)).or(whole);
            if let Some((_, end)) = whole.take_if(|(length, _)| *length >= page && *length == bytes.len()) {
                self.pages.push(Page { bytes: mem::take(&mut bytes).into(), end });
            }
        }
        let Some((length, end)) = whole else { return Ok(bytes) };
        let rest = bytes.split_off(length);
        self.pages.push(Page { bytes: bytes.into(), end });
        Ok(rest)
    }
}

/// Returns the position of the first note that only one of the two has.
fn first_difference(kept: &[SystemNote], notes: &[SystemNote]) -> Option<usize> {
    let at = kept.iter().zip(notes).take_while(|(kept, note)| kept == note).count();
    [kept.get(at), notes.get(at)].into_iter().flatten().map(|note| note.after).min()
}

impl End {
    /// Returns the end of the message at `at`, or none while it can still grow or be marked.
    fn after<M>(at: usize, made: &[Made<M>]) -> Option<Self> {
        let next = made.get(at + 1)?.first;
        let marked = made.get(at + WRITTEN_ANEW)?.first;
        (made[at].last < next).then_some(Self { next, holds_for: marked + 1 })
    }
}

fn unwritable(error: serde_json::Error) -> Failure {
    Failure::Rejected(error.to_string())
}

#[cfg(test)]
mod tests;
