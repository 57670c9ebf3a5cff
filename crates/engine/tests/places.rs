//! Stories of tools whose behaviour depends on the conversation they are called in.

#![expect(clippy::expect_used, reason = "test helpers stop at once with the reason")]

use domain::conversation::{Branch, Conversation, EntryContent, UserInput};
use domain::embed::{ButtonAction, Colour, Embed};
use domain::record::{
    Address, Message, MessageChange, MessageId, Record, SurfaceName, TurnChange, TurnOpened,
};
use domain::tool::{Outcome, ShownContent};
use domain::turn::TurnId;
use expect_test::expect;
use jiff::Zoned;
use testkit::scripted_model::ModelOutcome;
use testkit::story::{Story, fork_main};

const TODAY: &str = r#"{"title":"📅 Today","color":"green","fields":[{"name":"15:00","value":"dentist"}],"buttons":[{"label":"Plan it","action":"agent:plan the day"}]}"#;

fn story() -> Story {
    Story::new("2026-11-15T08:00[Europe/Madrid]")
}

/// Creates a fork with an unanswered message of the user.
fn fork_with_open_message(conversation: &mut Conversation, now: Zoned) -> Vec<Record> {
    let branch = Branch::fork("tax").expect("a name");
    let at = now.timestamp();
    let mut records = fork_main(conversation, "tax", &now);
    let heard = UserInput { preface: String::new(), text: "about my tax".to_owned(), images: Vec::new() };
    let entry = conversation.append(&branch, EntryContent::User(heard.clone()), at).expect("a fork");
    let turn = TurnId(90);
    let answers = MessageId(90);
    let message = Message {
        id: answers,
        at,
        surface: SurfaceName::Terminal,
        address: Address::UserBranch,
        text: heard.text,
        images: Vec::new(),
        external_id: None,
        label: domain::label::Label::PLAIN,
    };
    records.extend([
        Record::Message(MessageChange::Received(message)),
        Record::EntryAppended(branch.clone(), entry.clone()),
    ]);
    records.push(Record::Message(MessageChange::Taken(answers, entry.id)));
    records.push(Record::Turn(TurnChange::Opened(TurnOpened { turn, branch, message: answers, at })));
    records
}

fn embeds(said: &[std::sync::Arc<EntryContent>]) -> Vec<Embed> {
    let results = said.iter().filter_map(|said| match &**said {
        EntryContent::Tools(results) => Some(results.clone()),
        EntryContent::User(_)
        | EntryContent::Assistant(..)
        | EntryContent::Summary(_)
        | EntryContent::SummaryRecalled(_) => None,
    });
    let shown = results.flatten().filter_map(|result| match result.outcome {
        Outcome::Shown(ShownContent::Embed(embed)) => Some(embed),
        Outcome::Shown(ShownContent::Text(_)) | Outcome::Done | Outcome::Failed | Outcome::Denied => None,
    });
    shown.collect()
}

/// TL-4: an embed is shown, and is still part of the conversation after a crash.
#[test]
fn embed_is_shown_and_survives_a_crash() {
    let mut story = story();
    story.script([
        ModelOutcome::tool_call("discord_embed", TODAY),
        ModelOutcome::text("There."),
        ModelOutcome::text("Yes."),
    ]);

    story.user("my day?").crash().user("is it still there?");

    expect![[r#"
        human> my day?
        main> calls discord_embed {"title":"📅 Today","color":"green","fields":[{"name":"15:00","value":"dentist"}],"buttons":[{"label":"Plan it","action":"agent:plan the day"}]}
        main> discord_embed: Embed sent.
        main> shows: Today
        main> assistant: There.
        -- crash
        human> is it still there?
        main> assistant: Yes.
    "#]]
    .assert_eq(&story.transcript());
    let contexts = story.contexts();
    let [embed] = embeds(&contexts.last().expect("a request").entries).try_into().expect("one embed");
    assert_eq!((embed.title.as_str(), embed.colour, embed.footer.text()), ("Today", Colour::Green, None));
    assert!(matches!(embed.buttons[0].action, ButtonAction::AskStored(_)), "{:?}", embed.buttons[0]);
}

/// TL-2, TL-7, TL-9, TL-10, TL-12, TL-15, RP-22: on main, tools of other contexts return an error
/// that says so.
#[test]
fn tools_of_other_contexts_return_errors_on_main() {
    let mut story = story();
    let calls = [
        ("ping_user", r#"{"message":"up"}"#),
        ("follow_up_chain", r#"{"minutes_from_now":5}"#),
        ("save_context", "{}"),
        ("report_updates", r#"{"message":"so"}"#),
        ("exit_fork", "{}"),
        ("compact_session", r#"{"instructions":"all"}"#),
    ];
    story.script([ModelOutcome::tool_calls(&calls), ModelOutcome::text("Well.")]);

    story.user("try everything");

    let told = story.transcript();
    let check = |tool: &str, words: &str| {
        let start = format!("main> {tool}: Error: ");
        let line = told.lines().find(|line| line.starts_with(&start)).expect("an error");
        assert!(line.contains(words), "{line}");
    };
    check("ping_user", "only available in background forks");
    check("follow_up_chain", "no active reminder context");
    check("save_context", "not in an interactive fork");
    check("report_updates", "not in a forked session");
    check("exit_fork", "not in an interactive fork");
    check("compact_session", "persistent routine");
}

/// TL-2, TL-4, TL-14, IF-38: a tool call acts on the conversation of its own turn, also while main
/// has one.
#[test]
fn tool_calls_act_on_the_fork_of_their_turn() {
    let mut story = story();
    story.script([
        ModelOutcome::text("Morning."),
        ModelOutcome::tool_calls(&[
            ("enter_fork", "{}"),
            ("discord_embed", TODAY),
            ("ping_user", r#"{"message":"up"}"#),
            ("save_context", "{}"),
        ]),
        ModelOutcome::text("Done."),
    ]);

    story.user("good morning").change(fork_with_open_message).wait_for_answers();

    let told = story.transcript();
    assert!(told.contains("fork/tax> enter_fork: Error: you are already in an interactive fork"), "{told}");
    assert!(told.contains("fork/tax> discord_embed: Embed sent."), "{told}");
    assert!(
        told.contains("fork/tax> ping_user: Error: `ping_user` is only available in background"),
        "{told}"
    );
    assert!(told.contains("fork/tax> save_context: the fork will be promoted"), "{told}");
    let contexts = story.contexts();
    let last = contexts.last().expect("a request");
    assert_eq!(embeds(&last.entries)[0].footer.text(), Some("fork"));
    let main = &contexts[0];
    assert_eq!((&main.branch, &last.branch), (&Branch::Main, &Branch::fork("tax").expect("a name")));
    assert_eq!(main.instructions, last.instructions, "what comes first is the same on every branch");
    assert_eq!(main.tools, last.tools, "what comes first is the same on every branch");
}
