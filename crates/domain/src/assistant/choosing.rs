//! Settings commands, and the choice of model, thinking and effort for each turn.
//!
//! The choice depends on the branch of the turn and is fixed when the turn starts.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Zoned;

use super::{Answer, Assistant, Effect, Minutes, Replanned};
use crate::conversation::Branch;
use crate::cost::Limit;
use crate::effort::{Effort, EffortChoice};
use crate::model::{Abilities, Choices, Thinks};
use crate::permission::{Mode, Modes};
use crate::ping_budget::{Pace, PingBudget};
use crate::record::{Record, StateChange};
use crate::schedule as terms;
use crate::settings::{BadSetting, DailyLimit, Setting, Usual};
use crate::thinking::Thinking;

/// IF-33: refusal inside a fork.
const ASIDE: &str = "exit the side conversation first: /save, /report or /exit.";

impl Assistant {
    /// Sets the models to choose from.
    #[must_use]
    pub fn choosing_from(mut self, choices: Choices) -> Self {
        self.choices = Arc::new(choices);
        self
    }

    /// Replaces the known model abilities (by model id), as learned from the vendor's models
    /// endpoint and its error responses.
    pub fn learn_models(&mut self, abilities: BTreeMap<String, Abilities>) {
        Arc::make_mut(&mut self.choices).abilities = abilities;
    }

    /// MC-26: shows or sets the model that answers; it is saved as main's setting.
    pub(super) fn choose_model(&mut self, typed: &str, now: &Zoned) -> (Answer, Vec<Effect>) {
        if typed.trim().is_empty() {
            return told(self.choices.show(self.chosen_model(&self.here())));
        }
        if self.memory.fork.is_some() {
            return refused(ASIDE.to_owned());
        }
        match self.choices.read(typed) {
            Err(why) => refused(why),
            Ok(chosen) => {
                self.memory.chosen.settings.models.main = chosen;
                let chosen = self.chosen_model(&Branch::Main);
                let which = self.choices.tell(chosen);
                let told = format!("From the next answer on, {which}");
                let told = match self.choices.remark(chosen, self.thinking_on_main()) {
                    Some(remark) => format!("{told} {remark}"),
                    None => told,
                };
                (Answer::Told(told), self.kept(Setting::ModelMain, now))
            }
        }
    }

    /// MC-27: shows the thinking mode or overrides it until the next start.
    pub(super) fn choose_thinking(&mut self, way: Option<Thinking>) -> (Answer, Vec<Effect>) {
        let here = self.here();
        let model = self.choices.model_name(self.chosen_model(&here)).to_owned();
        let abilities = self.choices.abilities_of(&model);
        let Some(way) = way else {
            let state = format!(
                "Thinking is {} here, at {} effort.",
                self.thinking(&here).shown(),
                self.effort(&here)
            );
            return told(match self.choices.thinks {
                Thinks::AsTold | Thinks::ByEffort => format!("{state} {}", abilities.explain(&model)),
                Thinks::ByItself => state,
            });
        };
        if self.memory.fork.is_some() {
            return refused(ASIDE.to_owned());
        }
        if self.choices.thinks == Thinks::ByItself {
            return refused(if self.choices.is_offline() {
                "Only the offline brain answers, and it does not think.".to_owned()
            } else {
                format!("{} has no setting for thinking. Set its effort with `/effort`.", self.choices.usual)
            });
        }
        self.memory.chosen.thinking = Some(way);
        let answer = format!(
            "From the next answer on, thinking is {}, until I start again. `/config thinking.main` sets it for good.",
            way.shown()
        );
        told(match abilities.remark(&model, way) {
            Some(remark) => format!("{answer} {remark}"),
            None => answer,
        })
    }

