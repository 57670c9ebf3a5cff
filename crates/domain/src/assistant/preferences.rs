//! Settings commands, and the choice of model, thinking and effort for each turn.
//!
//! The choice depends on the branch of the turn and is fixed when the turn starts.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Zoned;

use super::{Answer, Assistant, Effect, Replanned, Transaction};
use crate::conversation::Branch;
use crate::cost::BudgetLimit;
use crate::effort::{Effort, EffortChoice};
use crate::model::{ModelAbilities, ModelChoices, ThinkingControl};
use crate::permission::{Mode, Modes};
use crate::ping_budget::{PingBudget, PingPace};
use crate::record::{Record, StateChange};
use crate::schedule as terms;
use crate::settings::{DailyLimit, InvalidSetting, Setting, SettingDefaults};
use crate::thinking::Thinking;

/// IF-33: refusal inside a fork.
const REFUSED_IN_FORK: &str = "exit the side conversation first: /save, /report or /exit.";

impl Assistant {
    /// Sets the models to choose from.
    #[must_use]
    pub fn with_models(mut self, choices: ModelChoices) -> Self {
        self.choices = Arc::new(choices);
        self
    }

    /// Replaces the known model abilities (by model id), as learned from the vendor's models
    /// endpoint and its error responses.
    pub fn set_model_abilities(&mut self, abilities: BTreeMap<String, ModelAbilities>) {
        Arc::make_mut(&mut self.choices).abilities = abilities;
    }

    /// MC-26: shows or sets the model that answers; it is saved as main's setting.
    pub(super) fn set_model(&mut self, typed: &str, now: &Zoned) -> (Answer, Vec<Effect>) {
        if typed.trim().is_empty() {
            return text_reply(self.choices.show(self.chosen_model(&self.user_branch())));
        }
        if self.state.fork.is_some() {
            return refusal_reply(REFUSED_IN_FORK.to_owned());
        }
        match self.choices.parse(typed) {
            Err(why) => refusal_reply(why),
            Ok(chosen) => {
                self.state.choices.settings.models.main = chosen;
                let chosen = self.chosen_model(&Branch::Main);
                let which = self.choices.answer_clause(chosen);
                let reply = format!("From the next answer on, {which}");
                let reply = match self.choices.remark(chosen, self.main_thinking()) {
                    Some(remark) => format!("{reply} {remark}"),
                    None => reply,
                };
                (Answer::Text(reply), self.save_setting(Setting::ModelMain, now))
            }
        }
    }

    /// MC-27: shows the thinking mode or overrides it until the next start.
    pub(super) fn set_thinking(&mut self, thinking: Option<Thinking>) -> (Answer, Vec<Effect>) {
        let branch = self.user_branch();
        let model = self.choices.model_name(self.chosen_model(&branch)).to_owned();
        let abilities = self.choices.abilities_of(&model);
        let Some(thinking) = thinking else {
            let state = format!(
                "Thinking is {} here, at {} effort.",
                self.thinking_for(&branch).display_text(),
                self.effort_for(&branch)
            );
            return text_reply(match self.choices.thinking_control {
                ThinkingControl::Full | ThinkingControl::EffortOnly => {
                    format!("{state} {}", abilities.explain(&model))
                }
                ThinkingControl::Unsupported => state,
            });
        };
        if self.state.fork.is_some() {
            return refusal_reply(REFUSED_IN_FORK.to_owned());
        }
        if self.choices.thinking_control == ThinkingControl::Unsupported {
            return refusal_reply(if self.choices.is_offline() {
                "Only the offline brain answers, and it does not think.".to_owned()
            } else {
                format!(
                    "{} has no setting for thinking. Set its effort with `/effort`.",
                    self.choices.default_model
                )
            });
        }
        self.state.choices.thinking = Some(thinking);
        let answer = format!(
            "From the next answer on, thinking is {}, until I start again. `/config thinking.main` sets it for good.",
            thinking.display_text()
        );
        text_reply(match abilities.remark(&model, thinking) {
            Some(remark) => format!("{answer} {remark}"),
            None => answer,
        })
    }

