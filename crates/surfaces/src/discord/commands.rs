//! Commands: what the human can run in Discord, and what each of them answers.

use super::dm::Shared;
use super::events::Interaction;

/// Answers a command, or who is still typing one.
pub(super) async fn answer(_shared: &Shared, _interaction: &Interaction) {}