    /// Shows the effort or overrides it until the next start.
    pub(super) fn choose_effort(&mut self, choice: EffortChoice) -> (Answer, Vec<Effect>) {
        if self.choices.is_offline() {
            return refused("Only the offline brain answers, and it has no effort to set.".to_owned());
        }
        let here = self.here();
        if choice != EffortChoice::Show && self.memory.fork.is_some() {
            return refused(ASIDE.to_owned());
        }
        let answer = match choice {
            EffortChoice::Show => format!("Effort is {} here.", self.effort(&here)),
            EffortChoice::Default => {
                self.memory.chosen.effort = None;
                format!("From the next answer on, effort is {} again.", self.effort(&here))
            }
            EffortChoice::Set(effort) => {
                self.memory.chosen.effort = Some(effort);
                format!(
                    "From the next answer on, effort is {effort}, until I start again. `/config effort.main` sets it \
                     for good."
                )
            }
        };
        told(match self.effort_remark(&here) {
            Some(remark) => format!("{answer} {remark}"),
            None => answer,
        })
    }

    /// Returns a remark if the model on `branch` uses another effort than the chosen one.
    fn effort_remark(&self, branch: &Branch) -> Option<String> {
        let model = self.choices.model_name(self.chosen_model(branch));
        let effort = self.effort(branch);
        match self.choices.abilities_of(model).nearest(effort) {
            None => Some(format!("{model} has no effort to set, so this holds when another model answers.")),
            Some(used) if used != effort => Some(format!("{model} has no {effort} effort and uses {used}.")),
            Some(_) => None,
        }
    }

    /// SL-13: shows all settings.
    pub(super) fn tell_settings(&self) -> (Answer, Vec<Effect>) {
        told(self.memory.chosen.settings.tell(&self.usual()))
    }

    /// SL-13: shows one setting.
    pub(super) fn tell_setting(&self, setting: Setting) -> (Answer, Vec<Effect>) {
        told(setting.tell(&self.memory.chosen.settings, &self.usual()))
    }

