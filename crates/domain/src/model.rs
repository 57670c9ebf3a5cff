//! The choice of models by name.

mod abilities;

use std::collections::BTreeMap;

pub use abilities::{DEFAULT_BUDGET, ModelAbilities};

use crate::settings::{InvalidSetting, Setting, Settings};
use crate::thinking::Thinking;

/// RC-3: The short names of Anthropic's models.
pub const SHORT_NAMES: [&str; 4] = ["fable", "haiku", "opus", "sonnet"];

/// The name of the offline assistant, which needs no model.
pub const OFFLINE: &str = "offline";

/// The models that can be chosen at run time, and their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelChoices {
    /// The default model, as it is shown.
    pub default_model: String,
    pub naming: ModelNaming,
    /// Which settings of thinking the model accepts.
    pub thinking_control: ThinkingControl,
    /// The default thinking mode.
    pub thinking: Thinking,
    /// Abilities of models by id, from the vendor's models endpoint and refusals. An id that is
    /// missing has the abilities of its family.
    pub abilities: BTreeMap<String, ModelAbilities>,
    /// The default name of the user.
    pub user_name: String,
}

/// The names of models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelNaming {
    /// Short names with the vendor's ids; empty if only the default model exists.
    ShortNames(BTreeMap<String, String>),
    /// Any name that the server knows.
    ServerNames,
}

impl Default for ModelNaming {
    fn default() -> Self {
        Self::ShortNames(BTreeMap::new())
    }
}

/// Which settings of thinking a model accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThinkingControl {
    /// All settings.
    Full,
    /// Only the effort, because the `claude` program ignores everything else.
    EffortOnly,
    /// None: its protocol has no field for it.
    #[default]
    Unsupported,
}

/// Names of the default model.
const DEFAULT_NAMES: [&str; 4] = ["", "default", "none", "null"];

impl ModelChoices {
    /// Returns whether there is no model, so that only the offline assistant answers.
    pub fn is_offline(&self) -> bool {
        self.default_model == OFFLINE
    }

    /// Parses a typed name; `None` means the default model. With short names, a full id of
    /// Anthropic is accepted too.
    pub fn parse(&self, typed: &str) -> Result<Option<String>, String> {
        let name = typed.trim();
        let short = name.to_lowercase();
        if DEFAULT_NAMES.contains(&short.as_str()) {
            return Ok(None);
        }
        match &self.naming {
            ModelNaming::ServerNames if SHORT_NAMES.contains(&short.as_str()) => Err(format!(
                "`{short}` is a short name for a model of Anthropic. Use the name that the server of {} has for a \
                 model, or `default`.",
                self.default_model
            )),
            ModelNaming::ServerNames if name.contains(char::is_whitespace) => {
                Err(format!("`{name}` is not the name of a model: it contains white space."))
            }
            ModelNaming::ServerNames => Ok(Some(name.to_owned())),
            ModelNaming::ShortNames(names) if names.contains_key(&short) => Ok(Some(short)),
            ModelNaming::ShortNames(names) if names.is_empty() => Err(format!(
                "Only {} is set up here. `ollim-bot setup model` sets up another model.",
                self.default_model
            )),
            ModelNaming::ShortNames(_) if is_full_id(&short) => Ok(Some(short)),
            ModelNaming::ShortNames(names) => {
                let names: Vec<&str> = names.keys().map(String::as_str).collect();
                Err(format!(
                    "I don't know a model called `{name}`. Choose {}, a full id such as `claude-haiku-4-5`, or \
                     `default`.",
                    names.join(", ")
                ))
            }
        }
    }

    /// RC-10: Replaces models in `settings` that cannot be chosen by the default, and returns them
    /// as errors.
    pub fn replace_invalid(&self, settings: &mut Settings) -> Vec<InvalidSetting> {
        let models = &mut settings.models;
        let mut wrong = Vec::new();
        for (setting, model) in
            [(Setting::ModelMain, &mut models.main), (Setting::ModelFork, &mut models.fork)]
        {
            if let Some(Err(reason)) = model.as_deref().map(|name| self.parse(name)) {
                *model = None;
                wrong.push(InvalidSetting { key: setting.display_name().to_owned(), reason });
            }
        }
        wrong
    }

