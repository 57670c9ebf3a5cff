//! The choice of models by name.

mod abilities;

use std::collections::BTreeMap;

pub use abilities::{Abilities, USUAL_BUDGET};

use crate::settings::{BadSetting, Setting, Settings};
use crate::thinking::Thinking;

/// RC-3: The short names of Anthropic's models.
pub const SHORT_NAMES: [&str; 4] = ["fable", "haiku", "opus", "sonnet"];

/// The name of the offline assistant, which needs no model.
pub const OFFLINE: &str = "offline";

/// The models that can be chosen at run time, and their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// The default model, as it is shown.
    pub usual: String,
    pub naming: Naming,
    /// Which settings of thinking the model accepts.
    pub thinks: Thinks,
    /// The default thinking mode.
    pub thinking: Thinking,
    /// Abilities of models by id, from the vendor's models endpoint and refusals. An id that is
    /// missing has the abilities of its family.
    pub abilities: BTreeMap<String, Abilities>,
    /// The default name of the user.
    pub human: String,
}

/// The names of models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Naming {
    /// Short names with the vendor's ids; empty if only the default model exists.
    Short(BTreeMap<String, String>),
    /// Any name that the server knows.
    Own,
}

impl Default for Naming {
    fn default() -> Self {
        Self::Short(BTreeMap::new())
    }
}

/// Which settings of thinking a model accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Thinks {
    /// All settings.
    AsTold,
    /// Only the effort, because the `claude` program ignores everything else.
    ByEffort,
    /// None: its protocol has no field for it.
    #[default]
    ByItself,
}

/// Names of the default model.
const USUAL: [&str; 4] = ["", "default", "none", "null"];

impl Choices {
    /// Returns whether there is no model, so that only the offline assistant answers.
    pub fn is_offline(&self) -> bool {
        self.usual == OFFLINE
    }

