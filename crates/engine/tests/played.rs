//! Simulated time: `simulate` waits for the same work as `run`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::approval::{Approval, ApprovalId, Reply, Verdict, Waits};
use domain::assistant::{Assistant, Memory, Request, Shown};
use domain::compaction::Room;
use domain::conversation::{Branch, Conversation, EntryId, Json};
use domain::dice::Dice;
use domain::label::Label;
use domain::record::SurfaceName;
use domain::tool::{Outcome, ToolCall, ToolResult, ToolSpec};
use domain::turn::{Limits, TurnId};
use engine::desk::{Desk, Letter};
use engine::drive::World;
use engine::places::Places;
use engine::played::PlayedClock;
use engine::ports::{Clock, Hands, Surface};
use engine::run::House;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::Zoned;
use testkit::forgetful::Forgetful;
use testkit::puppet::{Line, Puppet};
use tokio::sync::oneshot;

const MINUTE: Duration = Duration::from_secs(60);

/// A tool runner that takes a minute for each call, and a surface that collects notices.
struct Played {
    clock: Arc<PlayedClock>,
    shown: Mutex<Vec<String>>,
}

impl Hands for Played {
    fn tools(&self) -> Arc<[ToolSpec]> {
        Arc::from([])
    }

    fn run<'a>(&'a self, _: TurnId, call: &'a ToolCall, _: &'a Desk) -> BoxFuture<'a, ToolResult> {
        async {
            self.clock.sleep(MINUTE).await;
            let call = call.id.clone();
            let text = "tidied".to_owned();
            ToolResult { call, text, outcome: Outcome::Done, label: Label::PLAIN }
        }
        .boxed()
    }
}

impl Surface for Played {
    fn show(&self, shown: &Shown) {
        if let (Shown::Notice(text), Ok(mut seen)) = (shown, self.shown.lock()) {
            seen.push(text.clone());
        }
    }
}

/// Returns the state of an assistant with an open approval card.
fn with_a_card(now: &Zoned) -> Memory {
    let mut memory = Memory::of(Conversation::new(BTreeMap::new(), EntryId(1)));
    let id = "call-1".to_owned();
    let name = "tidy".to_owned();
    let call = ToolCall { id, name, input: Json("{}".to_owned()) };
    let id = ApprovalId(1);
    let at = now.timestamp();
    let turn = TurnId(1);
    let branch = Branch::Main;
    memory.approvals.open.push(Approval {
        id,
        step: id,
        at,
        turn,
        branch,
        call,
        knows: domain::label::Label::PLAIN,
        waits: Waits::Card,
    });
    memory.approvals.next = ApprovalId(2);
    memory
}

/// An approved call runs in simulated time, takes its time, and its result is shown.
#[tokio::test]
async fn a_card_is_carried_out_in_played_time() {
    let start: Zoned = "2026-11-15T08:00[Europe/Madrid]".parse().unwrap();
    let clock = Arc::new(PlayedClock::new(&start));
    let played = Arc::new(Played { clock: clock.clone(), shown: Mutex::default() });
    let world = World {
        model: Arc::new(Puppet::answering(|_| Line::says("Yes."))),
        hands: played.clone(),
        journal: Arc::new(Forgetful),
        surface: played.clone(),
        instructions: Arc::from(""),
        patience: domain::patience::Limits::NONE,
        limits: Limits::HOUSE,
        calls: Arc::new(Places::new(1)),
    };
    let assistant = Assistant::new(with_a_card(&start), Arc::from([]), Room::HOUSE, Dice::new(7));
    let mut house = House::new(assistant, world, clock.clone(), Desk::new());
    let (reply, _answer) = oneshot::channel();
    let which = "1".to_owned();
    let verdict = Verdict::Allow;
    let by = SurfaceName::Terminal;
    house.open(Letter::Asked(Request::Approve(Reply { which, verdict, by }), reply)).await;

    house.play(&clock, MINUTE / 2).await;
    let told = || played.shown.lock().unwrap().iter().filter(|shown| *shown == "card 1: tidied").count();
    assert_eq!(told(), 0, "it takes a minute");
    house.play(&clock, MINUTE).await;
    assert_eq!(told(), 1, "{:?} at {}", played.shown.lock().unwrap(), clock.now());
    house.leave().await;
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
}