    /// Returns the vendor's id of the chosen model; `None` for the default model.
    pub fn id<'a>(&'a self, chosen: Option<&'a str>) -> Option<&'a str> {
        match &self.naming {
            ModelNaming::ShortNames(names) => {
                let name = chosen?;
                let own = (is_full_id(name) && !names.is_empty()).then_some(name);
                names.get(name).map(String::as_str).or(own)
            }
            ModelNaming::ServerNames => chosen,
        }
    }

    /// Returns the name of the chosen model without its service.
    pub fn model_name<'a>(&'a self, chosen: Option<&'a str>) -> &'a str {
        let usual =
            self.default_model.split_once(':').map_or(self.default_model.as_str(), |(_, model)| model);
        self.id(chosen).unwrap_or(usual)
    }

    /// Returns the abilities of `model`, a name from `model_name`.
    pub fn abilities_of(&self, model: &str) -> ModelAbilities {
        match (self.abilities.get(model), self.thinking_control) {
            (Some(known), _) => known.clone(),
            (None, ThinkingControl::Full) => ModelAbilities::of_family(model),
            (None, ThinkingControl::EffortOnly | ThinkingControl::Unsupported) => {
                ModelAbilities::always_thinking()
            }
        }
    }

    /// Returns the chosen model as a sentence.
    pub fn show(&self, chosen: Option<&str>) -> String {
        match (chosen, self.id(chosen)) {
            (Some(name), Some(id)) if name == id => format!("Model: {name}."),
            (Some(name), Some(id)) => format!("Model: {name} ({id})."),
            (Some(_), None) | (None, _) => format!("Model: {} (default).", self.default_model),
        }
    }

    /// Returns the answering model as the end of a sentence.
    pub fn answer_clause(&self, chosen: Option<&str>) -> String {
        match (chosen, self.id(chosen)) {
            (Some(name), Some(id)) if name == id => format!("{name} answers."),
            (Some(name), Some(id)) => format!("{name} answers ({id})."),
            (Some(_), None) | (None, _) => format!("the default model answers ({}).", self.default_model),
        }
    }

    /// Returns a remark about the chosen model: its id is unknown, or it cannot think as `thinking`
    /// says.
    pub fn remark(&self, chosen: Option<&str>, thinking: Thinking) -> Option<String> {
        let model = self.model_name(chosen);
        let is_unknown = chosen.is_some_and(is_full_id)
            && !self.abilities.contains_key(model)
            && !ModelAbilities::is_known_family(model)
            && self.thinking_control != ThinkingControl::Unsupported;
        if is_unknown {
            return Some(format!(
                "I don't know this id; if the vendor doesn't either, the next answer says so. `/model default` goes \
                 back to {}.",
                self.default_model
            ));
        }
        match self.thinking_control {
            ThinkingControl::Full => self.abilities_of(model).remark(model, thinking),
            ThinkingControl::EffortOnly | ThinkingControl::Unsupported => None,
        }
    }
}

