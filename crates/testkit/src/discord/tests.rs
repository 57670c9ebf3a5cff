//! Stories about the played Discord itself: if it is not like the real one, all that is tested with it proves little.

mod bot;
mod commands;
mod door;
mod faults;
mod forms;
mod gateway;
mod interactions;
mod limits;
mod messages;
mod person;
