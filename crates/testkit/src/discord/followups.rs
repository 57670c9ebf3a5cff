//! Requests with an interaction's token after the first response.

use std::time::Duration;

use serde_json::json;

use super::id::{InteractionId, MessageId};
use super::interactions::{ALLOWED, Answered};
use super::messages::Draft;
use super::refusal::Refusal;
use super::rest::{Asked, Done};
use super::setup::Installed;
use super::talk::{LOADING, Standing};
use super::world::World;

/// The lifetime of a token.
pub(super) const TOKEN: Duration = Duration::from_secs(15 * 60);
/// The maximum number of follow-up messages if the application is installed for a single user.
const FOLLOWUPS: usize = 5;

impl World {
    /// Handles a request that uses an interaction's token.
    pub fn after(
        &mut self,
        asked: &Asked,
        application: &str,
        token: &str,
        rest: &[&str],
    ) -> Result<Done, Refusal> {
        if application != self.talk.application.to_string() {
            return Err(Refusal::code(10015));
        }
        let by_token = self.desk.interactions.iter().find(|(_, interaction)| interaction.token == token);
        let id = by_token.map(|(id, _)| *id).ok_or(Refusal::code(50027))?;
        let interaction = self.desk.interactions.get(&id).cloned().ok_or(Refusal::code(50027))?;
        if self.now.boot > interaction.born + TOKEN {
            return Err(Refusal::code(50027));
        }
        if interaction.answered == Answered::NotYet {
            return Err(Refusal::code(10015));
        }
        match (asked.call.method.as_str(), rest) {
            ("POST", []) => self.follow_up(id, asked),
            (method, ["messages", which]) => {
                let message = self.reachable(id, which)?;
                match method {
                    "GET" => self.told(message),
                    "PATCH" => self.change(message, asked),
                    "DELETE" => {
                        self.delete(message);
                        Ok(Done::Silent)
                    }
                    _ => Err(Refusal::status(405)),
                }
            }
            _ => Err(Refusal::status(404)),
        }
    }

    /// Returns the id of a message that the token gives access to.
    fn reachable(&self, id: InteractionId, which: &str) -> Result<MessageId, Refusal> {
        let original = self.desk.interactions.get(&id).and_then(|interaction| interaction.original());
        let found = match which {
            "@original" => original,
            which => which.parse().ok(),
        };
        let message = found.and_then(|found| self.talk.messages.get(&found));
        let message =
            message.filter(|message| message.standing == Standing::Shown).ok_or(Refusal::code(10008))?;
        let from = &message.wire.get("interaction_metadata").cloned().unwrap_or_default()["id"];
        let ours = Some(message.id) == original || *from == id.to_string();
        if ours { Ok(message.id) } else { Err(Refusal::code(10008)) }
    }

    fn change(&mut self, id: MessageId, asked: &Asked) -> Result<Done, Refusal> {
        let draft = Draft { payload: asked.call.body.payload(), files: asked.call.body.files(), flags: 0 };
        let before = self.talk.messages.get(&id).map_or(0, super::talk::Message::flags);
        let loading = before & LOADING != 0;
        self.set_flags(id, before & !LOADING);
        if let Err(refusal) = self.revise(id, draft) {
            self.set_flags(id, before);
            return Err(refusal);
        }
        // Filling in a deferred response does not count as an edit.
        if let Some(message) = self.talk.messages.get_mut(&id).filter(|_| loading) {
            message.edits = 0;
        }
        self.told(id)
    }

    fn set_flags(&mut self, id: MessageId, flags: u64) {
        if let Some(message) = self.talk.messages.get_mut(&id) {
            message.wire.insert("flags".into(), json!(flags));
        }
    }

    fn follow_up(&mut self, id: InteractionId, asked: &Asked) -> Result<Done, Refusal> {
        let Some(interaction) = self.desk.interactions.get(&id).cloned() else {
            return Err(Refusal::code(10015));
        };
        let awaited = interaction.original().and_then(|id| self.talk.messages.get(&id));
        let awaited =
            awaited.filter(|message| message.flags() & LOADING != 0 && message.standing == Standing::Shown);
        if let Some(awaited) = awaited.map(|message| message.id) {
            return self.change(awaited, asked);
        }
        if self.setup.installed == Installed::User && interaction.followups >= FOLLOWUPS {
            return Err(Refusal::code(40094));
        }
        let draft =
            Draft { payload: asked.call.body.payload(), files: asked.call.body.files(), flags: ALLOWED };
        let mut message = self.compose(interaction.channel, draft)?;
        message.wire.extend(self.provenance(id, &interaction));
        message.wire.insert("type".into(), json!(0));
        let posted = self.post(message);
        if let Some(interaction) = self.desk.interactions.get_mut(&id) {
            interaction.followups += 1;
        }
        self.told(posted)
    }
}
