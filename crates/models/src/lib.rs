//! Who answers: LLM vendors, one file a wire format, and the offline brain.

pub mod offline;
