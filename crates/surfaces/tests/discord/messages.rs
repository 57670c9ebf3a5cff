//! Tests of messages, reactions and interactions in both directions.

use surfaces::discord::events::{Asked, Author, Event, Sort, Turn};
use surfaces::discord::message::{Button, Callback, Embed, Flags, Outgoing, Press, Row, Style};
use surfaces::discord::rest::{Owner, Trouble};
use surfaces::discord::wire::File;
use testkit::discord::{Attached, Mishap, On, Ownership, Setup, Trouble as Upset};

use crate::rig::{Rig, ours};

#[tokio::test(start_paused = true)]
async fn the_owner_is_a_person_also_when_a_team_owns_the_application() {
    for (ownership, team) in [(Ownership::Person, false), (Ownership::Team, true)] {
        let rig = Rig::new(Setup { ownership, ..Setup::default() });
        let owner = ours(rig.discord.owner().id());
        let application = rig.rest.application().await.unwrap();
        assert_eq!(application.owner, if team { Owner::Team(owner) } else { Owner::Person(owner) });
        assert_eq!(application.id, ours(rig.discord.application_id()));
        assert_eq!(rig.rest.me().await.unwrap(), ours(rig.discord.bot_id()));
        assert_eq!(rig.rest.open_dm(owner).await.unwrap(), rig.channel());
    }
}

#[tokio::test(start_paused = true)]
async fn a_human_writes_and_replies_and_reacts() {
    let rig = Rig::new(Setup::default());
    let mut process = rig.process(None, 1);
    assert_eq!(process.event().await, Event::Ready { user: ours(rig.discord.bot_id()) });
    let human = rig.discord.owner();

    let first = human.types("hello");
    let heard = process.message().await;
    assert_eq!((heard.content.as_str(), heard.sort), ("hello", Sort::Plain));
    assert_eq!((heard.author, heard.channel), (Author::Person(ours(human.id())), rig.channel()));
    assert!(heard.in_dm());

    human.replies(first, "and more");
    let reply = process.message().await.reply_to.unwrap();
    assert_eq!((reply.message, reply.quoted.unwrap().content.as_str()), (ours(first), "hello"));

    human.reacts(first, "✅").unwrap();
    let Event::Reaction(reaction) = process.event().await else { panic!("no reaction") };
    assert_eq!((reaction.emoji.as_str(), reaction.turn), ("✅", Turn::Added));

    human.types_with("look", vec![Attached::new("cat.png", *b"not a cat")]);
    let attachment = process.message().await.attachments.remove(0);
    assert_eq!((attachment.name.as_str(), attachment.size), ("cat.png", 9));
    assert_eq!(rig.rest.fetch(&attachment.url, 9).await.unwrap(), b"not a cat");
    assert!(rig.rest.fetch(&attachment.url, 8).await.is_err());
}

/// I13: mentions are disabled, whatever the content.
#[tokio::test(start_paused = true)]
async fn a_message_is_sent_changed_marked_and_taken_away() {
    let rig = Rig::new(Setup::default());
    let channel = rig.channel();
    let button = |label: &str| Button {
        label: label.into(),
        emoji: None,
        press: Press::Tell(Style::Primary, format!("o1:{label}")),
    };
    let outgoing = Outgoing {
        content: "@everyone hello".into(),
        embeds: vec![Embed { title: "a card".into(), color: Some(0x33_66_99), ..Embed::default() }],
        rows: vec![Row::Buttons(vec![button("done"), button("later")])],
        flags: Flags::SILENT.and(Flags::NO_EMBEDS),
        files: vec![File { name: "day.png".into(), description: "the day".into(), bytes: b"png"[..].into() }],
        ..Outgoing::default()
    };
    let sent = rig.rest.create_message(channel, &outgoing, Some("n1")).await.unwrap();
    let again = rig.rest.create_message(channel, &outgoing, Some("n1")).await.unwrap();
    assert_eq!(sent.id, again.id, "the nonce keeps it one message");

    let seen = rig.discord.visible();
    assert_eq!(seen.len(), 1);
    assert!(!seen[0].buzzes());
    assert_eq!(seen[0].buttons().len(), 2);
    assert_eq!(seen[0].attachments.len(), 1);
    assert_eq!(rig.discord.allowed_mentions(seen[0].id), serde_json::json!({ "parse": [] }));

    rig.rest.edit_message(channel, sent.id, &Outgoing::words("changed")).await.unwrap();
    rig.rest.react(channel, sent.id, "👀").await.unwrap();
    let seen = rig.discord.visible();
    assert_eq!((seen[0].content.as_str(), seen[0].embeds.len(), seen[0].buttons().len()), ("changed", 0, 0));
    assert_eq!(seen[0].reactions[0].0, "👀");
    rig.rest.unreact(channel, sent.id, "👀").await.unwrap();
    rig.rest.typing(channel).await.unwrap();
    assert!(rig.discord.is_typing());

    rig.rest.delete_message(channel, sent.id).await.unwrap();
    assert_eq!(rig.rest.message(channel, sent.id).await, Err(Trouble::Gone { code: 10008 }));
    let edit = rig.rest.edit_message(channel, sent.id, &Outgoing::words("x")).await;
    assert_eq!(edit, Err(Trouble::Gone { code: 10008 }));
}

