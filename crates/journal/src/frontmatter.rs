//! Frontmatter: the YAML head of a markdown file.
//!
//! A file is a line `---`, a YAML mapping, a line `---` and a body. Values are read into typed
//! keys, so that text stays text even where YAML would see a number or a date. A file written by
//! the user is never rewritten as a whole: an edit changes one key and preserves the rest byte for
//! byte.

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