/// Returns whether `name` looks like an id of Anthropic, such as `claude-opus-4-8`.
fn is_full_id(name: &str) -> bool {
    let is_part = |character: char| {
        character.is_ascii_lowercase() || character.is_ascii_digit() || matches!(character, '-' | '.')
    };
    name.strip_prefix("claude-").is_some_and(|rest| !rest.is_empty() && rest.chars().all(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anthropic_choices() -> ModelChoices {
        let names = [("opus", "claude-opus-9"), ("haiku", "claude-haiku-9")];
        let names = names.map(|(name, id)| (name.to_owned(), id.to_owned())).into();
        ModelChoices {
            default_model: "anthropic:x".to_owned(),
            naming: ModelNaming::ShortNames(names),
            ..ModelChoices::default()
        }
    }

    /// RC-3: Names are trimmed and read in any case; a few words mean the default model.
    #[test]
    fn names_are_normalized_and_unknown_ones_refused() {
        let choices = anthropic_choices();
        assert_eq!(choices.parse(" Opus "), Ok(Some("opus".to_owned())));
        for usual in ["", "default", "None", "NULL"] {
            assert_eq!(choices.parse(usual), Ok(None), "{usual}");
        }
        assert_eq!(
            choices.parse("gpt"),
            Err("I don't know a model called `gpt`. Choose haiku, opus, a full id such as `claude-haiku-4-5`, or \
                 `default`."
                .to_owned())
        );
        assert_eq!((choices.id(Some("opus")), choices.id(Some("gone"))), (Some("claude-opus-9"), None));
        let offline = ModelChoices { default_model: "offline".to_owned(), ..ModelChoices::default() };
        assert!(offline.parse("opus").unwrap_err().contains("Only offline is set up here"));
    }

    /// A full id is accepted beside the short names, and does not change when those are updated.
    #[test]
    fn full_vendor_id_is_accepted() {
        let choices = ModelChoices { thinking_control: ThinkingControl::Full, ..anthropic_choices() };
        for typed in ["claude-haiku-4-5", " Claude-Haiku-4-5 "] {
            assert_eq!(choices.parse(typed), Ok(Some("claude-haiku-4-5".to_owned())), "{typed}");
        }
        let old = Some("claude-haiku-4-5");
        assert_eq!((choices.id(old), choices.model_name(old)), (old, "claude-haiku-4-5"));
        assert_eq!(choices.answer_clause(old), "claude-haiku-4-5 answers.");
        let shown = [old, Some("opus"), None].map(|chosen| choices.show(chosen));
        assert_eq!(
            shown,
            ["Model: claude-haiku-4-5.", "Model: opus (claude-opus-9).", "Model: anthropic:x (default)."]
        );
        assert_eq!(choices.remark(old, Thinking::Auto), None);
        assert!(
            choices.remark(old, Thinking::Adaptive).unwrap().contains("so it gets a budget of 8192 tokens")
        );
        let strange = choices.remark(Some("claude-opus-4-1"), Thinking::Auto).unwrap();
        assert!(strange.starts_with("I don't know this id;"), "{strange}");
        for typed in ["claude-", "claude-opus 4", "claude_opus", "claude"] {
            assert!(choices.parse(typed).is_err(), "{typed}");
        }
        let offline = ModelChoices { default_model: "offline".to_owned(), ..ModelChoices::default() };
        assert!(offline.parse("claude-opus-4-8").is_err());
        assert_eq!(offline.id(Some("claude-opus-4-8")), None);
    }

    /// A local server accepts any name except Anthropic's short names.
    #[test]
    fn server_with_own_names_accepts_any_name() {
        let choices = ModelChoices {
            default_model: "openai:qwen3".to_owned(),
            naming: ModelNaming::ServerNames,
            ..ModelChoices::default()
        };
        assert_eq!(choices.parse(" Qwen/Qwen3-8B "), Ok(Some("Qwen/Qwen3-8B".to_owned())));
        assert_eq!(choices.id(Some("Qwen/Qwen3-8B")), Some("Qwen/Qwen3-8B"));
        assert_eq!(choices.parse("Default"), Ok(None));
        assert!(choices.parse("Opus").unwrap_err().contains("the server of openai:qwen3"));
        assert!(choices.parse("two words").is_err());
    }

    /// Reported abilities override the table, and the `claude` program treats all models alike.
    #[test]
    fn abilities_come_from_the_vendor_then_from_the_family() {
        let mut choices = ModelChoices { thinking_control: ThinkingControl::Full, ..anthropic_choices() };
        choices.default_model = "anthropic:claude-sonnet-5".to_owned();
        assert_eq!(choices.model_name(None), "claude-sonnet-5");
        assert_eq!(choices.model_name(Some("opus")), "claude-opus-9");
        assert!(choices.abilities_of("claude-sonnet-5").can_turn_off);
        choices.abilities.insert("claude-sonnet-5".to_owned(), ModelAbilities::always_thinking());
        assert!(!choices.abilities_of("claude-sonnet-5").can_turn_off);
        let program = ModelChoices {
            default_model: "claude".to_owned(),
            thinking_control: ThinkingControl::EffortOnly,
            ..ModelChoices::default()
        };
        assert_eq!(program.abilities_of(program.model_name(None)), ModelAbilities::always_thinking());
    }

    /// RC-10: A model of another service is reported and not used.
    #[test]
    fn model_of_another_service_is_replaced_by_the_default() {
        let mut settings = Settings::default();
        settings.models.main = Some("qwen3".to_owned());
        settings.models.fork = Some("opus".to_owned());
        let wrong = anthropic_choices().replace_invalid(&mut settings);
        assert_eq!(wrong.len(), 1);
        assert!(wrong[0].to_string().starts_with("model.main: I don't know a model called `qwen3`."));
        assert_eq!((settings.models.main, settings.models.fork.as_deref()), (None, Some("opus")));
    }
}
