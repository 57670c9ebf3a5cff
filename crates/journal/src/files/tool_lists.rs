//! The tool lists declared in files of routines, reminders, skills, subagents and webhooks.

use std::path::Path;
use std::sync::Arc;

use domain::agent::Agent;
use domain::schedule::{Reminder, Routine, RunOptions, WebhookSpec};
use domain::tool::pattern::{DeclaredList, ListSource, translate};
use jiff::tz::TimeZone;

use super::FileError;
use super::agents::AgentDirectory;
use super::items::{Item, ItemDirectory};
use super::skills::SkillDirectory;
use crate::disk::Disk;

/// The declared lists and the directories that could not be read.
#[derive(Debug, Default)]
pub struct ToolLists {
    /// The allowed tools.
    pub declared: Vec<DeclaredList>,
    /// The tools that jobs must not use.
    pub forbidden: Vec<DeclaredList>,
    /// The directories that could not be read.
    pub errors: Vec<FileError>,
}

/// Reads the lists in the data directory `data`. Times without an offset are in `zone`.
pub fn tool_lists(disk: &Arc<dyn Disk>, data: &Path, zone: &TimeZone) -> ToolLists {
    let mut lists = ToolLists::default();
    let mut add = |list: Result<Vec<RuleList>, FileError>| match list {
        Ok(found) => {
            for list in found {
                match list {
                    RuleList::Allowed(declared) => lists.declared.push(declared),
                    RuleList::Forbidden(declared) => lists.forbidden.push(declared),
                }
            }
        }
        Err(trouble) => lists.errors.push(trouble),
    };
    let place = (disk, data, zone);
    add(collect_lists(place, |it: &Routine| {
        declared_list(ListSource::Routine(it.id.clone()), it.target.written_options())
    }));
    add(collect_lists(place, |it: &Reminder| {
        declared_list(ListSource::Reminder(it.id.clone()), it.target().written_options())
    }));
    add(SkillDirectory::new(Arc::clone(disk), data).list().map(|listing| {
        let list = |skill: domain::schedule::SkillSpec| {
            let written = skill.allowed_tools?;
            let tools = written.into_iter().map(|line| translate(&line).unwrap_or(line)).collect();
            Some(RuleList::Allowed(DeclaredList { source: ListSource::Skill(skill.name), tools }))
        };
        listing.items.into_iter().filter_map(|filed| list(filed.item)).collect()
    }));
    add(AgentDirectory::new(Arc::clone(disk), data).list().map(|(agents, bad)| {
        // SA-3: unusable files are reported.
        bad.iter().for_each(|bad| tracing::warn!("left out: {bad}"));
        let list = |agent: Agent| {
            RuleList::Allowed(DeclaredList { source: ListSource::Subagent(agent.name), tools: agent.tools })
        };
        agents.into_iter().map(list).collect()
    }));
    add(collect_lists(place, |it: &WebhookSpec| {
        declared_list(ListSource::Webhook(it.id.clone()), &it.options)
    }));
    lists
}

fn collect_lists<T: Item>(
    (disk, data, zone): (&Arc<dyn Disk>, &Path, &TimeZone),
    list: impl Fn(&T) -> Option<RuleList>,
) -> Result<Vec<RuleList>, FileError> {
    let listing = ItemDirectory::<T>::new(Arc::clone(disk), data, zone.clone()).list()?;
    Ok(listing.items.iter().filter_map(|filed| list(&filed.item)).collect())
}

fn declared_list(source: ListSource, terms: &RunOptions) -> Option<RuleList> {
    let allowed = terms.tools.allowed().map(<[String]>::to_vec);
    let forbidden = || terms.tools.denied().map(<[String]>::to_vec);
    match allowed {
        Some(tools) => Some(RuleList::Allowed(DeclaredList { source, tools })),
        None => forbidden().map(|tools| RuleList::Forbidden(DeclaredList { source, tools })),
    }
}

/// A declared list and its kind.
enum RuleList {
    Allowed(DeclaredList),
    Forbidden(DeclaredList),
}
