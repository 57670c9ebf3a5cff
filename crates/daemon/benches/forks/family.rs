//! A long conversation, and forks of it that are driven to their end.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Purpose, Shown, Start};
use domain::context::{Names, Window, instructions};
use domain::conversation::{Branch, Conversation, Heard, Said};
use domain::cost::Account;
use domain::dice::Dice;
use domain::effort::Effort;
use domain::patience;
use domain::record::Record;
use domain::thinking::Thinking;
use domain::turn::{Ending, Limits, TurnId};
use engine::desk::{Desk, Letter};
use engine::drive::{World, drive};
use engine::places::Places;
use engine::ports::Surface;
use engine::reins::Hold;
use jiff::Timestamp;
use models::anthropic::{Anthropic, Key, Settings};
use tempfile::TempDir;
use testkit::long_life;
use tokio::sync::mpsc;
use tools::Toolbox;

const NOW: Timestamp = Timestamp::constant(1_794_700_000, 0);

/// A conversation, and the services its forks use.
pub struct Family {
    world: World,
    conversation: Conversation,
    dice: Dice,
    forks: u64,
    desk: Desk,
    // Forks that call no tool send no inputs; the receiver only has to stay alive.
    _pile: mpsc::Receiver<Letter>,
    _dir: TempDir,
}

impl Family {
    /// Creates a conversation with `entries` entries whose forks call the model at `url`, at most
    /// `calls` at a time.
    pub fn new(entries: u64, url: &str, calls: usize) -> Self {
        let dir = in_memory();
        long_life::lay_out(dir.path(), entries).unwrap();
        let opened = long_life::open(dir.path()).unwrap();
        let names = Names { assistant: "ollim".to_owned(), human: "julius".to_owned() };
        let world = World {
            model: Arc::new(model(url)),
            hands: Arc::new(Toolbox::default()),
            journal: Arc::new(opened.journal),
            surface: Arc::new(Nobody),
            instructions: instructions(&names),
            limits: Limits::HOUSE,
            patience: patience::Limits::HOUSE,
            calls: Arc::new(Places::new(calls)),
        };
        let (desk, pile) = Desk::new();
        let conversation = opened.memory.conversation;
        let dice = Dice::new(7);
        Self { world, conversation, dice, forks: 0, desk, _pile: pile, _dir: dir }
    }

    /// Writes a fork and its first message, and returns the turn that answers it.
    pub async fn fork(&mut self) -> impl Future<Output = ()> + Send + 'static {
        self.forks += 1;
        let branch = Branch::fork(&format!("run-{}", self.forks)).unwrap();
        let words = Heard {
            preface: "[background] be short.".to_owned(),
            text: "is there mail?".to_owned(),
            images: vec![],
        };
        let forked = self.conversation.fork(&Branch::Main, branch.clone(), self.dice.session(), NOW).unwrap();
        let entry = self.conversation.say(&branch, Said::Human(words), NOW).unwrap();
        let start = Start {
            turn: TurnId(self.forks),
            branch: branch.clone(),
            purpose: Purpose::Answer,
            model: None,
            thinking: Thinking::Off,
            effort: Effort::Low,
            window: Window(200_000),
            human: "julius".to_owned(),
            account: Account::answer_on(&branch),
            from: entry.id,
            seed: 7,
        };
        self.world.journal.write(vec![Record::Moved(forked), Record::Said(branch, entry)]).await.unwrap();
        let turn = drive(start, self.world.clone(), self.desk.clone(), Hold::new().1);
        async {
            let ended = turn.await;
            assert_eq!(ended.ending, Ending::Finished);
        }
    }
}

fn model(url: &str) -> Anthropic {
    let settings = Settings {
        base_url: url.to_owned(),
        key: Key::new("none"),
        model: "m".to_owned(),
        max_tokens: 1024,
        connect: Duration::from_secs(60),
        stall: Duration::from_secs(60),
        total: Duration::from_secs(600),
        store: None,
    };
    Anthropic::new(settings).unwrap()
}

struct Nobody;

impl Surface for Nobody {
    fn show(&self, _: &Shown) {}
}

fn in_memory() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}