#[tokio::test(start_paused = true)]
async fn what_was_missed_is_read_in_order() {
    let rig = Rig::new(Setup::default());
    let human = rig.discord.owner();
    let first = human.types("0");
    for number in 1..150 {
        human.types(&number.to_string());
    }
    let mut after = ours(first);
    let mut read = Vec::new();
    loop {
        let some = rig.rest.messages_after(rig.channel(), after, 100).await.unwrap();
        let Some(last) = some.last() else { break };
        after = last.id;
        read.extend(some.into_iter().map(|message| message.content));
    }
    assert_eq!(read, (1..150).map(|number| number.to_string()).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_button_is_heard_and_answered() {
    let rig = Rig::new(Setup::default());
    let mut process = rig.process(None, 1);
    process.event().await;
    let press = Press::Tell(Style::Success, "o1:done".into());
    let rows = vec![Row::Buttons(vec![Button { label: "Done".into(), emoji: Some("✅".into()), press }])];
    let sent = Outgoing { content: "shoes".into(), rows, ..Outgoing::default() };
    let sent = rig.rest.create_message(rig.channel(), &sent, None).await.unwrap();
    rig.discord.owner().clicks(testkit::discord::Id(sent.id.0), "Done").unwrap();

    let interaction = loop {
        if let Event::Interaction(interaction) = process.event().await {
            break interaction;
        }
    };
    assert_eq!(interaction.user, ours(rig.discord.owner().id()));
    let Asked::Pressed { custom_id, message, .. } = &interaction.asked else { panic!("not pressed") };
    assert_eq!((custom_id.as_str(), message.as_ref().unwrap().id), ("o1:done", sent.id));
    let done = Callback::Update(Outgoing::words("done"));
    rig.rest.answer(interaction.id, &interaction.token, &done).await.unwrap();
    assert_eq!(rig.discord.visible()[0].content, "done");
    let twice = rig.rest.answer(interaction.id, &interaction.token, &done).await;
    assert!(matches!(twice, Err(Trouble::Refused { code: 40060, .. })));
    let more = Outgoing { flags: Flags::EPHEMERAL, ..Outgoing::words("and more") };
    rig.rest.follow_up(interaction.application, &interaction.token, &more).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn trouble_says_who_must_act() {
    let rig = Rig::new(Setup::default());
    let send = async |mishap: Mishap| {
        rig.discord.trouble(Upset::Call(On::send(), mishap));
        rig.rest.create_message(rig.channel(), &Outgoing::words("hello"), None).await.unwrap_err()
    };
    assert!(matches!(send(Mishap::Code(50007)).await, Trouble::NotAllowed { code: 50007, .. }));
    assert!(matches!(send(Mishap::Code(10003)).await, Trouble::Gone { code: 10003 }));
    assert!(matches!(send(Mishap::Status(503)).await, Trouble::Away(_)));
    assert!(matches!(send(Mishap::Status(502)).await, Trouble::Unknown(_)));
    assert!(matches!(send(Mishap::LostAfter).await, Trouble::Unknown(_)));
    let long = rig.rest.create_message(rig.channel(), &Outgoing::words("a".repeat(2001)), None).await;
    assert!(matches!(long, Err(Trouble::Refused { code: 50035, .. })));
    rig.discord.trouble(Upset::Call(On::edit(), Mishap::Status(502)));
    let sent = ours(rig.discord.visible()[0].id);
    let edit = rig.rest.edit_message(rig.channel(), sent, &Outgoing::words("a")).await;
    assert!(matches!(edit, Err(Trouble::Away(_))), "an edit can be made twice");
    rig.discord.trouble(Upset::Revoked);
    assert_eq!(rig.rest.me().await, Err(Trouble::Token));
}
