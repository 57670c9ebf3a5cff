//! Frontmatter: the part of a markdown file that we read, above the part that is only words.
//!
//! A file is a line `---`, a YAML mapping, a line `---` and a body. Reading goes into typed keys, so that text
//! stays the text that was written, even where YAML would see a number or a date. What a person wrote is never
//! rewritten as a whole: one key is changed in its place and all else stays as it is, to the byte.

mod bad;
mod edit;
mod quoting;
mod read;
mod scan;
mod slips;
mod split;
mod value;
pub(crate) mod wire;
mod write;

pub use bad::{BadFile, BadText};
pub use edit::{Change, edit};
pub(crate) use quoting::with_quoted_values;
pub(crate) use read::{read, told, untrue};
pub use slips::slips;
pub(crate) use slips::{reminder_keys, routine_keys, webhook_keys};
pub use split::{Split, split};
pub use value::Value;
pub(crate) use write::Head;
