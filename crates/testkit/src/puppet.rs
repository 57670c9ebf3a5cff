//! The model, played: a deterministic function of what it reads.
//!
//! It never looks at a clock or rolls unseeded dice, so that one context always gets one reply, and it
//! remembers every context it was given.

mod hostile;
mod random;

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::context::Context;
use domain::conversation::{Block, Json, Said, Text, Usage};
use domain::failure::Failure;
use domain::tool::ToolCall;
use domain::turn::{Reply, Stop};
use engine::ports::{Listener, Model};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

/// What the puppet does with one context.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// It replies. Calls without an id are given one.
    Reply(Reply),
    /// It fails, after these words.
    Fails(String, Failure),
}

impl Line {
    /// A reply of words.
    pub fn says(text: &str) -> Self {
        Self::of(vec![Block::Text(text.to_owned())], Stop::Said)
    }

    /// A reply that calls one tool with a JSON input.
    pub fn calls(name: &str, input: &str) -> Self {
        Self::of(vec![call(name, input)], Stop::Tools)
    }

    /// A reply that calls several tools at once.
    pub fn calls_all(calls: &[(&str, &str)]) -> Self {
        Self::of(calls.iter().map(|(name, input)| call(name, input)).collect(), Stop::Tools)
    }

    /// A failure before the first word.
    pub fn fails(failure: Failure) -> Self {
        Self::Fails(String::new(), failure)
    }

    /// A reply of these blocks, with an invented usage.
    pub fn of(blocks: Vec<Block>, stop: Stop) -> Self {
        let usage = Usage { input: 10, output: 5, ..Usage::default() };
        Self::Reply(Reply { blocks, stop, usage })
    }
}

/// A played model.
pub struct Puppet {
    name: String,
    play: Mutex<Play>,
    seen: Mutex<Vec<Context>>,
}

type Answer = Box<dyn FnMut(&Context) -> Line + Send>;

enum Play {
    Script(VecDeque<Line>),
    Answer(Answer),
    Random(u64),
    Hostile,
}

impl Puppet {
    /// Says these lines, one to a call, and fails when there are no more.
    pub fn scripted(lines: impl IntoIterator<Item = Line>) -> Self {
        Self::playing("scripted", Play::Script(lines.into_iter().collect()))
    }

    /// Asks `answer`; see [`last_words`].
    pub fn answering(answer: impl FnMut(&Context) -> Line + Send + 'static) -> Self {
        Self::playing("answering", Play::Answer(Box::new(answer)))
    }

    /// Says words, calls tools rightly and wrongly, says nothing, and fails, as `seed` and the context choose.
    pub fn random(seed: u64) -> Self {
        Self::playing("random", Play::Random(seed))
    }

    /// Obeys whatever looks like an order to call a tool, wherever it stands, and each order once.
    pub fn hostile() -> Self {
        Self::playing("hostile", Play::Hostile)
    }

    /// Every context it was given, oldest first.
    pub fn seen(&self) -> Vec<Context> {
        locked(&self.seen).clone()
    }

    fn playing(name: &str, play: Play) -> Self {
        Self { name: format!("puppet:{name}"), play: Mutex::new(play), seen: Mutex::default() }
    }

    fn line(&self, context: &Context) -> Line {
        let mut seen = locked(&self.seen);
        seen.push(context.clone());
        match &mut *locked(&self.play) {
            Play::Script(lines) => lines
                .pop_front()
                .unwrap_or_else(|| Line::fails(Failure::Stopped("the puppet has no more lines".to_owned()))),
            Play::Answer(answer) => answer(context),
            Play::Random(seed) => {
                // Who is asked the same again may answer differently, or no failure would ever pass.
                let again = seen.iter().filter(|before| before.said == context.said).count() as u64;
                random::line(seed.wrapping_add(again), context)
            }
            Play::Hostile => hostile::line(context),
        }
    }
}

impl Model for Puppet {
    fn name(&self) -> &str {
        &self.name
    }

    fn reply<'a>(
        &'a self,
        context: &'a Context,
        listener: Listener<'a>,
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        async move {
            match self.line(context) {
                Line::Reply(reply) => {
                    let reply = numbered(reply, calls(context).count());
                    speak(&reply.blocks.text(), listener);
                    Ok(reply)
                }
                Line::Fails(words, failure) => {
                    speak(&words, listener);
                    Err(failure)
                }
            }
        }
        .boxed()
    }
}

/// The words of the newest thing said, the preface left out.
pub fn last_words(context: &Context) -> String {
    context.said.last().map(|said| said.text()).unwrap_or_default()
}

fn call(name: &str, input: &str) -> Block {
    Block::Call(ToolCall { id: String::new(), name: name.to_owned(), input: Json(input.to_owned()) })
}

fn calls(context: &Context) -> impl Iterator<Item = &ToolCall> {
    let blocks = context.said.iter().flat_map(|said| match &**said {
        Said::Assistant(blocks, _) => blocks.as_slice(),
        Said::Human(_) | Said::Tools(_) | Said::Summary(_) => &[],
    });
    blocks.filter_map(|block| match block {
        Block::Call(call) => Some(call),
        Block::Text(_) | Block::Opaque(_) => None,
    })
}

fn numbered(mut reply: Reply, before: usize) -> Reply {
    let unnamed = reply.blocks.iter_mut().filter_map(|block| match block {
        Block::Call(call) if call.id.is_empty() => Some(call),
        Block::Call(_) | Block::Text(_) | Block::Opaque(_) => None,
    });
    for (at, call) in unnamed.enumerate() {
        call.id = format!("call_{}", before + at + 1);
    }
    reply
}

/// Words come in pieces, as they do from a real model.
fn speak(words: &str, listener: Listener<'_>) {
    words.split_inclusive(' ').for_each(listener);
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
