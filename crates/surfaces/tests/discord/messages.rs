//! Tests of messages, reactions and interactions in both directions.

use surfaces::discord::events::{Author, Event, InteractionKind, MessageType, ReactionChange};
use surfaces::discord::message::{Button, ButtonKind, Callback, Embed, Flags, OutgoingMessage, Row, Style};
use surfaces::discord::rest::{DiscordError, Owner};
use surfaces::discord::transport::File;
use testkit::fake_discord::{DiscordFault as Upset, Ownership, RequestFault, RequestFilter, Setup, Upload};

use crate::fixture::{Fixture, snowflake};

#[tokio::test(start_paused = true)]
async fn the_owner_is_a_user_also_when_a_team_owns_the_application() {
    for (ownership, team) in [(Ownership::User, false), (Ownership::Team, true)] {
        let rig = Fixture::new(Setup { ownership, ..Setup::default() });
        let owner = snowflake(rig.discord.owner().id());
        let application = rig.rest.application().await.unwrap();
        assert_eq!(application.owner, if team { Owner::Team(owner) } else { Owner::Person(owner) });
        assert_eq!(application.id, snowflake(rig.discord.application_id()));
        assert_eq!(rig.rest.current_user().await.unwrap(), snowflake(rig.discord.bot_id()));
        assert_eq!(rig.rest.open_dm(owner).await.unwrap(), rig.channel());
    }
}

#[tokio::test(start_paused = true)]
async fn messages_replies_and_reactions_are_received() {
    let rig = Fixture::new(Setup::default());
    let mut process = rig.process(None, 1);
    assert_eq!(process.event().await, Event::Ready { user: snowflake(rig.discord.bot_id()) });
    let human = rig.discord.owner();

    let first = human.send_text("hello");
    let heard = process.message().await;
    assert_eq!((heard.content.as_str(), heard.message_type), ("hello", MessageType::Plain));
    assert_eq!((heard.author, heard.channel), (Author::Person(snowflake(human.id())), rig.channel()));
    assert!(heard.in_dm());

    human.reply(first, "and more");
    let reply = process.message().await.reply_to.unwrap();
    assert_eq!((reply.message, reply.quoted.unwrap().content.as_str()), (snowflake(first), "hello"));

    human.add_reaction(first, "✅").unwrap();
    let Event::Reaction(reaction) = process.event().await else { panic!("no reaction") };
    assert_eq!((reaction.emoji.as_str(), reaction.change), ("✅", ReactionChange::Added));

    human.send_with_files("look", vec![Upload::new("cat.png", *b"not a cat")]);
    let attachment = process.message().await.attachments.remove(0);
    assert_eq!((attachment.name.as_str(), attachment.size), ("cat.png", 9));
    assert_eq!(rig.rest.fetch(&attachment.url, 9).await.unwrap(), b"not a cat");
    assert!(rig.rest.fetch(&attachment.url, 8).await.is_err());
}

/// I13: mentions are disabled, whatever the content.
#[tokio::test(start_paused = true)]
async fn a_message_is_sent_edited_marked_and_deleted() {
    let rig = Fixture::new(Setup::default());
    let channel = rig.channel();
    let button = |label: &str| Button {
        label: label.into(),
        emoji: None,
        kind: ButtonKind::Interactive(Style::Primary, format!("o1:{label}")),
    };
    let outgoing = OutgoingMessage {
        content: "@everyone hello".into(),
        embeds: vec![Embed { title: "a card".into(), color: Some(0x33_66_99), ..Embed::default() }],
        rows: vec![Row::Buttons(vec![button("done"), button("later")])],
        flags: Flags::SILENT.union(Flags::NO_EMBEDS),
        files: vec![File { name: "day.png".into(), description: "the day".into(), bytes: b"png"[..].into() }],
        ..OutgoingMessage::default()
    };
    let sent = rig.rest.create_message(channel, &outgoing, Some("n1")).await.unwrap();
    let again = rig.rest.create_message(channel, &outgoing, Some("n1")).await.unwrap();
    assert_eq!(sent.id, again.id, "the nonce keeps it one message");

    let seen = rig.discord.visible();
    assert_eq!(seen.len(), 1);
    assert!(!seen[0].notifies());
    assert_eq!(seen[0].buttons().len(), 2);
    assert_eq!(seen[0].attachments.len(), 1);
    assert_eq!(rig.discord.allowed_mentions(seen[0].id), serde_json::json!({ "parse": [] }));

    rig.rest.edit_message(channel, sent.id, &OutgoingMessage::text("changed")).await.unwrap();
    rig.rest.react(channel, sent.id, "👀").await.unwrap();
    let seen = rig.discord.visible();
    assert_eq!((seen[0].content.as_str(), seen[0].embeds.len(), seen[0].buttons().len()), ("changed", 0, 0));
    assert_eq!(seen[0].reactions[0].0, "👀");
    rig.rest.unreact(channel, sent.id, "👀").await.unwrap();
    rig.rest.typing(channel).await.unwrap();
    assert!(rig.discord.is_typing());

    rig.rest.delete_message(channel, sent.id).await.unwrap();
    assert_eq!(rig.rest.message(channel, sent.id).await, Err(DiscordError::NotFound { code: 10008 }));
    let edit = rig.rest.edit_message(channel, sent.id, &OutgoingMessage::text("x")).await;
    assert_eq!(edit, Err(DiscordError::NotFound { code: 10008 }));
}