    /// Shows the effort or overrides it until the next start.
    pub(super) fn set_effort(&mut self, choice: EffortChoice) -> (Answer, Vec<Effect>) {
        if self.choices.is_offline() {
            return refusal_reply("Only the offline brain answers, and it has no effort to set.".to_owned());
        }
        let branch = self.user_branch();
        if choice != EffortChoice::Show && self.state.fork.is_some() {
            return refusal_reply(REFUSED_IN_FORK.to_owned());
        }
        let answer = match choice {
            EffortChoice::Show => format!("Effort is {} here.", self.effort_for(&branch)),
            EffortChoice::Default => {
                self.state.choices.effort = None;
                format!("From the next answer on, effort is {} again.", self.effort_for(&branch))
            }
            EffortChoice::Set(effort) => {
                self.state.choices.effort = Some(effort);
                format!(
                    "From the next answer on, effort is {effort}, until I start again. `/config effort.main` sets it \
                     for good."
                )
            }
        };
        text_reply(match self.effort_remark(&branch) {
            Some(remark) => format!("{answer} {remark}"),
            None => answer,
        })
    }

    /// Returns a remark if the model on `branch` uses another effort than the chosen one.
    fn effort_remark(&self, branch: &Branch) -> Option<String> {
        let model = self.choices.model_name(self.chosen_model(branch));
        let effort = self.effort_for(branch);
        match self.choices.abilities_of(model).nearest(effort) {
            None => Some(format!("{model} has no effort to set, so this holds when another model answers.")),
            Some(used) if used != effort => Some(format!("{model} has no {effort} effort and uses {used}.")),
            Some(_) => None,
        }
    }

    /// SL-13: shows all settings.
    pub(super) fn show_settings(&self) -> (Answer, Vec<Effect>) {
        text_reply(self.state.choices.settings.render(&self.setting_defaults()))
    }

    /// SL-13: shows one setting.
    pub(super) fn show_setting(&self, setting: Setting) -> (Answer, Vec<Effect>) {
        text_reply(setting.render(&self.state.choices.settings, &self.setting_defaults()))
    }

