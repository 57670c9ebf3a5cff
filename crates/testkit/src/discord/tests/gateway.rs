//! Lines, sessions and what becomes of them.
