//! The data directory: the log in SQLite, the files people read, and their git history.

pub mod disk;
pub mod files;
pub mod frontmatter;
pub mod git;
