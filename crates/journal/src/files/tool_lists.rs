//! The tool lists declared in files of routines, reminders, skills, subagents and webhooks.

use std::path::Path;
use std::sync::Arc;

use domain::agent::Agent;
use domain::schedule::{Reminder, Routine, Terms, WebhookSpec};
use domain::tool::pattern::{Declared, Source, translate};
use jiff::tz::TimeZone;

use super::Trouble;
use super::agents::Agents;
use super::items::{Item, Items};
use super::skills::Skills;
use crate::disk::Disk;

/// The declared lists and the directories that could not be read.
#[derive(Debug, Default)]
pub struct ToolLists {
    /// The allowed tools.
    pub declared: Vec<Declared>,
    /// The tools that jobs must not use.
    pub forbidden: Vec<Declared>,
    /// The directories that could not be read.
    pub troubles: Vec<Trouble>,
}

/// Reads the lists in the data directory `data`. Times without an offset are in `zone`.
pub fn tool_lists(disk: &Arc<dyn Disk>, data: &Path, zone: &TimeZone) -> ToolLists {
    let mut lists = ToolLists::default();
    let mut add = |list: Result<Vec<List>, Trouble>| match list {
        Ok(found) => {
            for list in found {
                match list {
                    List::Allowed(declared) => lists.declared.push(declared),
                    List::Forbidden(declared) => lists.forbidden.push(declared),
                }
            }
        }
        Err(trouble) => lists.troubles.push(trouble),
    };
    let place = (disk, data, zone);
    add(listed(place, |it: &Routine| declared(Source::Routine(it.id.clone()), it.charter.written_terms())));
    add(listed(place, |it: &Reminder| {
        declared(Source::Reminder(it.id.clone()), it.charter().written_terms())
    }));
    add(Skills::new(Arc::clone(disk), data).list().map(|listing| {
        let list = |skill: domain::schedule::SkillSpec| {
            let written = skill.allowed_tools?;
            let tools = written.into_iter().map(|line| translate(&line).unwrap_or(line)).collect();
            Some(List::Allowed(Declared { source: Source::Skill(skill.name), tools }))
        };
        listing.items.into_iter().filter_map(|filed| list(filed.item)).collect()
    }));
    add(Agents::new(Arc::clone(disk), data).list().map(|(agents, bad)| {
        // SA-3: unusable files are reported.
        bad.iter().for_each(|bad| tracing::warn!("left out: {bad}"));
        let list = |agent: Agent| {
            List::Allowed(Declared { source: Source::Subagent(agent.name), tools: agent.tools })
        };
        agents.into_iter().map(list).collect()
    }));
    add(listed(place, |it: &WebhookSpec| declared(Source::Webhook(it.id.clone()), &it.terms)));
    lists
}

fn listed<T: Item>(
    (disk, data, zone): (&Arc<dyn Disk>, &Path, &TimeZone),
    list: impl Fn(&T) -> Option<List>,
) -> Result<Vec<List>, Trouble> {
    let listing = Items::<T>::new(Arc::clone(disk), data, zone.clone()).list()?;
    Ok(listing.items.iter().filter_map(|filed| list(&filed.item)).collect())
}

fn declared(source: Source, terms: &Terms) -> Option<List> {
    let allowed = terms.tools.allowed().map(<[String]>::to_vec);
    let forbidden = || terms.tools.denied().map(<[String]>::to_vec);
    match allowed {
        Some(tools) => Some(List::Allowed(Declared { source, tools })),
        None => forbidden().map(|tools| List::Forbidden(Declared { source, tools })),
    }
}

/// A declared list and its kind.
enum List {
    Allowed(Declared),
    Forbidden(Declared),
}
