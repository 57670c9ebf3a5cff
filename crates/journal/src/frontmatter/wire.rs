//! The keys of each kind of file, as they are written.

use std::collections::BTreeMap;

use domain::effort::{Effort, InvalidEffort};
use domain::schedule::{
    FiringPolicy, InitialContext, InvalidField, ItemId, MissedPolicy, ModelName, Moment, OverlapPolicy,
    PauseState, PingPermission, Placement, ReportMode, ReportPolicy, RunOptions, ThinkingOverride, ToolRule,
};
use domain::tool::pattern::split_list;
use jiff::tz::TimeZone;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct RoutineKeys {
    pub id: Option<String>,
    pub cron: Option<String>,
    pub every: Option<String>,
    pub from: Option<String>,
    pub until: Option<String>,
    pub timezone: Option<String>,
    pub background: Option<bool>,
    pub model: Option<String>,
    pub thinking: Option<bool>,
    pub effort: Option<String>,
    pub isolated: Option<bool>,
    pub description: Option<String>,
    #[serde(alias = "update_main_session", alias = "update-main_session", alias = "update_main-session")]
    pub update_main_session: Option<String>,
    #[serde(alias = "allow_ping")]
    pub allow_ping: Option<bool>,
    #[serde(alias = "allowed_tools")]
    pub allowed_tools: Option<Vec<String>>,
    #[serde(alias = "disallowed_tools")]
    pub disallowed_tools: Option<Vec<String>>,
    pub skills: Option<Vec<String>>,
    pub session: Option<String>,
    #[serde(alias = "if_missed")]
    pub if_missed: Option<String>,
    pub overlap: Option<String>,
    pub paused: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ReminderKeys {
    pub id: Option<String>,
    #[serde(alias = "run_at")]
    pub run_at: Option<String>,
    pub cue: Option<String>,
    pub background: Option<bool>,
    #[serde(alias = "chain_depth")]
    pub chain_depth: Option<u32>,
    #[serde(alias = "max_chain")]
    pub max_chain: Option<u32>,
    #[serde(alias = "chain_parent")]
    pub chain_parent: Option<String>,
    pub model: Option<String>,
    pub thinking: Option<bool>,
    pub effort: Option<String>,
    pub isolated: Option<bool>,
    pub description: Option<String>,
    #[serde(alias = "update_main_session", alias = "update-main_session", alias = "update_main-session")]
    pub update_main_session: Option<String>,
    #[serde(alias = "allow_ping")]
    pub allow_ping: Option<bool>,
    #[serde(alias = "allowed_tools")]
    pub allowed_tools: Option<Vec<String>>,
    #[serde(alias = "disallowed_tools")]
    pub disallowed_tools: Option<Vec<String>>,
    pub skills: Option<Vec<String>>,
    #[serde(alias = "if_missed")]
    pub if_missed: Option<String>,
    pub overlap: Option<String>,
    pub paused: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct WebhookKeys {
    pub id: Option<String>,
    pub fields: Option<serde_json::Map<String, serde_json::Value>>,
    pub auth: Option<String>,
    pub pick: Option<BTreeMap<String, String>>,
    #[serde(alias = "max_bytes")]
    pub max_bytes: Option<u32>,
    pub deliver: Option<String>,
    pub isolated: Option<bool>,
    pub model: Option<String>,
    pub thinking: Option<bool>,
    pub effort: Option<String>,
    #[serde(alias = "allow_ping")]
    pub allow_ping: Option<bool>,
    #[serde(alias = "update_main_session", alias = "update-main_session", alias = "update_main-session")]
    pub update_main_session: Option<String>,
    #[serde(alias = "allowed_tools")]
    pub allowed_tools: Option<Vec<String>>,
    #[serde(alias = "disallowed_tools")]
    pub disallowed_tools: Option<Vec<String>>,
}

/// The keys of a skill that are used here.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct SkillKeys {
    pub name: Option<String>,
    pub description: Option<String>,
    pub license: Option<String>,
    pub compatibility: Option<String>,
    #[serde(alias = "allowed_tools")]
    pub allowed_tools: Option<ToolList>,
}

/// The `metadata` of a skill, read separately so that a wrong shape does not fail the other keys.
#[derive(Deserialize)]
pub(crate) struct MetadataKey {
    pub metadata: Option<BTreeMap<String, String>>,
}

/// Tool patterns of a skill: a list, or one string in which they are separated by spaces or commas.
pub(crate) struct ToolList(pub Vec<String>);

impl<'de> Deserialize<'de> for ToolList {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ToolListVisitor)
    }
}

struct ToolListVisitor;

