//! The machine, told what happens.
