//! Ordinary days: the tasks of a month, and the number of questions that they need.

use std::cell::RefCell;
use std::collections::BTreeSet;

use domain::assistant::{ExitCommand, ForkCommand};

use crate::harness::Harness;
use crate::scripted_model::{ModelInput, ScriptedModel, World};

/// A model that does what the user asks, each task once, and nothing else.
#[derive(Default)]
struct HelpfulModel(RefCell<BTreeSet<String>>);

impl ScriptedModel for HelpfulModel {
    fn seed(&self) -> u64 {
        3
    }

    fn calls(&self, moment: &ModelInput<'_>) -> Vec<(String, String)> {
        let text = (moment.text)();
        let wants = text.split("⟦").skip(1).filter_map(|rest| rest.split_once('⟧'));
        for (want, _) in wants {
            let Some((number, call)) = want.split_once(' ') else { continue };
            if let Some((name, input)) = call.split_once(' ')
                && self.0.borrow_mut().insert(number.to_owned())
            {
                return vec![(name.to_owned(), input.to_owned())];
            }
        }
        Vec::new()
    }
}

/// A simulated month and its tasks.
struct Month {
    harness: Harness,
    tasks: Vec<String>,
}

impl Month {
    /// Adds a task and returns its text for the model.
    fn add_task(&mut self, name: &str, input: &str) -> String {
        let number = self.tasks.len();
        // Each call is unique, so that its execution can be checked.
        let input = input.replace("NR", &format!("nr{number}x"));
        self.tasks.push(input.clone());
        format!("⟦{number} {name} {input}⟧")
    }

    fn request(&mut self, name: &str, input: &str) {
        let want = self.add_task(name, input);
        self.harness.user_says(&format!(
            "please do this, see https://typed.example/nr{}x: {want}",
            self.tasks.len() - 1
        ));
    }

    fn run_job(&mut self, tools: &[&str], calls: &[(&str, &str)]) {
        let wants: Vec<String> = calls.iter().map(|(name, input)| self.add_task(name, input)).collect();
        self.harness.run_job(Harness::forked(), tools, &wants.join(" then "));
    }

    /// Simulates a day with heavy use.
    fn simulate_day(&mut self, day: usize) {
        self.harness.user_says("good morning");
        self.request("Task", r#"{"subagent_type":"reader","prompt":"my mail NR"}"#);
        self.request("schedule", r#"{"words":"call the dentist NR tomorrow at 9"}"#);
        self.request("Bash", r#"{"command":"ollim-bot tasks add milk NR"}"#);
        self.request("Bash", r#"{"command":"ollim-bot mail search NR"}"#);
        self.request("Bash", r#"{"command":"ollim-bot tasks done NR"}"#);
        self.request("WebFetch", r#"{"url":"https://typed.example/NR"}"#);
        self.request("WebSearch", r#"{"query":"trains NR"}"#);
        self.request("Write", r#"{"file_path":"notes/NR.md","content":"a thought"}"#);
        self.request("inbox_add", r#"{"text":"an idea NR"}"#);
        self.request("Bash", r#"{"command":"grep NR $DATA/notes/a.md"}"#);
        let mail = ["Bash(ollim-bot mail *)", "report_updates", "ping_user"];
        self.run_job(
            &mail,
            &[
                ("Bash", r#"{"command":"ollim-bot mail unread NR"}"#),
                ("report_updates", r#"{"message":"two mails NR"}"#),
            ],
        );
        let plans = ["Bash(ollim-bot cal *)", "Bash(ollim-bot tasks *)", "schedule", "Write(**.md)"];
        self.run_job(
            &plans,
            &[
                ("Bash", r#"{"command":"ollim-bot tasks add water the plants NR"}"#),
                ("Write", r#"{"file_path":"notes/diary-NR.md","content":"a day"}"#),
                ("Bash", r#"{"command":"ollim-bot cal today NR"}"#),
            ],
        );
        match day % 7 {
            0 => {
                self.request("Bash", r#"{"command":"ollim-bot routine add -m 'plan NR' --cron '0 9 * * 1'"}"#)
            }
            2 => self.request("Bash", r#"{"command":"ollim-bot tasks delete NR"}"#),
            4 => self.request("WebFetch", r#"{"url":"https://found.example/NR"}"#),
            5 => {
                self.harness.step(ForkCommand::Enter("the mail".to_owned()));
                self.request("Bash", r#"{"command":"ollim-bot mail read NR"}"#);
                self.request("Bash", r#"{"command":"ollim-bot tasks add answer NR"}"#);
                self.harness.step(Harness::back(ExitCommand::Report("answered".to_owned())));
            }
            _ => {}
        }
        self.harness.user_says("good night");
        self.harness.next_day();
    }
}

/// I14: Thirty days with mail, pages, plans, notes and jobs need at most 30 questions, and every
/// task is done.
#[test]
fn ordinary_month_needs_few_approvals() {
    let world = World { outside: "news and offers".to_owned(), private: "a note".to_owned() };
    let house = Harness::new(Box::new(HelpfulModel::default()), world).approving();
    let mut month = Month { harness: house, tasks: Vec::new() };
    (0..30).for_each(|day| month.simulate_day(day));
    let Month { harness: house, tasks: wanted } = month;
    let left: Vec<&String> = wanted
        .iter()
        .filter(|want| !house.observed.executed.iter().any(|ran| ran.call.input.0 == **want))
        .filter(|want| !house.observed.delegated.contains(want))
        .collect();
    assert!(
        left.is_empty(),
        "{} of {} were blocked: {:?}",
        left.len(),
        wanted.len(),
        &left[..left.len().min(5)]
    );
    assert!(house.observed.question_count <= 30, "asked {} times", house.observed.question_count);
    assert!(
        house.observed.question_count >= 10,
        "somebody is asked before what cannot be taken back: {}",
        house.observed.question_count
    );
    assert_eq!(house.observed.card_count, 0, "nothing waits for a day");
}
