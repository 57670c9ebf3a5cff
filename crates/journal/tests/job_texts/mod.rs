//! Texts of job files, and their news as text.

use domain::schedule::JobFileChange;

/// The text of a valid routine.
pub fn valid_routine(id: &str, words: &str) -> String {
    format!("---\nid: {id}\ncron: 0 9 * * *\n---\n{words}\n")
}

/// News, one line each.
pub fn news_lines(news: &[JobFileChange]) -> String {
    let line = |news: &JobFileChange| match news {
        JobFileChange::Planned(planned) => {
            format!("plans {} as {}: {}", planned.source(), planned.file, planned.prompt())
        }
        JobFileChange::Removed(source) => format!("gone {source}"),
        JobFileChange::Invalid { reported_before: true, file, .. } => format!("told before: {file}"),
        JobFileChange::Withheld { reported_before: true, file, .. } => format!("told before: {file}"),
        JobFileChange::Invalid { file, source: Some(source), reason: why, .. } => {
            format!("broken {file} ({source}): {why}")
        }
        JobFileChange::Invalid { file, source: None, reason: why, .. } => format!("broken {file}: {why}"),
        JobFileChange::Withheld { file, reason: why, .. } => format!("held {file}: {why}"),
        JobFileChange::Repaired(file) => format!("mended {file}"),
    };
    news.iter().map(line).collect::<Vec<_>>().join("\n")
}
