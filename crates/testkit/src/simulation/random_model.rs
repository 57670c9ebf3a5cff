//! A random model: it answers, pings, reports, requests follow-ups, fails, delays its reply, and
//! hangs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::context::Context;
use domain::conversation::{Block, Branch, Json, Usage};
use domain::failure::Failure;
use domain::rng::Rng;
use domain::tool::ToolCall;
use domain::turn::{ModelReply, StopReason};
use engine::ports::{Model, StreamSinkRef};
use engine::simulation::SimClock;
use futures_util::future::BoxFuture;
use serde_json::json;

/// The longest delay of a reply on main, in seconds.
const MAX_MAIN_SECONDS: u64 = 5 * 60;

pub struct RandomModel {
    clock: Arc<SimClock>,
    state: Mutex<RandomState>,
}

struct RandomState {
    rng: Rng,
    calls: u64,
    quiet: bool,
}

impl RandomModel {
    /// Creates a model determined by `seed`.
    pub fn new(clock: Arc<SimClock>, seed: u64) -> Self {
        Self { clock, state: Mutex::new(RandomState { rng: Rng::new(seed), calls: 0, quiet: false }) }
    }

    /// From now on, it only returns short texts.
    pub fn set_quiet(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).quiet = true;
    }

    /// Returns the delay and the result of the next call.
    fn next_result(&self, branch: &Branch) -> (Duration, Result<ModelReply, Failure>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *state;
        let mut pick = |below: u64| (state.rng.next_u64() >> 33) % below;
        let choice = pick(100);
        let time = pick(1_500);
        let time = match (state.quiet, pick(10), branch) {
            (true, _, _) | (_, 2.., _) => Duration::ZERO,
            (_, 0, Branch::Fork(_)) if choice < 20 => Duration::MAX,
            (_, _, Branch::Main) => Duration::from_secs(time % MAX_MAIN_SECONDS),
            (_, _, Branch::Fork(_)) => Duration::from_secs(time),
        };
        state.calls += 1;
        let number = state.calls;
        let minutes = 1 + pick(90);
        let tool_call = |name: &str, input: serde_json::Value| {
            let call = ToolCall {
                id: format!("wild-{number}"),
                name: name.to_owned(),
                input: Json(input.to_string()),
            };
            reply(Block::Call(call), StopReason::Tools)
        };
        let result = match choice {
            _ if state.quiet => text_reply(number),
            0..12 => tool_call("ping_user", json!({ "message": format!("ping {number}") })),
            12..17 => tool_call("ping_user", json!({ "message": format!("now {number}"), "critical": true })),
            17..32 => tool_call("report_updates", json!({ "message": format!("report {number}") })),
            32..37 => tool_call("follow_up_chain", json!({ "minutes_from_now": minutes })),
            37..40 => tool_call("inbox_add", json!({ "text": format!("thing {number}") })),
            40..42 => tool_call("compact_session", json!({ "instructions": "keep it short" })),
            42..46 => Err(Failure::VendorError(format!("trouble {number}"))),
            46..48 => Err(Failure::Unreachable(format!("nobody {number}"))),
            48..49 => Err(Failure::Stopped(format!("no {number}"))),
            _ => text_reply(number),
        };
        (time, result)
    }
}

fn text_reply(number: u64) -> Result<ModelReply, Failure> {
    reply(Block::Text(format!("words {number}")), StopReason::Finished)
}

fn reply(block: Block, stop: StopReason) -> Result<ModelReply, Failure> {
    let usage = Usage { input: 10, output: 5, ..Usage::default() };
    Ok(ModelReply { blocks: vec![block], stop_reason: stop, usage })
}

impl Model for RandomModel {
    fn name(&self) -> &str {
        "wild"
    }

    fn reply<'a>(
        &'a self,
        context: &'a Context,
        listener: StreamSinkRef<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, Failure>> {
        Box::pin(async move {
            let (time, result) = self.next_result(&context.branch);
            if !time.is_zero() {
                self.clock.sleep(time).await;
            }
            listener.text("so ");
            result
        })
    }
}
