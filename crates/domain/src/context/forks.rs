//! Texts that the model reads when a fork begins, and when the user requests its report.

/// The tag of the first message in a fork.
pub const FORK_STARTED: &str = "[fork-started]";

/// IF-12: Returns the first message of a fork.
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

/// IF-25: The last message of a fork whose report the user requests.
pub const REPORT_REQUESTED: &str = "[system] the human wants this fork summed up for the main conversation. call \
    `report_updates` now with a concise summary, and use no other tool. the fork ends right after.";

/// IF-14: The preface of a user's reply to a background run.
pub const FORK_FROM_REPLY: &str = "[fork-started] you are now in an interactive fork, resumed from a background fork \
    reply: the human replies to a message of this run, and you have its history. nothing said here reaches main \
    unless you leave with `report_updates` or `save_context`.\n\n";

/// IF-15: The preface of the question of a button that a background run had shown.
pub const FORK_FROM_BUTTON: &str = "[fork-started] you are now in an interactive fork, resumed from a background session \
    whose history you have. the human clicked the button that asks what stands below. address it, and then go on \
    with the conversation; nothing said here reaches main unless you leave with `report_updates` or \
    `save_context`.\n\n";
