//! Frontmatter: the YAML head of a markdown file.
//!
//! A file is a line `---`, a YAML mapping, a line `---` and a body. Values are read into typed
//! keys, so that text stays text even where YAML would see a number or a date. A file written by
//! the user is never rewritten as a whole: an edit changes one key and preserves the rest byte for
//! byte.

mod edit;
mod error;
mod quoting;
mod read;
mod scan;
mod split;
mod typos;
mod value;
pub(crate) mod wire;
mod write;

pub use edit::{Change, edit};
pub use error::{BadFile, BadText};
pub(crate) use quoting::with_quoted_values;
pub(crate) use read::{invalid_value, read, require_body};
pub use split::{Split, split};
pub use typos::find_typos;
pub(crate) use typos::{reminder_keys, routine_keys, webhook_keys};
pub use value::Value;
pub(crate) use write::FrontmatterBuilder;