impl<'de> serde::de::Visitor<'de> for ToolListVisitor {
    type Value = ToolList;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("tool patterns, as a list or as one text")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<ToolList, E> {
        Ok(ToolList(split_list(text)))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<ToolList, E> {
        Ok(ToolList(Vec::new()))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<ToolList, A::Error> {
        let mut patterns = Vec::new();
        while let Some(pattern) = list.next_element()? {
            patterns.push(pattern);
        }
        Ok(ToolList(patterns))
    }
}

#[derive(Deserialize)]
pub(crate) struct AgentKeys {
    pub name: Option<String>,
    pub description: Option<String>,
    pub model: Option<String>,
    pub tools: Option<Tools>,
}

/// Tools as a list or as a text with commas.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Tools {
    List(Vec<String>),
    Text(String),
}

/// The id alone, which is readable even if the rest is invalid.
#[derive(Deserialize)]
pub(crate) struct IdKey {
    pub id: Option<String>,
}

/// The keys for the model, tools and reports of a job.
pub(crate) struct TermsKeys {
    pub model: Option<String>,
    pub thinking: Option<bool>,
    pub effort: Option<String>,
    pub update_main_session: Option<String>,
    pub allow_ping: Option<bool>,
    pub allowed_tools: Option<Vec<String>>,
    pub disallowed_tools: Option<Vec<String>>,
}

/// Moves the keys of `TermsKeys` out of the keys of any kind of job.
macro_rules! terms_of {
    ($keys:ident) => {
        $crate::frontmatter::wire::TermsKeys {
            model: $keys.model,
            thinking: $keys.thinking,
            effort: $keys.effort,
            update_main_session: $keys.update_main_session,
            allow_ping: $keys.allow_ping,
            allowed_tools: $keys.allowed_tools,
            disallowed_tools: $keys.disallowed_tools,
        }
    };
}
pub(crate) use terms_of;

impl TermsKeys {
    pub(crate) fn checked(self) -> Result<RunOptions, InvalidField> {
        let reporting = self.update_main_session.as_deref().map(ReportMode::parse).transpose()?;
        let effort = self.effort.as_deref().map(effort).transpose()?;
        let pings = match self.allow_ping {
            None | Some(true) => PingPermission::Allowed,
            Some(false) => PingPermission::Never,
        };
        Ok(RunOptions {
            model: self.model.as_deref().and_then(ModelName::parse),
            thinking: ThinkingOverride::from_key(self.thinking),
            effort,
            report_policy: ReportPolicy { reporting: reporting.unwrap_or_default(), pings },
            tools: ToolRule::from_lists(self.allowed_tools, self.disallowed_tools)?,
        })
    }
}

/// The keys for missed and overlapping times and for pausing.
pub(crate) struct MannerKeys {
    pub if_missed: Option<String>,
    pub overlap: Option<String>,
    pub paused: Option<String>,
}

/// Moves the keys of `MannerKeys` out of the keys of a routine or a reminder.
macro_rules! manner_of {
    ($keys:ident) => {
        $crate::frontmatter::wire::MannerKeys {
            if_missed: $keys.if_missed,
            overlap: $keys.overlap,
            paused: $keys.paused,
        }
    };
}
pub(crate) use manner_of;

impl MannerKeys {
    /// Validates the keys. Times without an offset are in `zone`.
    pub(crate) fn checked(self, zone: &TimeZone) -> Result<FiringPolicy, InvalidField> {
        let overlap = self.overlap.as_deref().map(OverlapPolicy::parse).transpose()?;
        let rest = self.paused.as_deref().map(|paused| pause_state(paused, zone)).transpose()?;
        Ok(FiringPolicy {
            if_missed: self.if_missed.as_deref().map(MissedPolicy::parse).transpose()?,
            overlap: overlap.unwrap_or_default(),
            pause: rest.unwrap_or_default(),
        })
    }
}

/// Parses `paused`.
fn pause_state(text: &str, zone: &TimeZone) -> Result<PauseState, InvalidField> {
    match text.trim() {
        "true" => Ok(PauseState::Indefinite),
        "false" => Ok(PauseState::Active),
        time => Moment::parse(time, zone).map(PauseState::Until).map_err(|_| {
            let reason = format!(
                "{time:?} does not say how long it rests; write `true`, or a time like `2026-03-05T14:00:00-08:00`"
            );
            InvalidField::new("paused", reason)
        }),
    }
}

/// Parses `effort`.
fn effort(text: &str) -> Result<Effort, InvalidField> {
    text.parse().map_err(|bad: InvalidEffort| InvalidField::new("effort", bad.to_string()))
}

/// Parses the id, which is required.
pub(crate) fn id(text: Option<String>) -> Result<ItemId, InvalidField> {
    ItemId::parse(&required("id", text)?)
}

/// The value of a required key.
pub(crate) fn required<T>(key: &'static str, value: Option<T>) -> Result<T, InvalidField> {
    value.ok_or_else(|| InvalidField::new(key, "is missing; it must be there and have a value"))
}

/// Converts `background`.
pub(crate) fn execution(background: Option<bool>) -> Placement {
    match background {
        Some(true) => Placement::Background,
        Some(false) | None => Placement::Foreground,
    }
}

/// Converts `isolated`.
pub(crate) fn isolation(isolated: Option<bool>) -> InitialContext {
    match isolated {
        Some(true) => InitialContext::PromptOnly,
        Some(false) | None => InitialContext::Main,
    }
}
