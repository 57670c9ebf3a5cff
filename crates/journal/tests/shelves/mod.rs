//! Texts of job files, and their news as text.

use domain::schedule::FileNews;

/// The text of a valid routine.
pub fn good(id: &str, words: &str) -> String {
    format!("---\nid: {id}\ncron: 0 9 * * *\n---\n{words}\n")
}

/// News, one line each.
pub fn told(news: &[FileNews]) -> String {
    let line = |news: &FileNews| match news {
        FileNews::Plans(planned) => {
            format!("plans {} as {}: {}", planned.source(), planned.file, planned.message())
        }
        FileNews::Gone(source) => format!("gone {source}"),
        FileNews::Broken { told_before: true, file, .. } => format!("told before: {file}"),
        FileNews::Held { told_before: true, file, .. } => format!("told before: {file}"),
        FileNews::Broken { file, source: Some(source), why, .. } => {
            format!("broken {file} ({source}): {why}")
        }
        FileNews::Broken { file, source: None, why, .. } => format!("broken {file}: {why}"),
        FileNews::Held { file, why, .. } => format!("held {file}: {why}"),
        FileNews::Mended(file) => format!("mended {file}"),
    };
    news.iter().map(line).collect::<Vec<_>>().join("\n")
}
