//! Stories about the played Discord itself: if it is not like the real one, all that is tested with it proves little.

mod gateway;