    /// Returns the defaults of settings that the user has not set.
    fn setting_defaults(&self) -> SettingDefaults<'_> {
        SettingDefaults {
            thinking: self.choices.thinking,
            limit: self.budget.configured_limit,
            user_name: &self.choices.user_name,
        }
    }

    /// SL-13, RC-9: saves a setting. It applies from the next turn on; for forks see IF-34.
    pub(super) fn set_setting(
        &mut self,
        setting: Setting,
        typed: &str,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let mut settings = self.state.choices.settings.clone();
        let name = match setting {
            Setting::ModelMain | Setting::ModelFork => match self.choices.parse(typed) {
                Ok(name) => name.unwrap_or_default(),
                Err(reason) => {
                    return refusal_reply(
                        InvalidSetting { key: setting.display_name().to_owned(), reason }.to_string(),
                    );
                }
            },
            Setting::ThinkingMain
            | Setting::ThinkingFork
            | Setting::EffortMain
            | Setting::EffortBackground
            | Setting::Timeout(_)
            | Setting::PermissionMode
            | Setting::AutoUpdate
            | Setting::AutoUpdateInterval
            | Setting::AutoUpdateHour
            | Setting::Notification(_)
            | Setting::DailyLimit
            | Setting::Name => typed.to_owned(),
        };
        if let Err(bad) = setting.set(&mut settings, &name) {
            return refusal_reply(bad.to_string());
        }
        let before = (self.state.choices.settings.daily_limit, self.budget.limit);
        self.state.choices.settings = settings;
        self.budget.limit = self.state.choices.settings.daily_limit.resolve(self.budget.configured_limit);
        if setting == Setting::ThinkingMain {
            self.state.choices.thinking = None;
        }
        if setting == Setting::EffortMain {
            self.state.choices.effort = None;
        }
        if setting == Setting::PermissionMode {
            let modes = &mut self.state.choices.modes;
            *modes = Modes { main: self.state.choices.settings.permission_mode, ..*modes };
        }
        let current = self.show_setting(setting).0;
        let answer = if setting == Setting::DailyLimit {
            self.limit_reply(before).unwrap_or(current)
        } else if setting == Setting::EffortBackground {
            self.with_cache_remark(current)
        } else {
            current
        };
        (answer, self.save_setting(setting, now))
    }

    /// Adds to `answer` that background runs cannot use the vendor's cache of the main conversation
    /// if their effort differs from main's.
    fn with_cache_remark(&self, answer: Answer) -> Answer {
        let background = self.state.choices.settings.effort.background;
        let differs = background.is_some_and(|effort| effort != self.effort_for(&Branch::Main));
        let Answer::Text(text) = &answer else { return answer };
        if !differs {
            return answer;
        }
        Answer::Text(format!(
            "{text}. Background runs that know the main conversation now read it without the vendor's cache, which \
             costs more. `/config effort.background default` uses the effort of main again."
        ))
    }

    /// Returns the reply for a changed daily limit: the new and the old value and how to restore
    /// it. `None` if it is unchanged.
    fn limit_reply(&self, (said, held): (DailyLimit, BudgetLimit)) -> Option<Answer> {
        let now = DailyLimit::from_limit(self.budget.limit);
        let text = format!(
            "**daily_limit**: {now}. it was {}. `/config daily_limit {said}` takes it back.",
            DailyLimit::from_limit(held)
        );
        (self.state.choices.settings.daily_limit != said).then_some(Answer::Text(text))
    }

    /// Shows or sets the user's name. The model learns of it with its next request, in a note on
    /// the changed instructions.
    pub(super) fn set_user_name(&mut self, typed: &str, now: &Zoned) -> (Answer, Vec<Effect>) {
        let before = self.user_name().to_owned();
        if typed.trim().is_empty() {
            return text_reply(format!("i call you {before}. `/name NAME` changes it."));
        }
        let (answer, effects) = self.set_setting(Setting::Name, typed, now);
        let Answer::Text(_) = answer else { return (answer, effects) };
        let name = self.user_name().to_owned();
        if name == before {
            return (Answer::Text(format!("i call you {name}, as before.")), effects);
        }
        let reply = format!("i call you {name} from now on. `/name {before}` takes it back.");
        (Answer::Text(reply), effects)
    }

    /// Returns the user's name.
    pub(super) fn user_name(&self) -> &str {
        self.state.choices.settings.name.as_deref().unwrap_or(&self.choices.user_name)
    }

    /// SL-12, PB-2: sets the ping pace and shows how many pings are left.
    pub(super) fn set_ping_pace(&mut self, pace: PingPace, now: &Zoned) -> (Answer, Vec<Effect>) {
        let before = self.state.choices.ping_budget.unwrap_or_else(|| PingBudget::full(now));
        let budget = before.refilled(now).with_pace(pace).refilled(now);
        self.state.choices.ping_budget = Some(budget);
        let text = if pace == PingPace::default() { budget.full_summary() } else { budget.summary() };
        (Answer::Text(text), vec![Effect::Write(vec![Record::State(StateChange::PingBudget(budget))])])
    }

    /// SL-11, MC-28: shows or sets the permission mode of the open fork, or of everything else. It
    /// is not saved for the next start.
    pub(super) fn set_permission_mode(&mut self, typed: &str, at: &Zoned) -> (Answer, Vec<Effect>) {
        let standing = self.state.approvals.consent.standing_summary(at);
        let modes = &mut self.state.choices.modes;
        let (here, now) = match &self.state.fork {
            Some(_) => ("in this side conversation", modes.fork.unwrap_or(modes.main)),
            None => ("from now on", modes.main),
        };
        if typed.is_empty() {
            let mode = format!("the mode is `{}`: {}. {}", now.as_str(), now.description(), other_modes());
            let text = standing.map_or_else(|| mode.clone(), |standing| format!("{mode}\n\n{standing}"));
            return (Answer::Text(text), Vec::new());
        }
        let Some(mode) = Mode::from_name(typed) else {
            return (Answer::Refused(format!("`{typed}` is no mode. {}", other_modes())), Vec::new());
        };
        match &self.state.fork {
            Some(_) => modes.fork = Some(mode),
            None => modes.main = mode,
        }
        (Answer::Text(format!("{here} the mode is `{}`: {}.", mode.as_str(), mode.description())), Vec::new())
    }

    /// IF-4: returns the vendor's id of the model for the next turn on `branch`.
    pub(super) fn model_for(&self, branch: &Branch) -> Option<String> {
        // BF-9: an unknown model name counts as none.
        let run = self.state.turns.runs.get(branch).and_then(|run| run.terms.model.as_ref());
        let named = run.and_then(|model| self.choices.parse(model.as_str()).ok().flatten());
        self.choices.id(named.as_deref().or(self.chosen_model(branch))).map(str::to_owned)
    }

    /// IF-4, MC-29: returns the thinking mode of the next turn on `branch`.
    pub(super) fn thinking_for(&self, branch: &Branch) -> Thinking {
        if let Some(run) = self.state.turns.runs.get(branch) {
            // BF-8.
            return match (run.terms.thinking, self.fork_thinking()) {
                (terms::ThinkingOverride::Off, _) => Thinking::Off,
                (terms::ThinkingOverride::On, Thinking::Auto | Thinking::Off) => Thinking::Adaptive,
                (terms::ThinkingOverride::On | terms::ThinkingOverride::Inherit, aside) => aside,
            };
        }
        match (branch, &self.state.fork) {
            (Branch::Main, _) => self.main_thinking(),
            (Branch::Fork(_), Some(fork)) if fork.branch == *branch => fork.thinking,
            (Branch::Fork(_), _) => self.fork_thinking(),
        }
    }

    /// Returns the effort of the next turn on `branch`: the job's own, else the setting for
    /// background runs, else main's effort, else the default for the thinking mode.
    pub(super) fn effort_for(&self, branch: &Branch) -> Effort {
        if let Some(run) = self.state.turns.runs.get(branch) {
            if let Some(effort) = run.terms.effort {
                return effort;
            }
            let background = self.state.choices.settings.effort.background;
            let effort = background.unwrap_or_else(|| self.main_effort(self.thinking_for(branch)));
            return match run.terms.thinking {
                terms::ThinkingOverride::On => effort.max(Effort::Medium),
                terms::ThinkingOverride::Inherit => effort,
                // Models that cannot stop thinking think least at low effort.
                terms::ThinkingOverride::Off => Effort::Low,
            };
        }
        match (branch, &self.state.fork) {
            (Branch::Fork(_), Some(fork)) if fork.branch == *branch => fork.effort,
            (Branch::Main | Branch::Fork(_), _) => self.main_effort(self.thinking_for(branch)),
        }
    }

    /// Returns the effort of a fork that starts now.
    pub(super) fn fork_effort(&self) -> Effort {
        self.main_effort(self.fork_thinking())
    }

    /// Returns the effort chosen for main, or else the default for `thinking`.
    fn main_effort(&self, thinking: Thinking) -> Effort {
        let chosen = &self.state.choices;
        chosen.effort.or(chosen.settings.effort.main).unwrap_or_else(|| Effort::for_thinking(thinking))
    }

    /// IF-34: returns the thinking mode of a fork that starts now.
    pub(super) fn fork_thinking(&self) -> Thinking {
        self.state.choices.settings.thinking.fork.unwrap_or_else(|| self.main_thinking())
    }

    /// IF-4, IF-34: returns the idle timeout in minutes of a fork that starts now.
    pub(super) fn fork_idle_minutes(&self, asked: Option<u32>) -> Option<u32> {
        let usual = self.state.choices.settings.timeouts.fork_idle_minutes;
        asked.filter(|minutes| *minutes > 0).or(Some(usual))
    }

    /// Precedence: the `/thinking` override, then the settings, then the start-up configuration.
    fn main_thinking(&self) -> Thinking {
        let chosen = &self.state.choices;
        chosen.thinking.or(chosen.settings.thinking.main).unwrap_or(self.choices.thinking)
    }

    fn chosen_model(&self, branch: &Branch) -> Option<&str> {
        let models = &self.state.choices.settings.models;
        let chosen = match branch {
            Branch::Main => models.main.as_ref(),
            Branch::Fork(_) => models.fork.as_ref().or(models.main.as_ref()),
        };
        chosen.map(String::as_str)
    }

    /// Returns the branch on which the user is.
    pub(super) fn user_branch(&self) -> Branch {
        self.state.fork.as_ref().map_or(Branch::Main, |fork| fork.branch.clone())
    }

    fn save_setting(&mut self, setting: Setting, now: &Zoned) -> Vec<Effect> {
        let settings = Box::new(self.state.choices.settings.clone());
        let mut tx = Transaction::at(now);
        tx.records.push(Record::State(StateChange::SettingChanged(setting, settings, now.timestamp())));
        let name = setting.display_name();
        let beyond = format!(
            "the last change was to the setting `{name}`, and i take back only what is planned or kept. \
             `config {name} VALUE` sets it."
        );
        self.push_plan_undo(Replanned { irreversible: Some(beyond), ..Replanned::default() }, &mut tx);
        tx.into_effects()
    }
}

fn text_reply(text: String) -> (Answer, Vec<Effect>) {
    (Answer::Text(text), Vec::new())
}

fn refusal_reply(why: String) -> (Answer, Vec<Effect>) {
    (Answer::Refused(why), Vec::new())
}

fn other_modes() -> String {
    let names: Vec<String> = Mode::ALL.iter().map(|mode| format!("`{}`", mode.as_str())).collect();
    format!("the modes are {}.", names.join(", "))
}