    /// Returns the defaults of settings that the user has not set.
    fn usual(&self) -> Usual<'_> {
        Usual { thinking: self.choices.thinking, limit: self.purse.written, human: &self.choices.human }
    }

    /// SL-13, RC-9: saves a setting. It applies from the next turn on; for forks see IF-34.
    pub(super) fn set(&mut self, setting: Setting, typed: &str, now: &Zoned) -> (Answer, Vec<Effect>) {
        let mut settings = self.memory.chosen.settings.clone();
        let name = match setting {
            Setting::ModelMain | Setting::ModelFork => match self.choices.read(typed) {
                Ok(name) => name.unwrap_or_default(),
                Err(reason) => {
                    return refused(BadSetting { key: setting.shown().to_owned(), reason }.to_string());
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
            | Setting::Calm(_)
            | Setting::DailyLimit
            | Setting::Name => typed.to_owned(),
        };
        if let Err(bad) = setting.set(&mut settings, &name) {
            return refused(bad.to_string());
        }
        let before = (self.memory.chosen.settings.daily_limit, self.purse.limit);
        self.memory.chosen.settings = settings;
        self.purse.limit = self.memory.chosen.settings.daily_limit.over(self.purse.written);
        if setting == Setting::ThinkingMain {
            self.memory.chosen.thinking = None;
        }
        if setting == Setting::EffortMain {
            self.memory.chosen.effort = None;
        }
        if setting == Setting::PermissionMode {
            let modes = &mut self.memory.chosen.modes;
            *modes = Modes { main: self.memory.chosen.settings.permission_mode, ..*modes };
        }
        let told = self.tell_setting(setting).0;
        let answer = if setting == Setting::DailyLimit {
            self.limited(before).unwrap_or(told)
        } else if setting == Setting::EffortBackground {
            self.uncached(told)
        } else {
            told
        };
        (answer, self.kept(setting, now))
    }

    /// Adds to `answer` that background runs cannot use the vendor's cache of the main conversation
    /// if their effort differs from main's.
    fn uncached(&self, answer: Answer) -> Answer {
        let background = self.memory.chosen.settings.effort.background;
        let differs = background.is_some_and(|effort| effort != self.effort(&Branch::Main));
        let Answer::Told(text) = &answer else { return answer };
        if !differs {
            return answer;
        }
        Answer::Told(format!(
            "{text}. Background runs that know the main conversation now read it without the vendor's cache, which \
             costs more. `/config effort.background default` uses the effort of main again."
        ))
    }

    /// Returns the reply for a changed daily limit: the new and the old value and how to restore
    /// it. `None` if it is unchanged.
    fn limited(&self, (said, held): (DailyLimit, Limit)) -> Option<Answer> {
        let now = DailyLimit::saying(self.purse.limit);
        let text = format!(
            "**daily_limit**: {now}. it was {}. `/config daily_limit {said}` takes it back.",
            DailyLimit::saying(held)
        );
        (self.memory.chosen.settings.daily_limit != said).then_some(Answer::Told(text))
    }

    /// Shows or sets the user's name. The model learns of it with its next request, in a note on
    /// the changed instructions.
    pub(super) fn choose_name(&mut self, typed: &str, now: &Zoned) -> (Answer, Vec<Effect>) {
        let before = self.human_name().to_owned();
        if typed.trim().is_empty() {
            return told(format!("i call you {before}. `/name NAME` changes it."));
        }
        let (answer, effects) = self.set(Setting::Name, typed, now);
        let Answer::Told(_) = answer else { return (answer, effects) };
        let name = self.human_name().to_owned();
        if name == before {
            return (Answer::Told(format!("i call you {name}, as before.")), effects);
        }
        let told = format!("i call you {name} from now on. `/name {before}` takes it back.");
        (Answer::Told(told), effects)
    }

    /// Returns the user's name.
    pub(super) fn human_name(&self) -> &str {
        self.memory.chosen.settings.name.as_deref().unwrap_or(&self.choices.human)
    }

    /// SL-12, PB-2: sets the ping pace and shows how many pings are left.
    pub(super) fn choose_pace(&mut self, pace: Pace, now: &Zoned) -> (Answer, Vec<Effect>) {
        let before = self.memory.chosen.pings.unwrap_or_else(|| PingBudget::full(now));
        let budget = before.at(now).paced(pace).at(now);
        self.memory.chosen.pings = Some(budget);
        let text = if pace == Pace::default() { budget.tell_all() } else { budget.tell() };
        (Answer::Told(text), vec![Effect::Write(vec![Record::State(StateChange::Pings(budget))])])
    }

    /// SL-11, MC-28: shows or sets the permission mode of the open fork, or of everything else. It
    /// is not saved for the next start.
    pub(super) fn choose_mode(&mut self, typed: &str, at: &Zoned) -> (Answer, Vec<Effect>) {
        let standing = self.memory.approvals.consent.tell(at);
        let modes = &mut self.memory.chosen.modes;
        let (here, now) = match &self.memory.fork {
            Some(_) => ("in this side conversation", modes.fork.unwrap_or(modes.main)),
            None => ("from now on", modes.main),
        };
        if typed.is_empty() {
            let mode = format!("the mode is `{}`: {}. {}", now.as_str(), now.meaning(), other_modes());
            let text = standing.map_or_else(|| mode.clone(), |standing| format!("{mode}\n\n{standing}"));
            return (Answer::Told(text), Vec::new());
        }
        let Some(mode) = Mode::named(typed) else {
            return (Answer::Refused(format!("`{typed}` is no mode. {}", other_modes())), Vec::new());
        };
        match &self.memory.fork {
            Some(_) => modes.fork = Some(mode),
            None => modes.main = mode,
        }
        (Answer::Told(format!("{here} the mode is `{}`: {}.", mode.as_str(), mode.meaning())), Vec::new())
    }

    /// IF-4: returns the vendor's id of the model for the next turn on `branch`.
    pub(super) fn model(&self, branch: &Branch) -> Option<String> {
        // BF-9: an unknown model name counts as none.
        let run = self.memory.turns.runs.get(branch).and_then(|run| run.terms.model.as_ref());
        let named = run.and_then(|model| self.choices.read(model.as_str()).ok().flatten());
        self.choices.id(named.as_deref().or(self.chosen_model(branch))).map(str::to_owned)
    }

    /// IF-4, MC-29: returns the thinking mode of the next turn on `branch`.
    pub(super) fn thinking(&self, branch: &Branch) -> Thinking {
        if let Some(run) = self.memory.turns.runs.get(branch) {
            // BF-8.
            return match (run.terms.thinking, self.thinking_aside()) {
                (terms::Thinking::Off, _) => Thinking::Off,
                (terms::Thinking::On, Thinking::Auto | Thinking::Off) => Thinking::Adaptive,
                (terms::Thinking::On | terms::Thinking::Inherit, aside) => aside,
            };
        }
        match (branch, &self.memory.fork) {
            (Branch::Main, _) => self.thinking_on_main(),
            (Branch::Fork(_), Some(fork)) if fork.branch == *branch => fork.thinking,
            (Branch::Fork(_), _) => self.thinking_aside(),
        }
    }

    /// Returns the effort of the next turn on `branch`: the job's own, else the setting for
    /// background runs, else main's effort, else the default for the thinking mode.
    pub(super) fn effort(&self, branch: &Branch) -> Effort {
        if let Some(run) = self.memory.turns.runs.get(branch) {
            if let Some(effort) = run.terms.effort {
                return effort;
            }
            let background = self.memory.chosen.settings.effort.background;
            let effort = background.unwrap_or_else(|| self.effort_with(self.thinking(branch)));
            return match run.terms.thinking {
                terms::Thinking::On => effort.max(Effort::Medium),
                terms::Thinking::Inherit => effort,
                // Models that cannot stop thinking think least at low effort.
                terms::Thinking::Off => Effort::Low,
            };
        }
        match (branch, &self.memory.fork) {
            (Branch::Fork(_), Some(fork)) if fork.branch == *branch => fork.effort,
            (Branch::Main | Branch::Fork(_), _) => self.effort_with(self.thinking(branch)),
        }
    }

    /// Returns the effort of a fork that starts now.
    pub(super) fn effort_aside(&self) -> Effort {
        self.effort_with(self.thinking_aside())
    }

    /// Returns the effort chosen for main, or else the default for `thinking`.
    fn effort_with(&self, thinking: Thinking) -> Effort {
        let chosen = &self.memory.chosen;
        chosen.effort.or(chosen.settings.effort.main).unwrap_or_else(|| Effort::for_thinking(thinking))
    }

    /// IF-34: returns the thinking mode of a fork that starts now.
    pub(super) fn thinking_aside(&self) -> Thinking {
        self.memory.chosen.settings.thinking.fork.unwrap_or_else(|| self.thinking_on_main())
    }

    /// IF-4, IF-34: returns the idle timeout in minutes of a fork that starts now.
    pub(super) fn idle_minutes(&self, asked: Option<u32>) -> Option<u32> {
        let usual = self.memory.chosen.settings.timeouts.fork_idle_minutes;
        asked.filter(|minutes| *minutes > 0).or(Some(usual))
    }

    /// Precedence: the `/thinking` override, then the settings, then the start-up configuration.
    fn thinking_on_main(&self) -> Thinking {
        let chosen = &self.memory.chosen;
        chosen.thinking.or(chosen.settings.thinking.main).unwrap_or(self.choices.thinking)
    }

    fn chosen_model(&self, branch: &Branch) -> Option<&str> {
        let models = &self.memory.chosen.settings.models;
        let chosen = match branch {
            Branch::Main => models.main.as_ref(),
            Branch::Fork(_) => models.fork.as_ref().or(models.main.as_ref()),
        };
        chosen.map(String::as_str)
    }

    /// Returns the branch on which the user is.
    pub(super) fn here(&self) -> Branch {
        self.memory.fork.as_ref().map_or(Branch::Main, |fork| fork.branch.clone())
    }

    fn kept(&mut self, setting: Setting, now: &Zoned) -> Vec<Effect> {
        let settings = Box::new(self.memory.chosen.settings.clone());
        let mut minutes = Minutes::at(now);
        minutes.records.push(Record::State(StateChange::Set(setting, settings, now.timestamp())));
        let name = setting.shown();
        let beyond = format!(
            "the last change was to the setting `{name}`, and i take back only what is planned or kept. \
             `config {name} VALUE` sets it."
        );
        self.can_undo_plan(Replanned { beyond: Some(beyond), ..Replanned::default() }, &mut minutes);
        minutes.effects()
    }
}

fn told(text: String) -> (Answer, Vec<Effect>) {
    (Answer::Told(text), Vec::new())
}

fn refused(why: String) -> (Answer, Vec<Effect>) {
    (Answer::Refused(why), Vec::new())
}

fn other_modes() -> String {
    let names: Vec<String> = Mode::ALL.iter().map(|mode| format!("`{}`", mode.as_str())).collect();
    format!("the modes are {}.", names.join(", "))
}
