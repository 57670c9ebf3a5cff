//! Which model answers: the short names the human may choose from.

use std::collections::BTreeMap;

/// The models that can be chosen while the program runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// What answers when nothing is chosen, as people know it.
    pub usual: String,
    /// The vendor's id of each short name; none, if this vendor has only the usual model.
    pub names: BTreeMap<String, String>,
}

/// What the human calls the usual model.
const USUAL: [&str; 4] = ["", "default", "none", "null"];

impl Choices {
    /// The short name that `typed` means: nothing, for the usual model.
    pub fn read(&self, typed: &str) -> Result<Option<String>, String> {
        let name = typed.trim().to_lowercase();
        if USUAL.contains(&name.as_str()) {
            return Ok(None);
        }
        if self.names.contains_key(&name) {
            return Ok(Some(name));
        }
        let names: Vec<&str> = self.names.keys().map(String::as_str).collect();
        Err(match names.is_empty() {
            true => format!(
                "there is only {} here. to choose another brain, set OLLIM_MODEL and start me again.",
                self.usual
            ),
            false => format!("i know no model called `{name}`. choose {} or default.", names.join(", ")),
        })
    }

    /// The vendor's id of the model that was chosen; nothing, for the usual one.
    pub fn id(&self, chosen: Option<&str>) -> Option<&str> {
        chosen.and_then(|name| self.names.get(name)).map(String::as_str)
    }

    /// Which one answers, in words.
    pub fn tell(&self, chosen: Option<&str>) -> String {
        match (chosen, self.id(chosen)) {
            (Some(name), Some(id)) => format!("{name} answers ({id})."),
            (Some(_), None) | (None, _) => format!("the usual model answers ({}).", self.usual),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RC-3: names are trimmed and read in any case; a few words mean the usual model.
    #[test]
    fn a_name_is_read_as_people_type_it_and_an_unknown_one_hears_the_others() {
        let names = [("opus", "claude-opus-9"), ("haiku", "claude-haiku-9")];
        let names = names.map(|(name, id)| (name.to_owned(), id.to_owned())).into();
        let choices = Choices { usual: "anthropic:x".to_owned(), names };
        assert_eq!(choices.read(" Opus "), Ok(Some("opus".to_owned())));
        for usual in ["", "default", "None", "NULL"] {
            assert_eq!(choices.read(usual), Ok(None), "{usual}");
        }
        assert_eq!(
            choices.read("gpt"),
            Err("i know no model called `gpt`. choose haiku, opus or default.".to_owned())
        );
        assert_eq!((choices.id(Some("opus")), choices.id(Some("gone"))), (Some("claude-opus-9"), None));
        let offline = Choices { usual: "offline".to_owned(), ..Choices::default() };
        assert!(offline.read("opus").unwrap_err().contains("there is only offline here"));
    }
}
