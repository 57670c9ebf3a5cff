//! Checks the tool lists in files. Problems are reported, and the lines are ignored.

use std::sync::Arc;

use domain::tool::pattern::{DeclaredList, Folders, forbidden_diagnostics, merged_list};
use journal::Journal;
use journal::disk::Disk;
use journal::files::tool_lists::{ToolLists, tool_lists};

use crate::settings::Settings;

/// Checks tool lists against the directories of the data and the user.
pub struct ToolListCheck {
    folders: Folders,
    zone: jiff::tz::TimeZone,
}

impl ToolListCheck {
    /// Creates the check for the data directory of `settings`.
    pub fn new(settings: &Settings) -> Self {
        let data = settings.paths.root().to_string_lossy().into_owned();
        let folders = Folders { data, home: settings.home.clone() };
        Self { folders, zone: settings.zone.value.clone() }
    }

    /// Logs all problems through the open journal.
    pub async fn log_problems(self, journal: &Journal) {
        match journal.tool_lists(self.zone.clone()).await {
            Ok(lists) => self.problems(lists).iter().for_each(|complaint| tracing::warn!("{complaint}")),
            Err(problem) => tracing::warn!(problem, "The tool lists could not be checked."),
        }
    }

    /// Returns all problems, reading the files without the journal's lock.
    pub fn read_problems(&self, settings: &Settings, disk: &Arc<dyn Disk>) -> Vec<String> {
        self.problems(tool_lists(disk, settings.paths.root(), &self.zone))
    }

    /// Returns the problems with their sources.
    fn problems(&self, lists: ToolLists) -> Vec<String> {
        let mut declared = vec![DeclaredList::main()];
        declared.extend(lists.declared);
        let wrong = merged_list(&declared, &self.folders).diagnostics;
        let forbidden =
            lists.forbidden.iter().flat_map(|list| forbidden_diagnostics(&list.tools, &list.source));
        let troubles = lists.errors.iter().map(ToString::to_string);
        let wrong = wrong.into_iter().chain(forbidden).map(|complaint| complaint.to_string());
        troubles.chain(wrong).collect()
    }
}
