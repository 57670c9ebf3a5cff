//! Splitting text into messages that Discord takes.
