//! What the model reads when a side conversation begins, and when the human wants its report.

/// What stands before the first words in a fork.
pub const FORK_STARTED: &str = "[fork-started]";

/// IF-12: the first words in a fork.
pub fn fork_started(topic: Option<&str>) -> String {
    let begun = format!(
        "{FORK_STARTED} you are now in an interactive fork of our conversation: nothing said here reaches main \
         unless you leave with `report_updates` or `save_context`."
    );
    match topic {
        Some(topic) => format!(
            "{begun} Topic: {topic}\nrespond to that, and then wait for the human before you think of leaving."
        ),
        None => format!("{begun} the human will lead: say in a few words that you are here, and wait."),
    }
}

/// IF-25: the last words in a fork that the human wants reported.
pub const REPORT_WANTED: &str = "[system] the human wants this fork summed up for the main conversation. call \
    `report_updates` now with a concise summary, and use no other tool. the fork ends right after.";