#[tokio::test(start_paused = true)]
async fn missed_messages_are_read_in_order() {
    let rig = Fixture::new(Setup::default());
    let human = rig.discord.owner();
    let first = human.send_text("0");
    for number in 1..150 {
        human.send_text(&number.to_string());
    }
    let mut after = snowflake(first);
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
async fn a_pressed_button_is_answered() {
    let rig = Fixture::new(Setup::default());
    let mut process = rig.process(None, 1);
    process.event().await;
    let press = ButtonKind::Interactive(Style::Success, "o1:done".into());
    let rows =
        vec![Row::Buttons(vec![Button { label: "Done".into(), emoji: Some("✅".into()), kind: press }])];
    let sent = OutgoingMessage { content: "shoes".into(), rows, ..OutgoingMessage::default() };
    let sent = rig.rest.create_message(rig.channel(), &sent, None).await.unwrap();
    rig.discord.owner().click(testkit::fake_discord::Id(sent.id.0), "Done").unwrap();

    let interaction = loop {
        if let Event::Interaction(interaction) = process.event().await {
            break interaction;
        }
    };
    assert_eq!(interaction.user, snowflake(rig.discord.owner().id()));
    let InteractionKind::Component { custom_id, message, .. } = &interaction.kind else {
        panic!("not pressed")
    };
    assert_eq!((custom_id.as_str(), message.as_ref().unwrap().id), ("o1:done", sent.id));
    let done = Callback::Update(OutgoingMessage::text("done"));
    rig.rest.answer(interaction.id, &interaction.token, &done).await.unwrap();
    assert_eq!(rig.discord.visible()[0].content, "done");
    let twice = rig.rest.answer(interaction.id, &interaction.token, &done).await;
    assert!(matches!(twice, Err(DiscordError::Rejected { code: 40060, .. })));
    let more = OutgoingMessage { flags: Flags::EPHEMERAL, ..OutgoingMessage::text("and more") };
    rig.rest.follow_up(interaction.application, &interaction.token, &more).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn errors_say_how_to_handle_them() {
    let rig = Fixture::new(Setup::default());
    let send = async |mishap: RequestFault| {
        rig.discord.inject_fault(Upset::Request(RequestFilter::send(), mishap));
        rig.rest.create_message(rig.channel(), &OutgoingMessage::text("hello"), None).await.unwrap_err()
    };
    assert!(matches!(send(RequestFault::Code(50007)).await, DiscordError::Forbidden { code: 50007, .. }));
    assert!(matches!(send(RequestFault::Code(10003)).await, DiscordError::NotFound { code: 10003 }));
    assert!(matches!(send(RequestFault::Status(503)).await, DiscordError::Unavailable(_)));
    assert!(matches!(send(RequestFault::Status(502)).await, DiscordError::OutcomeUnknown(_)));
    assert!(matches!(send(RequestFault::LostAfter).await, DiscordError::OutcomeUnknown(_)));
    let long = rig.rest.create_message(rig.channel(), &OutgoingMessage::text("a".repeat(2001)), None).await;
    assert!(matches!(long, Err(DiscordError::Rejected { code: 50035, .. })));
    rig.discord.inject_fault(Upset::Request(RequestFilter::edit(), RequestFault::Status(502)));
    let sent = snowflake(rig.discord.visible()[0].id);
    let edit = rig.rest.edit_message(rig.channel(), sent, &OutgoingMessage::text("a")).await;
    assert!(matches!(edit, Err(DiscordError::Unavailable(_))), "an edit can be made twice");
    rig.discord.inject_fault(Upset::TokenRevoked);
    assert_eq!(rig.rest.current_user().await, Err(DiscordError::InvalidToken));
}