    /// Parses a typed name; `None` means the default model. With short names, a full id of
    /// Anthropic is accepted too.
    pub fn read(&self, typed: &str) -> Result<Option<String>, String> {
        let name = typed.trim();
        let short = name.to_lowercase();
        if USUAL.contains(&short.as_str()) {
            return Ok(None);
        }
        match &self.naming {
            Naming::Own if SHORT_NAMES.contains(&short.as_str()) => Err(format!(
                "`{short}` is a short name for a model of Anthropic. Use the name that the server of {} has for a \
                 model, or `default`.",
                self.usual
            )),
            Naming::Own if name.contains(char::is_whitespace) => {
                Err(format!("`{name}` is not the name of a model: it contains white space."))
            }
            Naming::Own => Ok(Some(name.to_owned())),
            Naming::Short(names) if names.contains_key(&short) => Ok(Some(short)),
            Naming::Short(names) if names.is_empty() => Err(format!(
                "Only {} is set up here. `ollim-bot setup model` sets up another model.",
                self.usual
            )),
            Naming::Short(_) if is_full_id(&short) => Ok(Some(short)),
            Naming::Short(names) => {
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
    pub fn admit(&self, settings: &mut Settings) -> Vec<BadSetting> {
        let models = &mut settings.models;
        let mut wrong = Vec::new();
        for (setting, model) in
            [(Setting::ModelMain, &mut models.main), (Setting::ModelFork, &mut models.fork)]
        {
            if let Some(Err(reason)) = model.as_deref().map(|name| self.read(name)) {
                *model = None;
                wrong.push(BadSetting { key: setting.shown().to_owned(), reason });
            }
        }
        wrong
    }

    /// Returns the vendor's id of the chosen model; `None` for the default model.
    pub fn id<'a>(&'a self, chosen: Option<&'a str>) -> Option<&'a str> {
        match &self.naming {
            Naming::Short(names) => {
                let name = chosen?;
                let own = (is_full_id(name) && !names.is_empty()).then_some(name);
                names.get(name).map(String::as_str).or(own)
            }
            Naming::Own => chosen,
        }
    }

    /// Returns the name of the chosen model without its service.
    pub fn model_name<'a>(&'a self, chosen: Option<&'a str>) -> &'a str {
        let usual = self.usual.split_once(':').map_or(self.usual.as_str(), |(_, model)| model);
        self.id(chosen).unwrap_or(usual)
    }

    /// Returns the abilities of `model`, a name from `model_name`.
    pub fn abilities_of(&self, model: &str) -> Abilities {
        match (self.abilities.get(model), self.thinks) {
            (Some(known), _) => known.clone(),
            (None, Thinks::AsTold) => Abilities::of_family(model),
            (None, Thinks::ByEffort | Thinks::ByItself) => Abilities::always_thinking(),
        }
    }

    /// Returns the chosen model as a sentence.
    pub fn show(&self, chosen: Option<&str>) -> String {
        match (chosen, self.id(chosen)) {
            (Some(name), Some(id)) if name == id => format!("Model: {name}."),
            (Some(name), Some(id)) => format!("Model: {name} ({id})."),
            (Some(_), None) | (None, _) => format!("Model: {} (default).", self.usual),
        }
    }

    /// Returns the answering model as the end of a sentence.
    pub fn tell(&self, chosen: Option<&str>) -> String {
        match (chosen, self.id(chosen)) {
            (Some(name), Some(id)) if name == id => format!("{name} answers."),
            (Some(name), Some(id)) => format!("{name} answers ({id})."),
            (Some(_), None) | (None, _) => format!("the default model answers ({}).", self.usual),
        }
    }

    /// Returns a remark about the chosen model: its id is unknown, or it cannot think as `thinking`
    /// says.
    pub fn remark(&self, chosen: Option<&str>, thinking: Thinking) -> Option<String> {
        let model = self.model_name(chosen);
        let is_strange = chosen.is_some_and(is_full_id)
            && !self.abilities.contains_key(model)
            && !Abilities::knows(model)
            && self.thinks != Thinks::ByItself;
        if is_strange {
            return Some(format!(
                "I don't know this id; if the vendor doesn't either, the next answer says so. `/model default` goes \
                 back to {}.",
                self.usual
            ));
        }
        match self.thinks {
            Thinks::AsTold => self.abilities_of(model).remark(model, thinking),
            Thinks::ByEffort | Thinks::ByItself => None,
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

    fn of_anthropic() -> Choices {
        let names = [("opus", "claude-opus-9"), ("haiku", "claude-haiku-9")];
        let names = names.map(|(name, id)| (name.to_owned(), id.to_owned())).into();
        Choices { usual: "anthropic:x".to_owned(), naming: Naming::Short(names), ..Choices::default() }
    }

    /// RC-3: Names are trimmed and read in any case; a few words mean the default model.
    #[test]
    fn a_name_is_read_as_people_type_it_and_an_unknown_one_hears_the_others() {
        let choices = of_anthropic();
        assert_eq!(choices.read(" Opus "), Ok(Some("opus".to_owned())));
        for usual in ["", "default", "None", "NULL"] {
            assert_eq!(choices.read(usual), Ok(None), "{usual}");
        }
        assert_eq!(
            choices.read("gpt"),
            Err("I don't know a model called `gpt`. Choose haiku, opus, a full id such as `claude-haiku-4-5`, or \
                 `default`."
                .to_owned())
        );
        assert_eq!((choices.id(Some("opus")), choices.id(Some("gone"))), (Some("claude-opus-9"), None));
        let offline = Choices { usual: "offline".to_owned(), ..Choices::default() };
        assert!(offline.read("opus").unwrap_err().contains("Only offline is set up here"));
    }

    /// A full id is accepted beside the short names, and does not change when those are updated.
    #[test]
    fn a_full_id_of_the_vendor_is_a_name_too() {
        let choices = Choices { thinks: Thinks::AsTold, ..of_anthropic() };
        for typed in ["claude-haiku-4-5", " Claude-Haiku-4-5 "] {
            assert_eq!(choices.read(typed), Ok(Some("claude-haiku-4-5".to_owned())), "{typed}");
        }
        let old = Some("claude-haiku-4-5");
        assert_eq!((choices.id(old), choices.model_name(old)), (old, "claude-haiku-4-5"));
        assert_eq!(choices.tell(old), "claude-haiku-4-5 answers.");
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
            assert!(choices.read(typed).is_err(), "{typed}");
        }
        let offline = Choices { usual: "offline".to_owned(), ..Choices::default() };
        assert!(offline.read("claude-opus-4-8").is_err());
        assert_eq!(offline.id(Some("claude-opus-4-8")), None);
    }

    /// A local server accepts any name except Anthropic's short names.
    #[test]
    fn a_server_with_names_of_its_own_takes_any_of_them() {
        let choices = Choices { usual: "openai:qwen3".to_owned(), naming: Naming::Own, ..Choices::default() };
        assert_eq!(choices.read(" Qwen/Qwen3-8B "), Ok(Some("Qwen/Qwen3-8B".to_owned())));
        assert_eq!(choices.id(Some("Qwen/Qwen3-8B")), Some("Qwen/Qwen3-8B"));
        assert_eq!(choices.read("Default"), Ok(None));
        assert!(choices.read("Opus").unwrap_err().contains("the server of openai:qwen3"));
        assert!(choices.read("two words").is_err());
    }

    /// Reported abilities override the table, and the `claude` program treats all models alike.
    #[test]
    fn abilities_come_from_the_vendor_then_from_the_family() {
        let mut choices = Choices { thinks: Thinks::AsTold, ..of_anthropic() };
        choices.usual = "anthropic:claude-sonnet-5".to_owned();
        assert_eq!(choices.model_name(None), "claude-sonnet-5");
        assert_eq!(choices.model_name(Some("opus")), "claude-opus-9");
        assert!(choices.abilities_of("claude-sonnet-5").can_turn_off);
        choices.abilities.insert("claude-sonnet-5".to_owned(), Abilities::always_thinking());
        assert!(!choices.abilities_of("claude-sonnet-5").can_turn_off);
        let program = Choices { usual: "claude".to_owned(), thinks: Thinks::ByEffort, ..Choices::default() };
        assert_eq!(program.abilities_of(program.model_name(None)), Abilities::always_thinking());
    }

    /// RC-10: A model of another service is reported and not used.
    #[test]
    fn a_model_of_another_brain_gives_way_to_the_usual_one() {
        let mut settings = Settings::default();
        settings.models.main = Some("qwen3".to_owned());
        settings.models.fork = Some("opus".to_owned());
        let wrong = of_anthropic().admit(&mut settings);
        assert_eq!(wrong.len(), 1);
        assert!(wrong[0].to_string().starts_with("model.main: I don't know a model called `qwen3`."));
        assert_eq!((settings.models.main, settings.models.fork.as_deref()), (None, Some("opus")));
    }
}
