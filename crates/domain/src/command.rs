//! Commands: words that begin with a slash, the same on every surface.

use crate::assistant::{Choice, Question, Request, Reshape, Step, Way};

/// A command that the human can give.
struct Spec {
    /// Its name, with the slash.
    name: &'static str,
    /// What may follow it.
    takes: &'static str,
    /// What it does.
    does: &'static str,
    /// What it asks, given what followed it.
    read: fn(&str) -> Request,
}

const SPECS: [Spec; 12] = [
    Spec { name: "/stop", takes: "", does: "stops the answer", read: |_| Request::Stop },
    Spec {
        name: "/retry",
        takes: "",
        does: "tries again what waits for a key of the model",
        read: |_| Request::Retry,
    },
    Spec {
        name: "/model",
        takes: "[name]",
        does: "chooses the model of the next answers, or tells which it is",
        read: |words| Request::Choose(Choice::Model(words.to_owned())),
    },
    Spec {
        name: "/compact",
        takes: "[what to mind]",
        does: "lets a summary stand for what was said so far",
        read: |words| Request::Reshape(Reshape::Compact(words.to_owned())),
    },
    Spec {
        name: "/fork",
        takes: "[topic]",
        does: "steps aside: what is said there stays out of our conversation",
        read: |words| Request::Step(Step::Aside(words.to_owned())),
    },
    Spec {
        name: "/save",
        takes: "",
        does: "makes the side conversation the main one",
        read: |_| Request::Step(Step::Back(Way::Save)),
    },
    Spec {
        name: "/report",
        takes: "[summary]",
        does: "leaves the side conversation with a summary for the main one",
        read: |words| Request::Step(Step::Back(Way::Report(words.to_owned()))),
    },
    Spec {
        name: "/exit",
        takes: "",
        does: "leaves the side conversation and keeps nothing",
        read: |_| Request::Step(Step::Back(Way::Drop)),
    },
    Spec {
        name: "/clear",
        takes: "",
        does: "starts our conversation over",
        read: |_| Request::Reshape(Reshape::Clear),
    },
    Spec {
        name: "/updates",
        takes: "",
        does: "tells what background runs left for us",
        read: |_| Request::Tell(Question::Reports),
    },
    Spec {
        name: "/undo",
        takes: "",
        does: "takes the last compaction back",
        read: |_| Request::Reshape(Reshape::Undo),
    },
    Spec {
        name: "/status",
        takes: "",
        does: "tells what is in the inbox and what waits",
        read: |_| Request::Tell(Question::Status),
    },
];

/// Whether `text` is a command at all.
pub fn is_command(text: &str) -> bool {
    text.starts_with('/')
}

/// What `text` asks, or what would be right instead.
pub fn read(text: &str) -> Result<Request, String> {
    let (name, words) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    if name == REPLY {
        return Err(format!(
            "write `{REPLY}`, the number of a message, and your words: `{REPLY} 17 yes, do`."
        ));
    }
    let Some(spec) = SPECS.iter().find(|spec| spec.name == name) else {
        return Err(format!("there is no command `{name}`. these are the commands:\n{}", list()));
    };
    match (spec.takes, words.trim()) {
        ("", words) if !words.is_empty() => Err(format!("`{name}` stands alone: leave out `{words}`.")),
        (_, words) => Ok((spec.read)(words)),
    }
}

/// The command that replies. What it says is a message, so it is read where messages are.
pub const REPLY: &str = "/reply";

/// The command that tells which ones there are. Nobody needs to be asked for that.
pub const HELP: &str = "/help";

/// All commands, a line each.
pub fn list() -> String {
    let line = |spec: &Spec| {
        let call = format!("{} {}", spec.name, spec.takes);
        format!("{:<26} {}", call.trim_end(), spec.does)
    };
    let reply = format!("{:<26} replies to the message with that number", format!("{REPLY} NUMBER WORDS"));
    let help = format!("{HELP:<26} tells these commands");
    SPECS.iter().map(line).chain([reply, help]).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_with_what_follows_it() {
        let check = |text: &str, expected: Result<Request, &str>| match (read(text), expected) {
            (Ok(read), Ok(expected)) => assert_eq!(read, expected, "{text}"),
            (Err(read), Err(expected)) => assert!(read.contains(expected), "{text}: {read}"),
            (read, expected) => panic!("{text}: {read:?} instead of {expected:?}"),
        };
        check("/compact", Ok(Request::Reshape(Reshape::Compact(String::new()))));
        check(
            "/compact  keep the jokes ",
            Ok(Request::Reshape(Reshape::Compact("keep the jokes".to_owned()))),
        );
        check("/undo", Ok(Request::Reshape(Reshape::Undo)));
        check("/undo all of it", Err("leave out `all of it`"));
        check("/compacted", Err("there is no command `/compacted`"));
        check("/", Err("/compact [what to mind]"));
        check("/", Err("/reply NUMBER WORDS"));
        check("/reply 17", Err("`/reply 17 yes, do`"));
    }
}
