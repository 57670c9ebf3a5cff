//! Job files in memory: what the page may read and change, and an assistant that notices.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::assistant::{Event, Look};
use domain::schedule::{Cron, FileNews, ItemId, Planned, Prompt, Rest, Rhythm, Routine, What};
use engine::desk::Desk;
use futures_util::future::BoxFuture;
use surfaces::web::job_files::{JobFile, JobFiles, Unchanged};
use tokio::sync::watch;

/// Files whose first line is a cron, the second what the job is called and the third, if there is one, `paused`.
pub struct Shelf {
    pub files: watch::Sender<BTreeMap<String, String>>,
    desk: Desk,
}

impl Shelf {
    /// No files; `desk` hears of those that come.
    pub fn new(desk: Desk) -> Self {
        Self { files: watch::Sender::new(BTreeMap::new()), desk }
    }

    /// Puts a file there, and tells the assistant.
    pub async fn put(&self, file: &str, text: &str) {
        self.files.send_modify(|files| drop(files.insert(file.to_owned(), text.to_owned())));
        let news = match planned(file, text) {
            Ok(planned) => FileNews::Plans(Arc::new(planned)),
            Err(why) => FileNews::Broken { file: file.to_owned(), source: None, why },
        };
        self.desk.tell(Event::Files(vec![news], Look::Again)).await;
    }

    fn find(&self, file: &JobFile) -> Result<String, Unchanged> {
        let found = self.files.borrow().get(file.as_str()).cloned();
        found.ok_or_else(|| Unchanged::Missing(file.as_str().to_owned()))
    }
}

fn planned(file: &str, text: &str) -> Result<Planned, String> {
    let mut lines = text.lines();
    let cron =
        Cron::parse(lines.next().unwrap_or_default()).map_err(|invalid| format!("line 1: {invalid}"))?;
    let name = lines.next().unwrap_or_default();
    let id = file.trim_start_matches("routines/").trim_end_matches(".md");
    let id = ItemId::parse(id).map_err(|invalid| invalid.to_string())?;
    let mut routine = Routine::new(id, Rhythm::new(cron), Prompt::new(name));
    if lines.next() == Some("paused") {
        routine.manner.rest = Rest::ForNow;
    }
    Ok(Planned { what: What::Routine(routine), file: file.to_owned() })
}

impl JobFiles for Shelf {
    fn text(&self, file: JobFile) -> BoxFuture<'_, Result<String, Unchanged>> {
        Box::pin(async move { self.find(&file) })
    }

    fn check(&self, file: JobFile, text: String) -> BoxFuture<'_, Result<What, Unchanged>> {
        Box::pin(
            async move { planned(file.as_str(), &text).map(|planned| planned.what).map_err(Unchanged::Bad) },
        )
    }

    fn rewrite(&self, file: JobFile, before: String, text: String) -> BoxFuture<'_, Result<(), Unchanged>> {
        Box::pin(async move {
            if self.find(&file)? != before {
                return Err(Unchanged::Moved(file.as_str().to_owned()));
            }
            planned(file.as_str(), &text).map_err(Unchanged::Bad)?;
            self.put(file.as_str(), &text).await;
            Ok(())
        })
    }

    fn rest(&self, file: JobFile, rest: Rest) -> BoxFuture<'_, Result<(), Unchanged>> {
        Box::pin(async move {
            let text = self.find(&file)?;
            let head: Vec<&str> = text.lines().take(2).collect();
            let end = if rest == Rest::Never { "" } else { "\npaused" };
            self.put(file.as_str(), &(head.join("\n") + end)).await;
            Ok(())
        })
    }
}
