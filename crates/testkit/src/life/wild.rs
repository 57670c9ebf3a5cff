//! A random model: it answers, pings, reports, requests follow-ups, fails, delays its reply, and
//! hangs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::context::Context;
use domain::conversation::{Block, Branch, Json, Usage};
use domain::dice::Dice;
use domain::failure::Failure;
use domain::tool::ToolCall;
use domain::turn::{Reply, Stop};
use engine::played::PlayedClock;
use engine::ports::{Listener, Model};
use futures_util::future::BoxFuture;
use serde_json::json;

/// The longest delay of a reply on main, in seconds.
const PATIENCE: u64 = 5 * 60;

pub struct Wild {
    clock: Arc<PlayedClock>,
    mind: Mutex<Mind>,
}

struct Mind {
    dice: Dice,
    calls: u64,
    calm: bool,
}

impl Wild {
    /// Creates a model determined by `seed`.
    pub fn new(clock: Arc<PlayedClock>, seed: u64) -> Self {
        Self { clock, mind: Mutex::new(Mind { dice: Dice::new(seed), calls: 0, calm: false }) }
    }

    /// From now on, it only returns short texts.
    pub fn calm_down(&self) {
        self.mind.lock().unwrap_or_else(PoisonError::into_inner).calm = true;
    }

    /// Returns the delay and the result of the next call.
    fn does(&self, branch: &Branch) -> (Duration, Result<Reply, Failure>) {
        let mut mind = self.mind.lock().unwrap_or_else(PoisonError::into_inner);
        let mind = &mut *mind;
        let mut pick = |below: u64| (mind.dice.roll() >> 33) % below;
        let what = pick(100);
        let time = pick(1_500);
        let time = match (mind.calm, pick(10), branch) {
            (true, _, _) | (_, 2.., _) => Duration::ZERO,
            (_, 0, Branch::Fork(_)) if what < 20 => Duration::MAX,
            (_, _, Branch::Main) => Duration::from_secs(time % PATIENCE),
            (_, _, Branch::Fork(_)) => Duration::from_secs(time),
        };
        mind.calls += 1;
        let number = mind.calls;
        let minutes = 1 + pick(90);
        let calls = |name: &str, input: serde_json::Value| {
            let call = ToolCall {
                id: format!("wild-{number}"),
                name: name.to_owned(),
                input: Json(input.to_string()),
            };
            reply(Block::Call(call), Stop::Tools)
        };
        let done = match what {
            _ if mind.calm => says(number),
            0..12 => calls("ping_user", json!({ "message": format!("ping {number}") })),
            12..17 => calls("ping_user", json!({ "message": format!("now {number}"), "critical": true })),
            17..32 => calls("report_updates", json!({ "message": format!("report {number}") })),
            32..37 => calls("follow_up_chain", json!({ "minutes_from_now": minutes })),
            37..40 => calls("inbox_add", json!({ "text": format!("thing {number}") })),
            40..42 => calls("compact_session", json!({ "instructions": "keep it short" })),
            42..46 => Err(Failure::Broken(format!("trouble {number}"))),
            46..48 => Err(Failure::Unreachable(format!("nobody {number}"))),
            48..49 => Err(Failure::Stopped(format!("no {number}"))),
            _ => says(number),
        };
        (time, done)
    }
}

fn says(number: u64) -> Result<Reply, Failure> {
    reply(Block::Text(format!("words {number}")), Stop::Said)
}

fn reply(block: Block, stop: Stop) -> Result<Reply, Failure> {
    let usage = Usage { input: 10, output: 5, ..Usage::default() };
    Ok(Reply { blocks: vec![block], stop, usage })
}

impl Model for Wild {
    fn name(&self) -> &str {
        "wild"
    }

    fn reply<'a>(
        &'a self,
        context: &'a Context,
        listener: Listener<'a>,
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        Box::pin(async move {
            let (time, done) = self.does(&context.branch);
            if !time.is_zero() {
                self.clock.sleep(time).await;
            }
            listener.words("so ");
            done
        })
    }
}
